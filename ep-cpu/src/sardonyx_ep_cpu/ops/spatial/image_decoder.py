"""ImageDecoder."""

from __future__ import annotations

import io

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError, NotSupported

__all__ = ["image_decoder", "ops"]

ops = KernelSet()


@ops.add("ImageDecoder", since=20, host=(0,), host_outputs=(0,))
def image_decoder(xp, encoded_stream, *, pixel_format="RGB"):
    """An encoded image, uint8 [L] -> uint8 [H, W, channels]; no pixels, [0, 0, channels], where it cannot be decoded.

    Needs Pillow (NotSupported without it), which decodes BMP, JPEG, JPEG 2000, TIFF, PNG, WebP and the portable formats.
    """
    try:
        from PIL import Image
    except ImportError as e:
        raise NotSupported("ImageDecoder needs Pillow: pip install sardonyx-ep-cpu[image]") from e
    if pixel_format not in ("RGB", "BGR", "Grayscale"):
        raise NodeError(f"pixel_format {pixel_format!r} is none of RGB, BGR, Grayscale")
    gray = pixel_format == "Grayscale"
    try:
        with Image.open(io.BytesIO(encoded_stream.tobytes())) as image:
            pixels = np.asarray(image.convert("L" if gray else "RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return np.empty((0, 0, 1 if gray else 3), np.uint8)
    if gray:
        return pixels[:, :, None]
    return np.ascontiguousarray(pixels[:, :, ::-1]) if pixel_format == "BGR" else pixels

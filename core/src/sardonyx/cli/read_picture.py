"""Pictures as the tensors that vision models take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sardonyx.errors import InvalidInput
from sardonyx.ir.dtypes import is_float

if TYPE_CHECKING:
    from sardonyx.cli.read_values import Target

__all__ = ["PICTURES", "read_picture"]

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".ppm"})
CHANNELS = (1, 3)


def read_picture(path: str, target: Target) -> np.ndarray:
    """The picture as the input declares it: NCHW, NHWC, CHW, HWC or HW, with 1 or 3 channels, resized to H and W where
    those are fixed or bound. Float inputs get values from 0 to 1, then (x - mean) / std; integer inputs 0 to 255.
    """
    arg = target.arg
    dtype = target.dtype
    where = _axes(arg.shape)
    if dtype is None or where is None:
        raise InvalidInput(f"input {arg.name!r} is {arg.type}{arg.shape}, which is not a picture of 1 or 3 channels: give an .npy file")
    height, width, channel = where
    channels = arg.shape[channel] if channel is not None else 1
    size = [_bound(target, axis) for axis in (height, width)]
    pixels = _open(path, "L" if channels == 1 else "RGB", size)
    x = _scale(pixels, target, path)
    if channel is None:
        return x[:, :, 0]
    if channel < height:
        x = np.moveaxis(x, -1, 0)
    return np.ascontiguousarray(x[None] if len(arg.shape) == 4 else x).astype(dtype)


def _axes(shape: list[Any]) -> tuple[int, int, int | None] | None:
    """The axes of height, width and channel (None: there is none)."""
    if len(shape) == 2:
        return 0, 1, None
    if len(shape) not in (3, 4):
        return None
    first = len(shape) - 3
    if shape[first] in CHANNELS:
        return first + 1, first + 2, first
    if shape[-1] in CHANNELS:
        return first, first + 1, len(shape) - 1
    return None


def _bound(target: Target, axis: int) -> int | None:
    d = target.arg.shape[axis]
    if isinstance(d, int):
        return d
    return next((target.dims[k] for k in (f"{target.arg.name}.{axis}", d, "*") if k in target.dims), None)


def _open(path: str, mode: str, size: list[int | None]) -> np.ndarray:
    """The pixels as uint8 (height, width, channels)."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise InvalidInput(f"reading {path} needs Pillow: pip install pillow") from None
    try:
        with Image.open(path) as file:
            picture: Image.Image = file.convert(mode)
            wanted = (size[1] or picture.width, size[0] or picture.height)
            if wanted != picture.size:
                picture = picture.resize(wanted, Image.Resampling.BILINEAR)
            return np.asarray(picture, np.uint8).reshape(wanted[1], wanted[0], -1)
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as e:
        raise InvalidInput(f"{path} is not a readable picture: {e}") from e


def _scale(pixels: np.ndarray, target: Target, path: str) -> np.ndarray:
    dtype, channels = target.dtype, pixels.shape[2]
    assert dtype is not None
    for option, values in (("--mean", target.mean), ("--std", target.std)):
        if len(values) not in (0, 1, channels):
            raise InvalidInput(f"{option} has {len(values)} numbers; {path} has {channels} channel{'s' if channels > 1 else ''}")
    if not is_float(dtype):
        if target.mean or target.std:
            raise InvalidInput(f"--mean and --std are for inputs of floats; input {target.arg.name!r} is {target.arg.type}")
        return pixels.astype(dtype)
    x = pixels.astype(np.float32) / np.float32(255)
    if target.mean:
        x -= np.asarray(target.mean, np.float32)
    if target.std:
        x /= np.asarray(target.std, np.float32)
    return x.astype(dtype)

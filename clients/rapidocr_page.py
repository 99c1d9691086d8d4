"""rapidocr-onnxruntime reads a page of text that Pillow renders: the lines that it finds, top to bottom."""

import json
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rapidocr_onnxruntime import RapidOCR

LINES = (
    "Sardonyx runs ONNX models.",
    "A banded onyx has layers on one stone;",
    "here every layer is a package of its own.",
    "Invoice 2041-77    Total: 1,284.50 EUR",
    "The quick brown fox jumps over the lazy dog",
    "0123456789  (a + b) * c = 42%",
)


def page() -> np.ndarray:
    """The page, uint8 [height, width, 3]."""
    image = Image.new("RGB", (900, 80 + 70 * len(LINES)), "white")
    draw = ImageDraw.Draw(image)
    for i, line in enumerate(LINES):
        draw.text((40, 40 + 70 * i), line, "black", ImageFont.load_default(24 + 2 * (i % 4)))
    return np.asarray(image)


def main() -> None:
    """Write the lines to the file named on the command line."""
    found, _ = RapidOCR()(page())
    answer = [text for _, text, _ in found or ()]
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump(answer, f)


main()

"""ddddocr reads short words that Pillow renders, by each of its models, and finds where the words of a picture are."""

import io
import json
import sys

from ddddocr import DdddOcr
from PIL import Image, ImageDraw, ImageFont

WORDS = ("Ab3x", "7kQp2", "hello", "W9mT")


def picture(text: str, width: int, size: int) -> bytes:
    """A PNG of the text."""
    image = Image.new("RGB", (width, 2 * size), "white")
    ImageDraw.Draw(image).text((size // 2, size // 3), text, "black", ImageFont.load_default(size))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def main() -> None:
    """Write {"new", "old", "beta", "places"} to the file named on the command line."""
    models = {"new": {}, "old": {"old": True}, "beta": {"beta": True}}
    answer: dict[str, object] = {}
    for name, options in models.items():
        reader = DdddOcr(show_ad=False, **options)
        answer[name] = [reader.classification(picture(w, 220, 44)) for w in WORDS]
    answer["places"] = DdddOcr(det=True, ocr=False, show_ad=False).detection(picture("A   B   C", 400, 60))
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump(answer, f)


main()

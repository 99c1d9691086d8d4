"""`sardonyx demo`: a small classifier on real pictures of handwritten digits."""

from __future__ import annotations

import io
import time
from importlib import resources
from pathlib import Path

import click
import numpy as np

from sardonyx.cli import show
from sardonyx.cli.commands.explain import shares_text
from sardonyx.cli.options import Choice, Command, json_option, need_provider, session_options
from sardonyx.ir.replacing import refusing, replacing

__all__ = ["command"]

EXAMPLE = """\b
Examples:
  sardonyx demo
  sardonyx demo --picture 3
  sardonyx demo --write .
"""
INK = " .:-=+*#%@"


@click.command("demo", cls=Command, epilog=EXAMPLE)
@click.option("--picture", type=click.IntRange(0, 9), default=7, metavar="N", help="Which of the ten pictures, 0 to 9 (default 7).")
@click.option("--write", metavar="FOLDER", help="Write the model, the ten pictures and the one there, to try the other commands on.")
@session_options
@json_option
def command(picture: int, write: str | None, choice: Choice, as_json: bool) -> int:
    """Recognise a handwritten digit: the picture, the answer, where the model's nodes ran, and how long it took.

    The pictures are from scikit-learn's digits and were not used in training; the model was trained by
    examples/digits/train.py. Status 1 if the answer is wrong.
    """
    model, images, labels = _data()
    if write is not None:
        return _write(write, model, images, picture)
    need_provider()
    start = time.perf_counter()
    session = choice.open(model)
    loaded = time.perf_counter()
    image = images[picture : picture + 1]
    probabilities = session.run(None, {"image": image})[0][0]
    first = time.perf_counter()
    for _ in range(20):
        session.run(None, {"image": image})
    times = {"load": loaded - start, "first_run": first - loaded, "run": (time.perf_counter() - first) / 20}
    answer, label = int(probabilities.argmax()), int(labels[picture])
    placement = session.explain()
    if as_json:
        facts = {"picture": picture, "label": label, "answer": answer, "probabilities": probabilities.tolist(), "seconds": times}
        show.emit_json(facts | {"providers": session.get_providers(), "placement": placement.to_dict()})
        return 0 if answer == label else 1
    _show_picture(images[picture, 0], probabilities)
    show.line(f"\nThis is a {answer} ({probabilities[answer]:.1%} sure){'' if answer == label else f', but it should be a {label}'}.\n")
    show.heading(shares_text(placement))
    show.table(("node", "operator", "runs on"), [(n.node, n.op, n.ep) for n in placement.nodes])
    load, first_run, later = (show.time_text(t) for t in times.values())
    show.line(f"\nloaded in {load}, first run {first_run}, then {later}")
    return 0 if answer == label else 1


def _data() -> tuple[bytes, np.ndarray, np.ndarray]:
    """The model, ten pictures as its input takes them (10, 1, 8, 8), and what they show."""
    folder = resources.files("sardonyx.cli") / "data"
    with np.load(io.BytesIO((folder / "digits.npz").read_bytes())) as data:
        return (folder / "digits.onnx").read_bytes(), data["image"][:, None].astype(np.float32), data["label"]


def _show_picture(pixels: np.ndarray, probabilities: np.ndarray) -> None:
    """The picture in characters, beside a bar for each digit's probability."""
    levels = np.rint(pixels / 16 * (len(INK) - 1)).astype(int)
    rows = ["".join(INK[v] * 2 for v in row) for row in levels]
    rows += [" " * len(rows[0])] * (len(probabilities) - len(rows))
    for digit, (row, p) in enumerate(zip(rows, probabilities, strict=True)):
        show.line(f"  {row}    {digit} {p:6.1%} {'#' * round(30 * float(p))}".rstrip())


def _write(folder: str, model: bytes, images: np.ndarray, picture: int) -> int:
    target = Path(folder)
    one = images[picture : picture + 1]
    pixels = np.rint(one * (255 / 16)).astype(np.uint8)
    whole = {"digits.onnx": model, "digit.pgm": b"P5 8 8 255\n" + pixels.tobytes()}
    arrays = {"digits.npy": images, "digit.npy": one}
    with refusing(folder, "--write"):
        target.mkdir(parents=True, exist_ok=True)
        for name, data in whole.items():
            with replacing(target / name) as f:
                f.write(data)
        for name, array in arrays.items():
            with replacing(target / name) as f:
                np.save(f, array)
    show.line(f"wrote digits.onnx, digits.npy (ten pictures), digit.npy and digit.pgm (picture {picture}) to {folder}")
    return 0

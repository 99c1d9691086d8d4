"""`sardonyx run`: a model on files or random inputs."""

from __future__ import annotations

import time
from typing import Any

import click
import numpy as np

from sardonyx.cli import show
from sardonyx.cli.inputs import Inputs, input_options
from sardonyx.cli.options import Choice, Command, json_option, listed, model_argument, session_options, split_names
from sardonyx.cli.save_values import save_values
from sardonyx.cli.summary import summary, summary_text

__all__ = ["command"]

EXAMPLE = """\b
Examples:
  sardonyx run digits.onnx
  sardonyx run digits.onnx --input image=digit.npy --outputs probabilities,logits --save out.npz
"""


@click.command("run", cls=Command, epilog=EXAMPLE)
@model_argument
@input_options
@listed("--outputs", metavar="NAMES", help="Outputs or internal tensors, between commas (default: all outputs).")
@click.option("--save", metavar="FILE", help="Write the outputs to an .npz file (or one output to an .npy file).")
@session_options
@json_option
def command(model: str, inputs: Inputs, outputs: str | None, save: str | None, choice: Choice, as_json: bool) -> int:
    """Run a model once and show its outputs. Inputs that are not given are random, by the declared type and shape."""
    session = choice.open(model)
    names = split_names("--outputs", outputs, "output") if outputs is not None else [o.name for o in session.get_outputs()]
    feeds = inputs.feeds(session)
    start = time.perf_counter()
    values = dict(zip(names, session.run(names, feeds), strict=True))
    seconds = time.perf_counter() - start
    if save:
        save_values(save, values)
    shares = session.explain().shares
    if as_json:
        show.emit_json({"model": model, "seconds": seconds, "shares": shares, "outputs": {n: summary(v) for n, v in values.items()}})
        return 0
    for name, value in values.items():
        show.heading(f"{name}  {summary_text(value)}")
        _print(value)
    show.line(f"\n{show.time_text(seconds)} on {', '.join(shares) or 'nothing'}{f'; saved to {save}' if save else ''}")
    return 0


def _print(value: Any) -> None:
    if isinstance(value, np.ndarray):
        with np.printoptions(threshold=40, edgeitems=3, precision=5, suppress=True, linewidth=120):
            show.line(str(value.astype(np.float32)) if value.dtype.kind == "V" else str(value))
    elif isinstance(value, list) and len(value) > 3:
        show.line(f"{value[:3]} ...")
    else:
        show.line(str(value))

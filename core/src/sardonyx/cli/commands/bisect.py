"""`sardonyx bisect`: which pass or node makes a result differ, and the smallest model that shows it."""

from __future__ import annotations

import dataclasses
from typing import Any

import click

from sardonyx.cli import show
from sardonyx.cli.commands.compare import inside_option, tolerance_options
from sardonyx.cli.inputs import Inputs, input_options
from sardonyx.cli.options import Choice, Command, json_option, model_argument, session_options
from sardonyx.runtime.session import InferenceSession
from sardonyx.tools.bisect import bisect_with
from sardonyx.tools.branches import take_branches
from sardonyx.tools.difference import Tolerance

__all__ = ["command"]

EXAMPLE = """\b
Examples:
  sardonyx bisect digits.onnx --ep cpu
  sardonyx bisect digits.onnx --against onnx.reference -i image=digits.npy --out smallest.onnx
"""


@click.command("bisect", cls=Command, epilog=EXAMPLE)
@model_argument
@input_options
@click.option("--against", metavar="ENGINE", help="The reference: an engine as in compare (default: the same without optimization).")
@click.option("--out", metavar="FILE", help="Write the smallest model that shows it there, its inputs beside it as .npz.")
@inside_option
@tolerance_options
@session_options
@json_option
def command(
    model: str,
    inputs: Inputs,
    against: str | None,
    out: str | None,
    inside: bool,
    rtol: float | None,
    atol: float | None,
    choice: Choice,
    as_json: bool,
) -> int:
    """Find what makes a result differ: the edit of an optimization (by halving their number), or else the node.

    Status 0: nothing differs; 1: something does, and is named.
    """

    def make(source: Any, level: str) -> InferenceSession:
        return dataclasses.replace(choice, level=level or choice.level).open(source)

    feeds = inputs.feeds(make(model, "none"))
    threads = choice.options().threads
    with show.status("bisecting"):
        source = take_branches(lambda m: make(m, "none"), model, feeds) if inside else model
        found = bisect_with(make, source, feeds, against=against, tolerance=Tolerance(rtol, atol), threads=threads, out=out)
    if as_json:
        show.emit_json({"model": model, **found.to_dict()})
    else:
        show.line(found.explanation())
        if not found.ok and out is None:
            show.note("--out FILE writes that model and its inputs")
    return 0 if found.ok else 1

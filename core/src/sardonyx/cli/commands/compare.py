"""`sardonyx compare`: every tensor of a model on one side against another, and the first that differs."""

from __future__ import annotations

import importlib.util
from typing import Any

import click

from sardonyx.cli import show
from sardonyx.cli.inputs import Inputs, input_options
from sardonyx.cli.options import Choice, Command, FiniteRange, json_option, model_argument, session_options
from sardonyx.runtime.session import InferenceSession
from sardonyx.tools.branches import take_branches
from sardonyx.tools.compare import TENSORS, Comparison, TensorRow, compare_session
from sardonyx.tools.difference import Tolerance
from sardonyx.tools.engines import Engine, known_engine, open_engine

__all__ = ["command", "default_reference", "inside_option", "tolerance_options"]

EXAMPLE = """\b
Examples:
  sardonyx compare digits.onnx --ep cpu --against onnx.reference
  sardonyx compare digits.onnx --against onnxruntime -i image=digits.npy --rtol 1e-4
  sardonyx compare digits.onnx --tensors kept --against cpu --json
"""


def default_reference() -> str:
    """onnxruntime where it is installed, else onnx's reference evaluator, which comes with core."""
    return "onnxruntime" if importlib.util.find_spec("onnxruntime") is not None else "onnx.reference"


def inside_option(command: click.decorators.FC) -> click.decorators.FC:
    """Add --inside."""
    text = "First replace every If by the branch that the inputs take."
    return click.option("--inside", is_flag=True, help=text)(command)


def tolerance_options(command: click.decorators.FC) -> click.decorators.FC:
    """Add --rtol and --atol."""
    rtol = "Relative tolerance (default 1e-3; float16 1e-2, bfloat16 5e-2)."
    atol = "Absolute tolerance (default a tenth of rtol times the tensor's largest value)."
    command = click.option("--atol", type=FiniteRange(min=0), metavar="X", help=atol)(command)
    return click.option("--rtol", type=FiniteRange(min=0), metavar="X", help=rtol)(command)


@click.command("compare", cls=Command, epilog=EXAMPLE)
@model_argument
@input_options
@click.option(
    "--against", metavar="ENGINE", help="onnxruntime, onnx.reference, openvino or a provider (default: onnxruntime if installed)."
)
@click.option("--tensors", type=click.Choice(TENSORS), default="every", help="Every tensor, those that optimization keeps, or outputs.")
@inside_option
@tolerance_options
@click.option("--all", "everything", is_flag=True, help="List every tensor, not only those that differ.")
@session_options
@json_option
def command(
    model: str,
    inputs: Inputs,
    against: str | None,
    tensors: str,
    inside: bool,
    rtol: float | None,
    atol: float | None,
    everything: bool,
    choice: Choice,
    as_json: bool,
) -> int:
    """Run a model here and in another engine, and compare every tensor by its name in the file. Status 1 if one differs.

    Outputs and the tensors that optimization keeps come from the plan that also runs otherwise; those that it fuses away come from
    a second plan that is made to keep them. Bodies of If, Loop and Scan are run by themselves on both sides, each iteration from the
    reference's values.
    """
    session = choice.open(model)
    engine = against or default_reference()
    known_engine(engine)
    threads = choice.options().threads
    feeds = inputs.feeds(session)
    source = take_branches(choice.open, model, feeds) if inside else model
    if inside:
        session = choice.open(source)

    def open_sides(part: Any) -> tuple[InferenceSession, Engine]:
        return choice.open(part), open_engine(engine, part, threads=threads)

    reference = open_engine(engine, source, threads=threads)
    with show.status("comparing"):
        result = compare_session(session, reference, source, feeds, Tolerance(rtol, atol), tensors, open_sides)
    if as_json:
        show.emit_json({"model": model, **result.to_dict()})
    else:
        _print(result, everything)
    return 0 if result.ok else 1


def _print(result: Comparison, everything: bool) -> None:
    differ = [r for r in result.rows if not r.difference.ok]
    show.heading(f"{result.subject} against {result.reference}: {len(differ)} of {len(result.rows)} tensors differ")
    rows = [_cells(r) for r in (result.rows if everything else differ)]
    if rows:
        show.table(("tensor", "operator", "node", "value", "in", "as run", "difference", ""), rows, right=("difference",))
        show.line()
    if not result.ok:
        show.line(result.explanation())
        return
    worst = max((r.difference.relative for r in result.rows), default=0.0)
    show.line(f"largest difference {worst:.1e}, relative to the largest value of its tensor")
    for text in result.notes():
        show.note(text)


def _cells(r: TensorRow) -> tuple[str, ...]:
    as_run, state = "yes" if r.as_run else "no", "" if r.difference.ok else "differs"
    return r.tensor, r.op, r.node, r.value, r.place, as_run, f"{r.difference.relative:.1e}", state

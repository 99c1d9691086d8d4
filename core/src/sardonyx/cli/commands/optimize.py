"""`sardonyx optimize`: a model in its optimized form, written for any runtime."""

from __future__ import annotations

from typing import Any

import click

from sardonyx.cli import show
from sardonyx.cli.inputs import Inputs, input_options, parse_dims
from sardonyx.cli.options import Command, json_option, listed, model_argument
from sardonyx.runtime.session import InferenceSession
from sardonyx.tools.difference import Difference, Tolerance, difference
from sardonyx.tools.engines import open_engine
from sardonyx.tools.optimize import Optimized, optimize

__all__ = ["command"]

EXAMPLE = """\b
Examples:
  sardonyx optimize digits.onnx optimized.onnx
  sardonyx optimize digits.onnx fixed.onnx --fix batch=1 --level basic --opset 17
  sardonyx optimize digits.onnx checked.onnx --verify onnxruntime --json
"""


@click.command("optimize", cls=Command, epilog=EXAMPLE)
@model_argument
@click.argument("out", metavar="OUT")
@click.option(
    "--level",
    type=click.Choice(["none", "basic", "extended", "all"]),
    default="extended",
    help="basic folds and removes, extended also fuses, all adds plug-ins' passes (default extended).",
)
@click.option("--opset", type=click.IntRange(min=1), metavar="N", help="Opset to write (default: the oldest that has the operators).")
@click.option(
    "--external/--inline", default=None, help="Weights in OUT.DIGEST.data beside the model, or in it (default: beside it from 1 GiB)."
)
@click.option("--disable", multiple=True, metavar="NAME", help="A pass or rule to leave out.")
@listed("--fix", metavar="NAME=N,...", help="Fix symbolic dimensions of the inputs, e.g. batch=1.")
@click.option("--verify", metavar="ENGINE", help="Run both models in onnxruntime, onnx.reference or a provider; status 1 if they differ.")
@input_options
@json_option
def command(
    model: str,
    out: str,
    level: str,
    opset: int | None,
    external: bool | None,
    disable: tuple[str, ...],
    fix: str | None,
    verify: str | None,
    inputs: Inputs,
    as_json: bool,
) -> int:
    """Optimize MODEL and write it to OUT, as standard ONNX that other runtimes load.

    What is written computes the same, up to rounding. The options of inputs are for --verify.
    """
    with show.status(f"optimizing {model}"):
        result = optimize(
            model, out, level=level, opset=opset, external=external, disabled=disable, dims=parse_dims(fix, "--fix", "NAME=SIZE")
        )
    checks = _verify(verify, model, out, inputs) if verify else {}
    ok = all(d.ok for d in checks.values())
    if as_json:
        told = {n: {"ok": d.ok, "relative": d.relative, "text": d.text} for n, d in checks.items()}
        show.emit_json({**result.to_dict(), "verified_by": verify, "outputs": told, "ok": ok})
    else:
        _print(result, verify, checks)
    return 0 if ok else 1


def _verify(engine: str, model: str, out: str, inputs: Inputs) -> dict[str, Difference]:
    """The difference of each output, on inputs that both models take."""
    session = InferenceSession(out)
    feeds = inputs.feeds(session)
    with show.status(f"running both in {engine}"):
        sides: list[list[Any]] = [open_engine(engine, path).run(None, feeds) for path in (out, model)]
    names = [o.name for o in session.get_outputs()]
    return {name: difference(got, want, Tolerance()) for name, got, want in zip(names, *sides, strict=True)}


def _print(r: Optimized, engine: str | None, checks: dict[str, Difference]) -> None:
    rows = [
        (p.name, p.edits, f"{p.seconds * 1e3:.1f}", ", ".join(f"{n} {name}" for name, n in sorted(p.rules.items(), key=lambda i: -i[1])))
        for p in r.passes
        if p.edits
    ]
    if rows:
        show.table(("pass", "edits", "ms", "what it did"), rows, right=("edits", "ms"))
        show.line()
    changed = sorted(
        {op for op in r.operators_before | r.operators_after if r.operators_before.get(op, 0) != r.operators_after.get(op, 0)},
        key=lambda op: r.operators_after.get(op, 0) - r.operators_before.get(op, 0),
    )
    if changed:
        counts = [(op, r.operators_before.get(op, 0), r.operators_after.get(op, 0)) for op in changed]
        show.table(("operator", "before", "after"), counts, right=("before", "after"))
        show.line()
    sizes = ", ".join(f"{name} ({show.bytes_text(size)})" for name, size in r.files.items())
    show.line(f"{r.nodes_before} nodes became {r.nodes_after}; wrote {sizes}, opset {r.opset}")
    for name, d in checks.items():
        show.line(f"{engine}: output {name!r} {'is the same' if d.ok else 'DIFFERS'} ({d.text})")

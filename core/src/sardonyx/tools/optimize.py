"""Write a model in its optimized form, for any runtime."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sardonyx.errors import InvalidInput
from sardonyx.ir.load import load
from sardonyx.ir.opset import fitting_opset
from sardonyx.ir.save import save
from sardonyx.passes import optimize as optimize_graph
from sardonyx.passes import pass_names
from sardonyx.passes.budget import budget
from sardonyx.runtime import arguments, discovery
from sardonyx.runtime.evaluate import evaluator
from sardonyx.runtime.options import LEVELS
from sardonyx.runtime.sources import source_of
from sardonyx.tools.original import operators, skeleton

__all__ = ["Optimized", "PassReport", "optimize"]

logger = logging.getLogger("sardonyx")


@dataclass
class PassReport:
    """What one pass did, all its rounds together; `rules` counts the edits of each of its rules."""

    name: str
    seconds: float = 0.0
    edits: int = 0
    rules: dict[str, int] = field(default_factory=dict)


@dataclass
class Optimized:
    """What was written: files with their sizes in bytes, the opset, node counts and operators before and after, and what each
    pass did. Nodes of bodies count; constants are no nodes."""

    model: str
    level: str
    opset: int
    files: dict[str, int]
    nodes_before: int
    nodes_after: int
    operators_before: dict[str, int]
    operators_after: dict[str, int]
    passes: list[PassReport]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def __str__(self) -> str:
        names = ", ".join(self.files)
        return f"{names}: {self.nodes_before} nodes became {self.nodes_after}, level {self.level}, opset {self.opset}"


def optimize(
    model: Any,
    out: str | os.PathLike[str],
    *,
    level: str = "extended",
    opset: int | None = None,
    external: bool | None = None,
    disabled: Collection[str] = (),
    dims: dict[str, int] | None = None,
) -> Optimized:
    """Optimize a model (path, bytes or ModelProto) and write it to `out`, where any runtime can load it.

    `level` is none, basic (folding, dead, equal and needless nodes), extended (patterns also become the standard operators they
    stand for) or all (also the passes of plug-ins). `opset` is the version of ONNX's operator set to write; None: the oldest
    from the model's own upwards that has the operators. `external` puts the weights into a file beside it, OUT.DIGEST.data
    (see `sardonyx.ir.save.save`); None: where they exceed 1 GiB. `disabled` names passes or rules to leave out, `dims` fixes
    symbolic dimensions of the inputs. Raises InvalidInput, InvalidModel (naming a node that `opset` cannot express).
    """
    arguments.member("level", level, LEVELS.values())
    path = arguments.path("out", out)
    if opset is not None:
        arguments.whole("opset", opset, least=1)
    arguments.flag("external", external)
    arguments.names("disabled", disabled)
    arguments.instance("dims", {} if dims is None else dims, Mapping, "a dict of symbolic dimension -> size")
    for name, size in (dims or {}).items():
        arguments.whole(f"the size of dimension {name!r} in dims", size, least=0, bits=64)
    source = source_of(model)
    if isinstance(source, str) and os.path.exists(path) and os.path.exists(source) and os.path.samefile(source, path):
        raise InvalidInput(f"{path} is the model itself, whose weights are read while it is written: write to another file")
    _check_names("disabled", "pass or rule", disabled, pass_names(extra := _plugin_passes(level)))
    _check_names("dims", "symbolic dimension of the inputs", dims or (), _symbols(model) if dims else ())
    loaded = load(model, dims=dims)
    for text in loaded.cautions:
        logger.warning("%s", text)
    before = Counter(n.title for n in loaded.graph.walk_nodes())
    report: list[tuple[str, float, int]] = []
    with budget() as made:
        optimize_graph(loaded.graph, level, evaluate=_evaluator(), disabled=disabled, extra=extra, report=report)
    version = opset if opset is not None else fitting_opset(loaded)
    files = {p: os.path.getsize(p) for p in save(loaded, path, opset=version, external=external)}
    after = operators(path)
    passes: dict[str, PassReport] = {}
    for name, seconds, edits in report:
        row = passes.setdefault(name, PassReport(name))
        row.seconds += seconds
        row.edits += edits
    for edit in made.edits:
        if edit.step in passes:
            rules = passes[edit.step].rules
            rules[edit.rule] = rules.get(edit.rule, 0) + 1
    shown = os.fspath(model) if isinstance(model, (str, os.PathLike)) else "the given model"
    counts = (sum(before.values()), sum(after.values()), dict(before.most_common()), dict(after.most_common()))
    return Optimized(shown, level, version, files, *counts, list(passes.values()))


def _check_names(option: str, kind: str, given: Collection[str], known: Collection[str]) -> None:
    for name in given:
        if name not in known:
            raise InvalidInput(f"{option}: no {kind} is called {name!r}; there are {', '.join(sorted(known)) or 'none'}")


def _symbols(model: Any) -> set[str]:
    dims = (d for v in skeleton(model).graph.input if v.type.HasField("tensor_type") for d in v.type.tensor_type.shape.dim)
    return {d.dim_param for d in dims if d.dim_param}


def _evaluator() -> Any:
    """Folding by core's shape kernels and by the kernels of installed host providers."""
    tables = []
    for state in discovery.providers():
        if state.usable and state.info is not None and state.info.memory == "host":
            kernels = state.info.create(state.info.check_options({})).kernels
            tables += [kernels] if kernels is not None else []
    return evaluator(tables)


def _plugin_passes(level: str) -> list[Any]:
    if level != "all":
        return []
    return [p for passes in discovery.plugin_manager().hook.sardonyx_passes() for p in passes]

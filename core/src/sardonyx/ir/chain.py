"""Several models as one: outputs of earlier stages in place of the inputs of later ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sardonyx.errors import InvalidInput
from sardonyx.ir.graph import Graph, Model, Node, Value
from sardonyx.ir.types import Dim, SequenceType, TensorType, ValueType, type_string

__all__ = ["EXPECT", "Joint", "chain"]

# Passes its input on, which must have the dims of attribute `shape` (-1: any); `where` names the joint. Core runs it.
EXPECT = ("sardonyx", "Expect")


@dataclass(frozen=True, slots=True)
class Joint:
    """Input `input` of stage `stage` is output `output` of stage `source`."""

    stage: str
    input: str
    source: str
    output: str

    def __str__(self) -> str:
        return f"{self.source}.{self.output} -> {self.stage}.{self.input}"


def chain(stages: list[tuple[str, Model]], joints: Iterable[Joint]) -> Model:
    """One model of all stages, whose graphs are taken over. Nodes and values get their stage's name and a dot in front.

    Inputs that no joint feeds are the model's inputs, under their own names: those of one name are one input. Outputs that
    feed no joint are its outputs, with the stage in front where two have one name. Where it is not known before the run that
    a value has the dims that its joint wants, an EXPECT node checks it. Raises InvalidInput where types cannot fit.
    """
    by_place = {(j.stage, j.input): j for j in joints}
    merged = Graph("+".join(name for name, _ in stages))
    out = Model(graph=merged, graph_doc="", producer_name="sardonyx")
    made: dict[tuple[str, str], Value] = {}
    inputs: dict[str, tuple[Value, str]] = {}
    symbols: set[str] = set()
    for name, model in stages:
        given = [v.name for v in model.graph.inputs]
        results = [n for n, _ in model.output_types]
        sources = [_source(name, v, by_place.get((name, v.name)), made, inputs) for v in model.graph.inputs]
        checks = _bind_symbols(name, model, sources, symbols)
        _prefix(name, model.graph)
        for plain, v, source, check in zip(given, model.graph.inputs, sources, checks, strict=True):
            if source is None:
                v.name = plain
                inputs[plain] = (v, name)
                merged.inputs.append(v)
                if plain in model.overridable:
                    out.overridable[plain] = model.overridable[plain]
                continue
            value, where = source
            if check is not None:
                value = _expect(merged, value, check, v.type, f"{name}.{plain}", where)
            model.graph.replace_uses(v, value)
        for node in model.graph.nodes:
            merged.append(node)
        made |= {(name, plain): v for plain, v in zip(results, model.graph.outputs, strict=True)}
        _take_over(out, name, model)
    used = {(j.source, j.output) for j in by_place.values()}
    free = [key for key in made if key not in used]
    plain_names = [output for _, output in free]
    merged.outputs = [made[key] for key in free]
    types = {(name, n): t for name, model in stages for n, t in model.output_types}
    out.output_types = [(f"{s}.{n}" if plain_names.count(n) > 1 else n, types[s, n]) for s, n in free]
    return out


def _take_over(out: Model, name: str, model: Model) -> None:
    out.ir_version = max(out.ir_version, model.ir_version)
    for domain, version in model.opsets.items():
        out.opsets[domain] = max(version, out.opsets.get(domain, 1))
    out.metadata |= {f"{name}.{key}": value for key, value in model.metadata.items()}
    out.warnings += [f"{name}: {text}" for text in model.warnings]
    out.cautions += [f"{name}: {text}" for text in model.cautions]
    out.fixed |= model.fixed


def _source(
    name: str, v: Value, joint: Joint | None, made: dict[tuple[str, str], Value], inputs: dict[str, tuple[Value, str]]
) -> tuple[Value, str] | None:
    """The value that a stage's input is, with what it is called in messages; None for a new input of the whole."""
    if joint is not None:
        return made[joint.source, joint.output], f"output {joint.output!r} of {joint.source!r}"
    if v.name in inputs:
        other, stage = inputs[v.name]
        return other, f"the input {v.name!r} of {stage!r}, which has the same name"
    return None


def _bind_symbols(name: str, model: Model, sources: list[tuple[Value, str] | None], taken: set[str]) -> list[tuple[int, ...] | None]:
    """Let the symbols of a stage mean what its sources say, and others be its own; for each input the dims to check in a run."""
    bound: dict[str, Dim] = {}
    checks: list[tuple[int, ...] | None] = []
    for v, source in zip(model.graph.inputs, sources, strict=True):
        checks.append(None if source is None else _fit(f"{name}.{v.name}", v.type, source[0].type, source[1], bound))
    own = {d for v in _values(model.graph) for d in _symbols(v.type)} - bound.keys()
    for s in own:
        bound[s] = f"{name}.{s}" if s in taken else s
    for v in _values(model.graph):
        v.type = _renamed(v.type, bound)
    model.output_types = [(n, _renamed(t, bound)) for n, t in model.output_types]
    taken |= {d for v in _values(model.graph) for d in _symbols(v.type)}
    return checks


def _fit(what: str, want: ValueType, have: ValueType, where: str, bound: dict[str, Dim]) -> tuple[int, ...] | None:
    """Check that a value of type `have` can be input `what`; binds the symbols of `want`. The dims to check in a run."""
    if type_string(want) != type_string(have) and "?" not in type_string(want) + type_string(have):
        raise InvalidInput(f"input {what!r} is {type_string(want)}, {where} is {type_string(have)}: put a Cast between them")
    if not isinstance(want, TensorType) or want.shape is None:
        return None
    shape = have.shape if isinstance(have, TensorType) else None
    dims = shape if shape is not None else (None,) * len(want.shape)
    if len(dims) != len(want.shape) or any(
        isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(want.shape, dims, strict=True)
    ):
        raise InvalidInput(f"input {what!r} has shape {_shape(want.shape)}, {where} has {_shape(dims)}")
    for a, b in zip(want.shape, dims, strict=True):
        if isinstance(a, str):
            # One name for two sizes says nothing about either.
            bound[a] = None if b is None or bound.get(a, b) != b else b
    sure = shape is not None and all(not isinstance(a, int) or a == b for a, b in zip(want.shape, dims, strict=True))
    return None if sure else tuple(a if isinstance(a, int) else -1 for a in want.shape)


def _expect(graph: Graph, value: Value, shape: tuple[int, ...], want: ValueType, what: str, where: str) -> Value:
    assert isinstance(want, TensorType)
    dims = value.shape if value.shape is not None else (None,) * len(shape)
    known = TensorType(want.dtype, tuple(b if b >= 0 else a for a, b in zip(dims, shape, strict=True)))
    out = Value(f"{what} checked", known)
    attrs = {"shape": list(shape), "where": f"input {what!r} wants {_shape(shape)}, {where}"}
    graph.append(Node("Expect", [value], [out], attrs, domain="sardonyx", name=f"{what} checked", origins=()))
    return out


def _prefix(name: str, graph: Graph) -> None:
    for v in _values(graph):
        v.name = f"{name}.{v.name}"
    for node in graph.walk_nodes():
        node.name, node.origins = f"{name}.{node.name}", tuple(f"{name}.{o}" for o in node.origins)


def _values(graph: Graph) -> Iterator[Value]:
    """Every value of a graph and its bodies, once."""
    seen: dict[Value, None] = {}
    for level in graph.walk_graphs():
        seen |= dict.fromkeys((*level.inputs, *level.outputs))
        for node in level.nodes:
            seen |= dict.fromkeys(v for v in (*node.inputs, *node.outputs) if v is not None)
    yield from seen


def _symbols(t: ValueType) -> Iterator[str]:
    if isinstance(t, TensorType):
        yield from (d for d in t.shape or () if isinstance(d, str))
    elif hasattr(t, "elem"):
        yield from _symbols(t.elem)  # type: ignore[union-attr]


def _renamed(t: ValueType, names: dict[str, Dim]) -> ValueType:
    if isinstance(t, TensorType) and t.shape is not None:
        return TensorType(t.dtype, tuple(names.get(d, d) if isinstance(d, str) else d for d in t.shape))
    return SequenceType(_renamed(t.elem, names)) if isinstance(t, SequenceType) else t


def _shape(shape: Iterable[Dim]) -> str:
    return "[" + ", ".join("?" if d is None or d == -1 else str(d) for d in shape) + "]"

"""Gradient nodes become the nodes that compute the derivatives: reverse-mode differentiation of the graph itself."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx.errors import InvalidModel
from sardonyx.ir.build import GRADIENT
from sardonyx.ir.dtypes import is_float
from sardonyx.ir.functions import drop_unused
from sardonyx.ir.gradient.forward import Forward
from sardonyx.ir.gradient.rules import Rules
from sardonyx.ir.gradient.tape import Tape
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.infer import infer_missing
from sardonyx.ir.schema import newest
from sardonyx.ir.upgrade import upgrade
from sardonyx.ir.upgrade.steps import fresh_names

__all__ = ["expand_all"]


def expand_all(graph: Graph, rules: Rules) -> None:
    """Replace every Gradient node of the graph and its bodies. The nodes must have their newest forms, and the tensors that
    attributes name as further inputs (see the package)."""
    while node := next((n for n in graph.walk_nodes() if n.key == GRADIENT), None):
        names = {n.name for n in graph.walk_nodes()}
        new = _expand(node, rules)
        fresh_names([*new.walk_nodes()], node, names)
        level = node.graph
        assert level is not None
        level.insert_before(node, new.nodes)
        level.remove([node])
        infer_missing(graph)
        upgrade(graph)


def _expand(node: Node, rules: Rules) -> Graph:
    """The nodes that give the outputs of a Gradient node."""
    xs, zs = node.attrs["xs"], node.attrs.get("zs") or []
    count = len(xs) + len(zs)
    given, named, y = _present(node.inputs[:count]), _present(node.inputs[count:-1]), node.inputs[-1]
    assert y is not None
    _check(node, xs, named, given)
    t = Tape(node)
    forward = Forward(t, rules, named, len(xs), y, given)
    found = _backward(t, rules, forward)
    t.at = node
    for x, out in zip(forward.xs, node.outputs, strict=False):
        if out is not None:
            result = found[x] if x in found else t.full(0.0, x)
            out.type = result.type
            t.append(
                Node("Identity", [result], [out], since=newest("", "Identity") or 1, name=f"{node.name}/Identity", origins=node.origins)
            )
            t.graph.outputs.append(out)
    drop_unused(t.graph)
    return t.graph


def _present(values: Sequence[Value | None]) -> list[Value]:
    return [v for v in values if v is not None]


def _check(node: Node, xs: list[str], named: list[Value], given: list[Value]) -> None:
    if len(node.outputs) > len(xs):
        raise InvalidModel(f"node {node.name!r} (Gradient) has {len(node.outputs)} outputs for {len(xs)} tensors in xs")
    if len(set(named)) < len(named):
        raise InvalidModel(f"node {node.name!r} (Gradient) names a tensor twice in xs and zs")
    for name, v, value in zip(xs, named, given, strict=False):
        if v.dtype is None or not is_float(v.dtype) or value.dtype != v.dtype:
            raise InvalidModel(f"node {node.name!r} (Gradient): {name!r} in xs and the input for it must be tensors of the same floats")


def _backward(t: Tape, rules: Rules, forward: Forward) -> dict[Value, Value]:
    """The gradient of each of the forward part's xs that has one."""
    y = forward.y
    if y not in forward.active:
        return {}
    if y.dtype is None or not is_float(y.dtype):
        t.refuse(f"y, {y.name!r}, is no tensor of floats")
    parts: dict[Value, list[Value]] = {y: [t.full(1.0, y)]}
    xs = set(forward.xs)

    def total(v: Value | None) -> Value | None:
        """The sum of what came from all that read v. It is asked for after they all were differentiated."""
        made = [] if v is None or v in xs else parts.pop(v, [])
        return made[0] if len(made) == 1 else t("Sum", *made) if made else None

    for node in reversed(forward.nodes):
        t.at = node
        for v in node.outputs:
            g = total(forward.twins.get(v)) if v is not None else None
            if v is not None and g is not None:
                parts.setdefault(v, []).append(g)
        grads = [total(v) for v in node.outputs]
        if all(g is None for g in grads):
            continue
        rule = rules.table.get(node.key)
        if rule is None:
            t.refuse("there is no rule for this operator, nor a function body")
        for v, make in zip(node.inputs, rule.apply(t, node, grads), strict=False):
            if v is not None and v in forward.active and make is not None:
                parts.setdefault(v, []).append(t.reduce_to(make(), v) if rule.broadcasts else make())
    t.at = t.gradient
    return {x: made[0] if len(made) == 1 else t("Sum", *made) for x in xs if (made := parts.get(x))}

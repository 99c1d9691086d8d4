"""Every version of every operator in onnx.defs is raised to the newest one, or kept for a reason given here."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from onnx import defs

from sardonyx.ir.dtypes import from_name
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.schema import KNOWN, newest, schema
from sardonyx.ir.tensor import Tensor
from sardonyx.ir.types import OptionalType, SequenceType, TensorType
from sardonyx.ir.upgrade import steps, upgrade
from sardonyx.ir.verify import verify

HISTORY = sorted(
    (s for s in defs.get_all_schemas_with_history() if s.domain in KNOWN and s.since_version <= KNOWN[s.domain] and not s.deprecated),
    key=lambda s: (s.domain, s.name, s.since_version),
)

# (operator, since): why a node of this version, with float32 data and the attributes below, stays as it is.
KEPT = {
    ("Scan", 8): "runs over a batch with a length for each sequence; Scan-9 has no batch",
    ("OneHot", 9): "a negative index that is not known before means another thing since 11",
    ("Tile", 1): "tiles and axis are values of the data's type, known only while running",
    ("CastLike", 15): "the target might be a FNUZ float8 (its type is not known), for which 24 changed the saturation",
    ("CastLike", 19): "as CastLike-15",
    ("CastLike", 21): "as CastLike-15",
    ("CastLike", 23): "as CastLike-15",
}

ATTRIBUTES = {
    "BatchNormalization": {1: {"is_test": 1, "consumed_inputs": [0, 0]}, 6: {"is_test": 1}},
    "Cast": {1: {"to": "FLOAT"}, 6: {"to": 1}, 9: {"to": 1}, 13: {"to": 1}, 19: {"to": 1}, 21: {"to": 1}, 23: {"to": 1}},
    "Clip": {1: {"min": 0.0}, 6: {"max": 1.0}},
    "GroupNormalization": {18: {"num_groups": 2}},
    "LabelEncoder": {1: {"classes_strings": ["a", "b"]}},
    "LpPool": {1: {"kernel_shape": [2, 2]}},
    "Pad": {1: {"paddings": [0] * 8}, 2: {"pads": [0] * 8, "value": 1.0}},
    "Resize": {10: {"mode": "linear"}},
    "Reshape": {1: {"shape": [-1]}},
    "Slice": {1: {"starts": [0], "ends": [1]}},
    "TopK": {1: {"k": 1}},
    "Unsqueeze": {1: {"axes": [0]}, 11: {"axes": [0]}},
    "Upsample": {1: {"height_scale": 2.0, "width_scale": 2.0}, 7: {"scales": [1.0, 1.0, 2.0, 2.0]}},
}


def value_of(formal, s):
    allowed = next((c.allowed_type_strs for c in s.type_constraints if c.type_param_str == formal.type_str), [formal.type_str])
    tensors = [t[7:-1] for t in allowed if t.startswith("tensor(")]
    if not tensors:
        return Value(formal.name, SequenceType(TensorType()) if any(t.startswith("seq") for t in allowed) else OptionalType(TensorType()))
    dtype = from_name("float" if "float" in tensors and s.name != "CastLike" else tensors[0])
    if s.name == "CastLike":
        dtype = np.dtype(np.float32) if formal.name == "input" else None
    return Value(formal.name, TensorType(dtype, (2, 4, 6, 6)))


def node_of(s):
    """A node of a schema: every input once, float32 where allowed, the attributes it needs."""
    inputs = [value_of(f, s) for f in s.inputs]
    attrs = dict(ATTRIBUTES.get(s.name, {}).get(s.since_version, {}))
    for name, a in s.attributes.items():
        if a.required and name not in attrs:
            kinds = {1: 1.0, 2: 1, 3: "a", 4: np.zeros(1, np.float32), 5: Graph(), 6: [1.0], 7: [1], 8: ["a"]}
            attrs[name] = kinds[int(a.type.value) if hasattr(a.type, "value") else int(a.type)]
    if s.name == "Split" and s.since_version == 1:
        inputs = inputs[:1]
    return Node(s.name, inputs, [Value("y")], attrs, domain=s.domain, since=s.since_version, name="n")


@pytest.mark.parametrize("s", HISTORY, ids=lambda s: f"{s.domain or 'ai.onnx'}-{s.name}-{s.since_version}")
def test_every_version_is_raised_or_kept(s):
    node = node_of(s)
    graph = Graph("g", [v for v in node.inputs if v is not None], list(node.outputs), [node])
    upgrade(graph)
    for n in graph.nodes:
        if (s.name, s.since_version) in KEPT:
            assert n is node
            assert n.since < newest(n.domain, n.op)
        else:
            assert n.since == newest(n.domain, n.op)
    if not node.bodies:
        verify(graph)
    assert graph.outputs[0].producer in graph.nodes


PAIRS = [(a, b) for a, b in pairwise(HISTORY) if (a.domain, a.name) == (b.domain, b.name)]


@pytest.mark.parametrize(("a", "b"), PAIRS, ids=lambda s: f"{s.name}-{s.since_version}")
def test_versions_without_a_step_only_widen(a, b):
    """Between versions that no step joins, inputs, attributes and types may only have been added."""
    table = steps.table.get((a.domain, a.name), ())
    if any(whole and b.since_version < to for to, _, whole in table):
        return
    stepped = [to for to, _, _ in table if a.since_version < to <= b.since_version]
    if stepped:
        assert stepped == [b.since_version]
        return
    old, new = schema(a.domain, a.name, a.since_version), schema(b.domain, b.name, b.since_version)
    for formals, newer in ((old.inputs, new.inputs), (old.outputs, new.outputs)):
        for f, n in zip(formals, newer, strict=False):
            assert n.optional or not f.optional
            assert n.variadic or not f.variadic
            assert old.types.get(f.type, frozenset()) <= new.types.get(n.type, frozenset())
        assert all(n.optional for n in newer[len(formals) :])
        assert len(newer) >= len(formals)
    assert set(old.attributes) <= set(new.attributes)
    assert not new.required - old.required
    for name, default in old.attributes.items():
        assert new.attributes[name] == default


def test_constants_keep_their_tensors():
    """Raising a node does not touch the constants it reads."""
    weight = Value("w", TensorType(np.dtype(np.float32), (2,)), Tensor.of(np.ones(2, np.float32)))
    x = Value("x", TensorType(np.dtype(np.float32), (2,)))
    node = Node("Add", [x, weight], [Value("y")], since=7)
    upgrade(Graph("g", [x], list(node.outputs), [node]))
    assert node.since == newest("", "Add")
    assert node.inputs == (x, weight)

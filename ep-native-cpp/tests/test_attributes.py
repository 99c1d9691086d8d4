"""Every attribute of every operator that the engine takes is read, checked, or of no matter to it."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, defs, helper

import sardonyx
from sardonyx.errors import NotSupported
from sardonyx.ir.schema import schema
from sardonyx_ep_native import claims, provider  # noqa: F401  provider loads the checks

CSRC = Path(__file__).parent.parent / "csrc"
SEEDED = "only training draws"
FLOAT8 = "only 8-bit floats, which the engine does not hold, are saturated or rounded otherwise"
UNUSED = "no learner's figures are used in predicting"

# (operator or *, attribute): why its value does not matter.
IGNORED = {
    ("*", "consumed_inputs"): "a hint about memory of ONNX's first version",
    ("BatchNormalization", "momentum"): "only training moves the statistics",
    ("Cast", "saturate"): FLOAT8,
    ("Cast", "round_mode"): FLOAT8,
    ("CastLike", "saturate"): FLOAT8,
    ("CastLike", "round_mode"): FLOAT8,
    ("QuantizeLinear", "saturate"): FLOAT8,
    ("Dropout", "ratio"): SEEDED,
    ("Dropout", "seed"): SEEDED,
    ("RNN", "output_sequence"): "outputs that are named are given",
    ("GRU", "output_sequence"): "outputs that are named are given",
    ("LSTM", "output_sequence"): "outputs that are named are given",
    ("MaxPool", "storage_order"): "it orders the output Indices, which is refused",
    ("TopK", "sorted"): "without it any order will do, a sorted one too",
    ("LinearClassifier", "multi_class"): "scores are the same; post_transform says what becomes of them",
    ("TreeEnsemble", "nodes_hitrates"): UNUSED,
    ("TreeEnsembleClassifier", "nodes_hitrates"): UNUSED,
    ("TreeEnsembleClassifier", "nodes_hitrates_as_tensor"): UNUSED,
    ("TreeEnsembleRegressor", "nodes_hitrates"): UNUSED,
    ("TreeEnsembleRegressor", "nodes_hitrates_as_tensor"): UNUSED,
}
# Names that the engine puts together of parts.
PARTS = (
    re.compile(r"(class|target)_(ids|nodeids|treeids|weights)$"),
    re.compile(r"(class_weights|target_weights|nodes_values)_as_tensor$"),
)


def _mentioned(op, domain):
    """The texts in which the engine and its check of an operator name attributes."""
    label = f"{domain}.{op}" if domain else op
    texts = [inspect.getsource(inspect.getmodule(claims.CHECKS[domain, op][1]))]
    seen, open_files = set(), [f for f in CSRC.glob("ops/*.cc") if f'{{"{label}"' in f.read_text()]
    while open_files:
        file = open_files.pop()
        if file in seen or not file.exists():
            continue
        seen.add(file)
        text = file.read_text()
        texts.append(text)
        for header in re.findall(r'#include "(ops/[a-z_]+)\.h"', text):
            open_files += [CSRC / f"{header}.h", CSRC / f"{header}.cc"]
    return "\n".join(texts + [f.read_text() for f in CSRC.glob("ops/*_attributes.cc")])


def _attributes():
    versions = {}
    for s in defs.get_all_schemas_with_history():
        versions.setdefault((s.domain, s.name), []).append(s.since_version)
    for (domain, op), (since, _) in sorted(claims.CHECKS.items()):
        names = set()
        first = max((v for v in versions.get((domain, op), [1]) if v <= since), default=0)
        for v in versions.get((domain, op), [1]):
            known = schema(domain, op, v) if v >= first else None
            names |= set(known.attributes) if known is not None else set()
        yield from ((op, domain, name) for name in sorted(names))


@pytest.mark.parametrize(("op", "domain", "name"), list(_attributes()))
def test_every_attribute_is_read_checked_or_of_no_matter(op, domain, name):
    ignored = (op, name) in IGNORED or ("*", name) in IGNORED
    read = any(p.match(name) for p in PARTS) or f'"{name}"' in _mentioned(op, domain)
    if op in ("If", "Loop", "Scan", "Shape"):
        read = read or name in ("start", "end", "then_branch", "else_branch", "body")  # bodies.py, and the planner's own Shape
    assert read or ignored, f"{op} has an attribute {name!r} that nothing reads: read it, refuse it, or say here why it does not matter"


REFUSED = [
    ("LayerNormalization", [(3, 4), (4,)], 17, {"stash_type": -1}, "stash_type=-1"),
    ("RMSNormalization", [(3, 4), (4,)], 23, {"stash_type": 7}, "stash_type=7"),
    ("GroupNormalization", [(3, 4), (4,), (4,)], 21, {"num_groups": 2, "stash_type": 99}, "stash_type=99"),
    ("Gelu", [(3,)], 20, {"approximate": "nonsense"}, "approximate='nonsense'"),
    ("QuantizeLinear", [(3,), ()], 23, {"precision": 1 << 40}, f"precision={1 << 40}"),
    ("Range", [(), (), ()], 27, {"stash_type": -1}, "stash_type=-1"),
    ("Attention", [(1, 2, 3, 4)] * 3, 23, {"qk_matmul_output_mode": 9}, "qk_matmul_output_mode=9"),
    ("RNN", [(2, 1, 3), (1, 4, 3), (1, 4, 4)], 22, {"clip": float("nan"), "hidden_size": 4}, "clip=nan"),
    ("Celu", [(3,)], 22, {"alpha": -1.0}, "alpha=-1.0 is negative"),
    ("Gemm", [(2, 2), (2, 2)], 13, {"alpha": float("inf")}, "alpha=inf is not finite"),
]


def test_a_negative_width_of_celu_is_left_to_others():
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)): of -100 and alpha = -1, minus infinity."""
    graph = helper.make_graph(
        [helper.make_node("Celu", ["x"], ["y"], alpha=-1.0)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    session = sardonyx.InferenceSession(model.SerializeToString(), providers=["native", "cpu"])
    (y,) = session.run(None, {"x": np.float32([-100, -1, 2])})
    np.testing.assert_allclose(y, [-np.inf, 1 - np.e, 2], rtol=1e-5)


@pytest.mark.parametrize(("op", "shapes", "opset", "attrs", "words"), REFUSED, ids=lambda v: v if isinstance(v, str) else "")
def test_values_that_the_engine_does_not_honour_are_refused(op, shapes, opset, attrs, words):
    inputs = [np.ones(s, np.float32) for s in shapes]
    names = [f"x{i}" for i in range(len(inputs))]
    types = [helper.make_tensor_value_info(n, TensorProto.FLOAT, x.shape) for n, x in zip(names, inputs, strict=True)]
    kind = TensorProto.UINT8 if op == "QuantizeLinear" else TensorProto.FLOAT
    out = helper.make_tensor_value_info("y", kind, None)
    graph = helper.make_graph([helper.make_node(op, names, ["y"], name="the_node", **attrs)], "g", types, [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    session = sardonyx.InferenceSession(model.SerializeToString(), providers=["native", "cpu"])
    assert words in session.explain().nodes[0].reasons["native"]
    options = sardonyx.SessionOptions()
    options.strict = True
    with pytest.raises(NotSupported, match=re.escape(words)) as e:
        sardonyx.InferenceSession(model.SerializeToString(), options, providers=["native"])
    assert list(e.value.nodes) == ["the_node"]

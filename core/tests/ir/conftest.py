"""What the IR's tests share: small models, and other engines to judge by."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from sardonyx.ir.dtypes import to_onnx
from sardonyx.ir.load import load
from sardonyx.ir.save import to_proto


def model_of(nodes, feeds, outputs, opset, constants=None, domain="", **graph):
    """A ModelProto of NodeProtos; inputs have the types of `feeds`, outputs only names."""
    inputs = [helper.make_tensor_value_info(k, to_onnx(v.dtype), v.shape) for k, v in feeds.items()]
    opsets = [helper.make_opsetid(domain, opset)] + ([helper.make_opsetid("", 9)] if domain else [])
    made = helper.make_graph(
        list(nodes),
        "g",
        inputs,
        [onnx.ValueInfoProto(name=o) for o in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()],
        **graph,
    )
    return helper.make_model(made, opset_imports=opsets, ir_version=8)


def one_node(op, feeds, opset, constants=None, inputs=None, outputs=("y",), domain="", **attrs):
    """A ModelProto of one node; its inputs are `inputs`, or the feeds and constants in order."""
    names = inputs if inputs is not None else [*feeds, *(constants or {})]
    node = helper.make_node(op, names, outputs, name="n", domain=domain, **attrs)
    return model_of([node], feeds, [o for o in outputs if o], opset, constants, domain)


def reference(model, feeds):
    """Outputs of onnx.reference."""
    return ReferenceEvaluator(model).run(None, feeds)


def onnxruntime(model, feeds):
    """Outputs of onnxruntime, unoptimized. It wants types on outputs, which inference gives."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    typed = onnx.shape_inference.infer_shapes(model, data_prop=True)
    session = ort.InferenceSession(typed.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def upgraded(model, feeds, want, ops=None, engine=reference, rtol=1e-6, opset=None):
    """Load `model`, check that its operators (in order) are `ops`, and that `engine` computes `want` with what is saved of it
    (at `opset`). Returns the Model."""
    loaded = load(model)
    if ops is not None:
        assert [n.op for n in loaded.graph.nodes] == ops.split()
    got = engine(to_proto(loaded, opset=opset), feeds)
    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert to_onnx(g.dtype) == to_onnx(w.dtype)
        np.testing.assert_allclose(g, w, rtol=rtol, atol=1e-7) if w.dtype.kind == "f" else np.testing.assert_array_equal(g, w)
    return loaded


@pytest.fixture
def tools():
    """The functions above."""
    return SimpleNamespace(model_of=model_of, one_node=one_node, reference=reference, onnxruntime=onnxruntime, upgraded=upgraded)

"""ONNX's backend API."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
from onnx import TensorProto, helper

import sardonyx.backend as backend
from sardonyx.errors import InvalidInput, NotSupported

pytest.importorskip("sardonyx_ep_cpu")
A, B = np.array([[1, -2]], np.float32), np.array([[3, 4]], np.float32)


def model(op="Add", domain=""):
    """y = op(a, b)."""
    node = helper.make_node(op, ["a", "b"], ["y"], domain=domain)
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 2]) for n in "aby"]
    imports = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(helper.make_graph([node], "g", infos[:2], infos[2:]), opset_imports=imports)


@pytest.mark.parametrize("inputs", [[A, B], (A, B), {"b": B, "a": A}])
def test_prepare_and_run(inputs):
    """Inputs in order or by name."""
    (y,) = backend.prepare(model(), providers=["cpu"], strict=True).run(inputs)
    np.testing.assert_array_equal(y, A + B)
    np.testing.assert_array_equal(backend.run_model(model(), inputs)[0], A + B)


def test_too_many_inputs():
    """More arrays than the model has inputs."""
    with pytest.raises(InvalidInput, match="3 inputs given"):
        backend.prepare(model()).run([A, B, A])


def test_run_node():
    """One node, of the newest version or of an old one; absent inputs are not given."""
    np.testing.assert_array_equal(backend.run_node(helper.make_node("Sub", ["p", "q"], ["r"]), [A, B])[0], A - B)
    assert backend.run_node(helper.make_node("Add", ["p", "p"], ["r"]), [A, A])[0].tolist() == (A + A).tolist()
    clip = helper.make_node("Clip", ["x", "", "high"], ["y"])
    assert backend.run_node(clip, [A, np.float32(0)])[0].tolist() == [[0, -2]]
    softmax = helper.make_node("Softmax", ["x"], ["y"], axis=0)
    np.testing.assert_allclose(backend.run_node(softmax, [np.zeros((2, 2), np.float32)], opset_version=11)[0], 0.25)
    with pytest.raises(InvalidInput, match="has 2 inputs, 1 were given"):
        backend.run_node(helper.make_node("Sub", ["p", "q"], ["r"]), [A])


def test_compatibility():
    """An unknown operator is not compatible, and preparing it says why."""
    assert backend.is_compatible(model())
    assert not backend.is_compatible(model("Nope", "com.example"))
    with pytest.raises(NotSupported, match="Nope"):
        backend.prepare(model("Nope", "com.example"))


def test_devices():
    """CPU is there; what no provider has is not."""
    assert backend.supports_device("CPU")
    assert not backend.supports_device("TPU")

    class OnCpu(backend.SardonyxBackend):
        """Fixed to one provider."""

        providers: ClassVar = ["cpu"]

    assert not OnCpu.supports_device("CUDA:0")

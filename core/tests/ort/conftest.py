"""Most tests here run twice: against onnxruntime itself and against sardonyx.onnxruntime."""

import importlib
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT


@pytest.fixture(params=["onnxruntime", "sardonyx.onnxruntime"])
def ort(request):
    """onnxruntime, then Sardonyx in its place."""
    return pytest.importorskip(request.param, reason="compares with onnxruntime itself")


@pytest.fixture
def state(ort):
    """The extension module of either."""
    return importlib.import_module(f"{ort.__name__}.capi.onnxruntime_pybind11_state")


@pytest.fixture(autouse=True)
def quiet():
    """No warnings of onnxruntime on stderr."""
    try:
        import onnxruntime
    except ImportError:
        return
    onnxruntime.set_default_logger_severity(4)


def value(name: str, dtype: int = FLOAT, shape: object = ("n",)) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, None if shape is None else list(shape))


@pytest.fixture
def make() -> Callable[..., bytes]:
    """make(nodes, inputs, outputs, initializers, **make_model): the bytes of a model; inputs and outputs by name are float [n]."""

    def build(nodes, inputs, outputs, constants=None, opset=17, domains=(), **kwargs) -> bytes:
        initializers = [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()]
        ports = [[value(v) if isinstance(v, str) else v for v in side] for side in (inputs, outputs)]
        graph = helper.make_graph(nodes, "g", *ports, initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *domains], ir_version=8, **kwargs)
        return model.SerializeToString()

    return build


@pytest.fixture
def add(make) -> bytes:
    """A model z = x + y of float [n, 2]."""
    ports = [value(n, FLOAT, ("n", 2)) for n in "xyz"]
    return make([helper.make_node("Add", ["x", "y"], ["z"], name="add")], ports[:2], ports[2:])

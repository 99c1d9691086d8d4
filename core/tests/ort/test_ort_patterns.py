"""How onnxruntime's clients call it: each pattern is written as one of them does, and runs against both."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
X = np.ones((2, 2), np.float32)


@pytest.fixture
def model(tmp_path, add):
    path = tmp_path / "model.onnx"
    path.write_bytes(add)
    return path


def test_choosing_providers_by_what_is_available(ort, model):
    """Background removers: the device first, then a cascade of names; options get their threads from the environment."""
    options = ort.SessionOptions()
    if options.inter_op_num_threads == 0:
        options.inter_op_num_threads = 2
    if options.intra_op_num_threads == 0:
        options.intra_op_num_threads = 2
    if ort.get_device()[0:3] == "GPU" and CUDA in ort.get_available_providers():
        providers = [CUDA, CPU]
    elif "OpenVINOExecutionProvider" in ort.get_available_providers():
        providers = ["OpenVINOExecutionProvider", CPU]
    else:
        providers = [CPU]
    session = ort.InferenceSession(str(model), sess_options=options, providers=providers)
    assert session.get_providers() == providers
    (out,) = session.run(None, {session.get_inputs()[0].name: X, "y": X})
    np.testing.assert_array_equal(out, X + X)


def test_refusing_providers_that_are_missing(ort, model):
    """Text embedders: an error of their own for a provider that is not available, and options by keyword."""
    available = ort.get_available_providers()
    assert (CPU in available, "NoSuchExecutionProvider" in available) == (True, False)
    so = ort.SessionOptions()
    so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    so.intra_op_num_threads = so.inter_op_num_threads = 1
    setattr(so, "enable_cpu_mem_arena", False)  # noqa: B010
    loaded = ort.InferenceSession(str(model), providers=[CPU], sess_options=so)
    names = {node.name for node in loaded.get_inputs()}
    outputs = loaded.run(None, dict.fromkeys(names, X))
    assert len(outputs) == len(loaded.get_outputs())


def test_routing_by_shape(ort, make):
    """Face models: what a model is for is read off its input's shape and the number of outputs."""
    image = helper.make_tensor_value_info("data", TensorProto.FLOAT, [None, 3, 112, 112])
    out = helper.make_tensor_value_info("z", TensorProto.FLOAT, None)
    session = ort.InferenceSession(make([helper.make_node("Flatten", ["data"], ["z"])], [image], [out]), None)
    (cfg,) = session.get_inputs()
    assert cfg.shape[2] == 112
    assert cfg.shape[3] == 112
    assert tuple(cfg.shape[2:4][::-1]) == (112, 112)
    assert not isinstance(cfg.shape[2], str)
    assert len(session.get_outputs()) < 5
    assert session.run([session.get_outputs()[0].name], {cfg.name: np.zeros((1, 3, 112, 112), np.float32)})[0].shape == (1, 37632)


def test_dynamic_or_not(ort, make):
    """Detectors: a symbol for the first dimension means dynamic; float16 is read off the type; binding needs numbers."""
    for dtype, shape, dynamic, half in ((TensorProto.FLOAT, ["batch", 4], True, False), (TensorProto.FLOAT16, [1, 4], False, True)):
        ports = [helper.make_tensor_value_info(n, dtype, shape) for n in "xz"]
        session = ort.InferenceSession(make([helper.make_node("Relu", ["x"], ["z"])], ports[:1], ports[1:]), providers=[CPU])
        assert isinstance(session.get_outputs()[0].shape[0], str) is dynamic
        assert ("float16" in session.get_inputs()[0].type) is half
        io = session.io_binding()
        names = [x.name for x in session.get_outputs()]
        x = np.full((1, 4), 2, np.float16 if half else np.float32)
        io.bind_input(name="x", device_type="cpu", device_id=0, element_type=x.dtype.type, shape=x.shape, buffer_ptr=x.ctypes.data)
        y = np.empty_like(x)
        io.bind_output(
            name=names[0], device_type="cpu", device_id=0, element_type=y.dtype.type, shape=tuple(y.shape), buffer_ptr=y.ctypes.data
        )
        session.run_with_iobinding(io)
        np.testing.assert_array_equal(y, x)


def test_metadata_of_detectors(ort, make):
    """Detectors keep names and strides as text in the metadata, and read them with literal_eval."""
    import onnx

    loaded = onnx.load_from_string(make([helper.make_node("Relu", ["x"], ["z"])], ["x"], ["z"]))
    helper.set_model_props(loaded, {"names": "{0: 'person', 1: 'bicycle'}", "stride": "32"})
    metadata = ort.InferenceSession(loaded.SerializeToString(), providers=[CPU]).get_modelmeta().custom_metadata_map
    assert dict(metadata) == {"names": "{0: 'person', 1: 'bicycle'}", "stride": "32"}


def test_broken_files_are_told_apart(ort, tmp_path):
    """Detectors catch InvalidProtobuf by its full path, from the package itself."""
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"\x08\x07\x12")
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidProtobuf):
        ort.InferenceSession(path, None, providers=[CPU])


def test_states_that_come_back(ort, make):
    """Voice detectors: the state of a run is an input of the next, and a rate without dimensions."""
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, None, 4]) for n in ("state", "x", "stateN", "out")]
    rate = helper.make_tensor_value_info("sr", TensorProto.INT64, [])
    nodes = [
        helper.make_node("Cast", ["sr"], ["rate"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["state", "x"], ["stateN"]),
        helper.make_node("Div", ["stateN", "rate"], ["out"]),
    ]
    options = ort.SessionOptions()
    options.inter_op_num_threads = 1
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(make(nodes, [*ports[:2], rate], ports[2:]), sess_options=options)
    state = np.zeros((2, 1, 4), np.float32)
    for step in range(1, 4):
        state, out = session.run(["stateN", "out"], {"x": np.ones((2, 1, 4), np.float32), "state": state, "sr": np.array(2, dtype="int64")})
        state *= 1
        np.testing.assert_array_equal(out, np.full((2, 1, 4), step / 2))


def test_sessions_in_threads(ort, model):
    session = ort.InferenceSession(str(model), providers=[CPU])
    found = {}

    def work(i):
        found[i] = session.run(None, {"x": X * i, "y": X})[0]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i, z in found.items():
        np.testing.assert_array_equal(z, X * i + X)


def test_columns_of_a_table(ort, make):
    """Converters' tests: one input per column, [n, 1], strings as objects."""
    number = helper.make_tensor_value_info("age", TensorProto.FLOAT, [None, 1])
    text = helper.make_tensor_value_info("town", TensorProto.STRING, [None, 1])
    outs = [helper.make_tensor_value_info("a", TensorProto.FLOAT, None), helper.make_tensor_value_info("t", TensorProto.STRING, None)]
    nodes = [helper.make_node("Identity", ["age"], ["a"]), helper.make_node("Identity", ["town"], ["t"])]
    session = ort.InferenceSession(make(nodes, [number, text], outs), providers=[CPU])
    feeds = {"age": np.array([[1], [2]], np.float32), "town": np.array([["Rome"], ["Oslo"]], object)}
    a, t = session.run(None, feeds)
    assert (a.shape, t.tolist()) == ((2, 1), [["Rome"], ["Oslo"]])
    assert [i.type for i in session.get_inputs()] == ["tensor(float)", "tensor(string)"]


def test_languages_models_with_a_cache(ort, make):
    """Text generators: symbols of shapes may be sums, which the client evaluates; empty caches are fed first."""
    past = helper.make_tensor_value_info("past", TensorProto.FLOAT, ["batch", 2, "past_sequence_length", 4])
    new = helper.make_tensor_value_info("new", TensorProto.FLOAT, ["batch", 2, "sequence_length", 4])
    present = helper.make_tensor_value_info("present", TensorProto.FLOAT, ["batch", 2, "past_sequence_length + sequence_length", 4])
    session = ort.InferenceSession(make([helper.make_node("Concat", ["past", "new"], ["present"], axis=2)], [past, new], [present]))
    symbol = session.get_outputs()[0].shape[2]
    assert eval(symbol, {"past_sequence_length": 3, "sequence_length": 1}) == 4
    cache = np.zeros((1, 2, 0, 4), np.float32)
    for _ in range(3):
        (cache,) = session.run(None, {"past": cache, "new": np.ones((1, 2, 1, 4), np.float32)})
    assert cache.shape == (1, 2, 3, 4)


def test_the_path_of_a_session(ort, model):
    session = ort.InferenceSession(model, providers=[CPU])
    assert Path(session._model_path).parent == model.parent
    assert os.path.exists(session._model_path)
    assert session._sess_options is session.get_session_options()


def test_the_backend_runs_models(ort, add):
    backend = pytest.importorskip(f"{ort.__name__}.backend")
    import onnx

    proto = onnx.load_from_string(add)
    for model in (add, proto, ort.InferenceSession(add)):
        (z,) = backend.prepare(model, "CPU").run([X, X])
        np.testing.assert_array_equal(z, X + X)
    np.testing.assert_array_equal(backend.run(proto, [X, X])[0], X + X)
    prepared = backend.prepare(add)
    assert backend.prepare(prepared) is prepared
    assert backend.supports_device("CPU")
    assert not backend.supports_device("ABACUS")
    assert backend.is_compatible(proto)
    with pytest.raises(RuntimeError):
        prepared.run(X)
    with pytest.raises(RuntimeError):
        backend.prepare(add, "ABACUS")
    with pytest.raises(RuntimeError):
        backend.prepare(add, enable_profiling=True)

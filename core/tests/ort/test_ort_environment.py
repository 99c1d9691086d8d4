"""What concerns the whole process: logging, seeds, threads, operators, compiling, plug-ins and custom operators from files."""

import itertools
import logging
import os

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

X = np.ones((2, 2), np.float32)
FEEDS = {"x": X, "y": X}


@pytest.fixture
def ours():
    import sardonyx.onnxruntime as ort

    yield ort
    ort.set_default_logger_callback(None)
    logging.getLogger("sardonyx").setLevel(logging.NOTSET)


def test_logs_are_called_back(ours):
    said = []
    ours.set_default_logger_callback(lambda *what: said.append(what), 1)
    logger = logging.getLogger("sardonyx")
    logger.info("hello")
    logger.debug("too small")
    logger.error("trouble")
    assert [(severity, category, message) for severity, category, _, _, message in said] == [
        (1, "sardonyx", "hello"),
        (3, "sardonyx", "trouble"),
    ]
    assert "test_ort_environment.py" in said[0][3]
    ours.set_default_logger_callback(None)
    logger.error("not heard")
    assert len(said) == 2
    with pytest.raises(TypeError):
        ours.set_default_logger_callback(5)


@pytest.mark.parametrize(("severity", "level"), [(0, logging.DEBUG), (2, logging.WARNING), (4, logging.CRITICAL)])
def test_severities(ours, severity, level):
    ours.set_default_logger_severity(severity)
    assert logging.getLogger("sardonyx").getEffectiveLevel() <= level
    assert not logging.getLogger("sardonyx").isEnabledFor(level - 10)
    with pytest.raises(RuntimeError, match="severity"):
        ours.set_default_logger_severity(9)


def test_random_operators_are_seeded(ours, make, monkeypatch):
    monkeypatch.setattr("sardonyx.onnxruntime.environment._seed", None)
    out = helper.make_tensor_value_info("z", TensorProto.FLOAT, [8])
    model = make([helper.make_node("RandomNormal", [], ["z"], shape=[8])], [], [out])

    def draw():
        return ours.InferenceSession(model).run(None, {})[0].tolist()

    ours.set_seed(3)
    first = [draw(), draw()]
    ours.set_seed(3)
    assert [draw(), draw()] == first
    ours.set_seed(4)
    assert draw() != first[0]


def test_threads_are_shared_where_sessions_want_it(ours, monkeypatch):
    monkeypatch.setattr("sardonyx.onnxruntime.environment._threads", 0)
    options = ours.SessionOptions()
    own = options.threads
    ours.set_global_thread_pool_sizes(7, 1)
    assert options.threads == own
    options.use_per_session_threads = False
    assert options.threads == 7


def test_what_is_printed(ours, capsys):
    ours.print_debug_info()
    out = capsys.readouterr().out
    assert ours.get_build_info() in out
    assert "provider cpu" in out


def test_kernels(ours):
    state = ours.capi.onnxruntime_pybind11_state
    relu = next(k for k in state.get_all_opkernel_def() if k.op_name == "Relu")
    assert (relu.domain, relu.provider) == ("", "CPUExecutionProvider")
    assert relu.version_range[0] <= relu.version_range[1]
    softmax = sorted(k.version_range for k in state.get_registered_ep_kernel_defs("cpu") if (k.op_name, k.domain) == ("Softmax", ""))
    assert all(last + 1 == first for (_, last), (first, _) in itertools.pairwise(softmax))
    with pytest.raises(state.InvalidArgument):
        state.get_registered_ep_kernel_defs("NoSuchExecutionProvider")
    with pytest.raises(state.InvalidArgument):
        state.get_hardware_device_ep_incompatibility_details("NoSuchExecutionProvider", state.get_hardware_devices()[0])
    assert {("Add", 14), ("Add", 7)} <= {(s.name, s.since_version) for s in state.get_all_operator_schema()}


def test_models_are_compiled(ort, add, tmp_path):
    source = tmp_path / "model.onnx"
    source.write_bytes(add)
    compiler = ort.ModelCompiler(ort.SessionOptions(), str(source))
    compiler.compile_to_file(str(tmp_path / "out.onnx"))
    parts = []
    compiler.compile_to_stream(parts.append)
    for model in (str(tmp_path / "out.onnx"), b"".join(parts), compiler.compile_to_bytes()):
        np.testing.assert_array_equal(ort.InferenceSession(model).run(None, FEEDS)[0], X + X)
    compiler.set_ep_context_data_write_func(lambda name, data: None)
    compiler.clear_ep_context_data_write_func()


def test_weights_of_compiled_models_are_put_where_wanted(ort, make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    w = np.arange(2048, dtype=np.float32)
    model = make([helper.make_node("Add", ["x", "w"], ["z"])], ["x"], ["z"], {"w": w})
    (tmp_path / "model.onnx").write_bytes(model)
    ort.ModelCompiler(ort.SessionOptions(), "model.onnx", external_initializers_file_path="weights.bin").compile_to_file("a.onnx")
    assert (tmp_path / "weights.bin").stat().st_size >= w.nbytes
    assert (tmp_path / "a.onnx").stat().st_size < w.nbytes
    asked = []

    def locate(name, value, info):
        asked.append((name, value.shape(), info))
        (tmp_path / "own.bin").write_bytes(value.numpy().tobytes())
        return ort.OrtExternalInitializerInfo("own.bin", 0, value.tensor_size_in_bytes())

    ort.ModelCompiler(ort.SessionOptions(), "model.onnx", get_initializer_location_func=locate).compile_to_file("b.onnx")
    assert asked == [("w", [2048], None)]
    for path in ("a.onnx", "b.onnx"):
        np.testing.assert_array_equal(ort.InferenceSession(path).run(None, {"x": w})[0], w + w)


def test_new_weights_never_stand_beside_an_old_compiled_model(ours, make, tmp_path, interrupted_before):
    def compile_with(w):
        model = make([helper.make_node("Add", ["x", "w"], ["z"])], ["x"], ["z"], {"w": w})
        ours.ModelCompiler(ours.SessionOptions(), model, external_initializers_file_path="w.bin").compile_to_file(str(tmp_path / "a.onnx"))

    w = np.arange(2048, dtype=np.float32)
    compile_with(w)
    with interrupted_before(".onnx"):
        compile_with(w + 1)
    assert os.listdir(tmp_path) == ["w.bin"]
    compile_with(w + 1)
    np.testing.assert_array_equal(ours.InferenceSession(str(tmp_path / "a.onnx")).run(None, {"x": w})[0], w + w + 1)


def test_compilers_refuse(ort, state, add, tmp_path):
    source = tmp_path / "model.onnx"
    source.write_bytes(add)
    options = ort.SessionOptions()
    with pytest.raises(TypeError):
        ort.ModelCompiler(options, 5)
    with pytest.raises(ValueError, match="empty"):
        ort.ModelCompiler(options, b"")
    with pytest.raises(ValueError, match="external_initializers_file_path"):
        ort.ModelCompiler(options, add, external_initializers_file_path="a", get_initializer_location_func=print)
    flags = ort.OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS
    with pytest.raises(state.Fail):
        ort.ModelCompiler(options, str(source), flags=flags).compile_to_file(str(source))
    with pytest.raises(state.Fail):
        ort.ModelCompiler(options, add, flags=ort.OrtCompileApiFlags.ERROR_IF_NO_NODES_COMPILED).compile_to_bytes()


def test_compiled_models_are_named_after_their_source(ours, add, tmp_path):
    source = tmp_path / "model.onnx"
    source.write_bytes(add)
    ours.ModelCompiler(ours.SessionOptions(), source).compile_to_file()
    np.testing.assert_array_equal(ours.InferenceSession(tmp_path / "model_ctx.onnx").run(None, FEEDS)[0], X + X)
    with pytest.raises(ours.capi.onnxruntime_pybind11_state.InvalidArgument):
        ours.ModelCompiler(ours.SessionOptions(), add).compile_to_file()


def test_compiled_models_are_optimized_as_asked(ours, make):
    nodes = [helper.make_node("Identity", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Identity", ["b"], ["z"])]
    level = ours.GraphOptimizationLevel
    counts = {}
    for asked in (level.ORT_DISABLE_ALL, level.ORT_ENABLE_ALL):
        compiler = ours.ModelCompiler(ours.SessionOptions(), make(nodes, ["x"], ["z"]), graph_optimization_level=asked)
        counts[asked] = len(onnx.load_from_string(compiler.compile_to_bytes()).graph.node)
    assert counts == {level.ORT_DISABLE_ALL: 3, level.ORT_ENABLE_ALL: 1}


def test_room_for_data_of_providers(ours):
    room = ours.OrtEpContextDataBuffer(4)
    with pytest.raises(RuntimeError):
        room.write(b"ab")
    with pytest.raises(RuntimeError):
        room.allocate(5)
    room.allocate(4)
    room.write(b"ab", 2)
    assert (room.size, room.is_allocated, bytes(room.data)) == (4, True, b"\0\0ab")
    with pytest.raises(RuntimeError):
        room.write(b"abc", 2)
    assert ours.OrtEpContextData(b"abcd").read(1, 2) == b"bc"


PLUGIN = """
from sardonyx.ep import KernelSet, Provider, ProviderInfo, hook
kernels = KernelSet()
@kernels.add("Add")
def add(xp, a, b):
    return a + b + 1
class Off(Provider):
    pass
Off.kernels = kernels
@hook
def sardonyx_provider():
    return ProviderInfo(name="off_by_one", create=Off, aliases=("OffByOneExecutionProvider",))
"""


def test_providers_come_from_files(ours, add, tmp_path):
    state = ours.capi.onnxruntime_pybind11_state
    path = tmp_path / "plugin.py"
    path.write_text(PLUGIN)
    ours.register_execution_provider_library("off_by_one", str(path))
    try:
        assert ours.get_available_providers()[0] == "OffByOneExecutionProvider"
        for name in ("off_by_one", "OffByOneExecutionProvider"):
            s = ours.InferenceSession(add, providers=[name])
            assert s.get_providers() == [name, "CPUExecutionProvider"]
            np.testing.assert_array_equal(s.run(None, FEEDS)[0], X + X + 1)
        with pytest.raises(state.InvalidArgument, match="already"):
            ours.register_execution_provider_library("off_by_one", str(path))
        assert "OffByOneExecutionProvider" in [d.ep_name for d in ours.get_ep_devices()]
    finally:
        ours.unregister_execution_provider_library("off_by_one")
    assert "OffByOneExecutionProvider" not in ours.get_available_providers()


def test_provider_libraries_that_cannot_be_used(ours, tmp_path):
    state = ours.capi.onnxruntime_pybind11_state
    with pytest.raises(state.Fail, match="no provider library"):
        ours.register_execution_provider_library("a", str(tmp_path / "none.so"))
    with pytest.raises(state.Fail, match="registered as 'a'"):
        ours.unregister_execution_provider_library("a")
    library = tmp_path / "ep.so"
    library.write_bytes(b"")
    with pytest.raises(NotImplementedError, match="sardonyx_provider hook"):
        ours.register_execution_provider_library("a", str(library))
    for text, match in (("raise OSError('broken')", "OSError: broken"), ("x = 1", "no sardonyx_provider hook")):
        path = tmp_path / "ep.py"
        path.write_text(text)
        with pytest.raises(state.Fail, match=match):
            ours.register_execution_provider_library("a", str(path))
    assert "a" not in ours.get_all_providers()


def test_custom_operators_come_from_files(ours, make, tmp_path):
    path = tmp_path / "ops.py"
    path.write_text(
        "import sardonyx\nLIMIT = 2\n\n"
        "@sardonyx.custom_op('mine', 'Clamp', dtypes=[0], register=False)\n"
        "def clamp(x):\n    return x.clip(max=LIMIT)\n"
    )
    model = make([helper.make_node("Clamp", ["x"], ["z"], domain="mine")], ["x"], ["z"], domains=[helper.make_opsetid("mine", 1)])
    options = ours.SessionOptions()
    options.register_custom_ops_library(str(path))
    session = ours.InferenceSession(model, options)
    np.testing.assert_array_equal(session.run(None, {"x": np.array([1, 2, 3], np.float32)})[0], [1, 2, 2])
    with pytest.raises(ours.capi.onnxruntime_pybind11_state.Fail):
        ours.InferenceSession(model)
    for text, kind in (("x = 1", "InvalidArgument"), ("raise OSError('broken')", "Fail")):
        path.write_text(text)
        with pytest.raises(getattr(ours.capi.onnxruntime_pybind11_state, kind)):
            options.register_custom_ops_library(str(path))


def test_libraries_of_custom_operators(ours, tmp_path):
    state = ours.capi.onnxruntime_pybind11_state
    options = ours.SessionOptions()
    with pytest.raises(state.Fail, match="no custom operator library"):
        options.register_custom_ops_library(str(tmp_path / "none.so"))
    (tmp_path / "ops.so").write_bytes(b"")
    with pytest.raises(NotImplementedError, match=r"@sardonyx\.custom_op"):
        options.register_custom_ops_library(str(tmp_path / "ops.so"))

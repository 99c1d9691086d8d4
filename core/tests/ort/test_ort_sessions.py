"""Sessions behave as onnxruntime's do; each test runs against both."""

import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sardonyx.onnxruntime

X = np.arange(6, dtype=np.float32).reshape(3, 2)
FEEDS = {"x": X, "y": X}
CPU = "CPUExecutionProvider"


def value(name, dtype=TensorProto.FLOAT, shape=("n",)):
    return helper.make_tensor_value_info(name, dtype, None if shape is None else list(shape))


@pytest.fixture
def session(ort, add):
    return ort.InferenceSession(add)


def test_a_model_is_a_path_of_any_kind_or_bytes(ort, add, tmp_path):
    path = tmp_path / "add.onnx"
    path.write_bytes(add)
    by_path, by_text = ort.InferenceSession(path), ort.InferenceSession(str(path), None)
    assert by_path._model_path == by_text._model_path == str(path)
    assert Path(by_path._model_path).name == "add.onnx"
    by_bytes = ort.InferenceSession(add, sess_options=ort.SessionOptions(), providers=None)
    assert (by_bytes._model_path, by_bytes._model_bytes) == (None, add)
    for s in (by_path, by_text, by_bytes):
        np.testing.assert_array_equal(s.run(["z"], FEEDS)[0], X + X)


def test_outputs_are_chosen_by_name(session):
    for names in (None, [], ["z"], ("z",)):
        (z,) = session.run(names, FEEDS)
        np.testing.assert_array_equal(z, X + X)
    assert len(session.run(["z", "z"], FEEDS)) == 2
    np.testing.assert_array_equal(session.run(output_names=["z"], input_feed=FEEDS, run_options=None)[0], X + X)


def test_outputs_are_the_callers_own(ort, session, make):
    (z,) = session.run(None, FEEDS)
    assert z.flags.writeable
    assert z.flags.c_contiguous
    z[:] = 7
    np.testing.assert_array_equal(session.run(None, FEEDS)[0], X + X)
    same = ort.InferenceSession(make([helper.make_node("Identity", ["x"], ["z"])], ["x"], ["z"]))
    x = np.ones(3, np.float32)
    same.run(None, {"x": x})[0][:] = 5
    np.testing.assert_array_equal(x, 1)


def test_feeds_may_have_any_layout(ort, session):
    wide = np.zeros((6, 4), np.float32)
    wide[::2, ::2] = X
    for x in (X.T.copy().T, wide[::2, ::2], np.asfortranarray(X), X.tolist(), ort.OrtValue.ortvalue_from_numpy(X)):
        np.testing.assert_array_equal(session.run(None, {"x": x, "y": X})[0], X + X)
    frozen = X.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(session.run(None, {"x": frozen, "y": frozen})[0], X + X)


def test_tensors_without_dimensions(ort, make):
    scalar = value("x", TensorProto.INT64, ())
    s = ort.InferenceSession(make([helper.make_node("Identity", ["x"], ["z"])], [scalar], [value("z", TensorProto.INT64, ())]))
    (z,) = s.run(None, {"x": np.array(16000, np.int64)})
    assert (type(z), z.shape, z.dtype, z.flags.writeable, int(z)) == (np.ndarray, (), np.int64, True, 16000)
    assert s.get_inputs()[0].shape == []


def test_strings(ort, make):
    ports = [value("x", TensorProto.STRING), value("z", TensorProto.STRING)]
    s = ort.InferenceSession(make([helper.make_node("Identity", ["x"], ["z"])], ports[:1], ports[1:]))
    assert s.get_inputs()[0].type == "tensor(string)"
    for x in (np.array(["a", "é"]), np.array(["a", "é"], object), ["a", "é"]):
        (z,) = s.run(None, {"x": x})
        assert (z.dtype, z.tolist()) == (object, ["a", "é"])
    assert s.run(None, {"x": np.array([1, 2.5, None, np.nan], object)})[0].tolist() == ["1", "2.5", "None", "nan"]


def test_optional_inputs_may_be_left_out(ort, make):
    optional = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, ["n"]))
    given = helper.make_value_info("x", optional)
    s = ort.InferenceSession(
        make([helper.make_node("OptionalHasElement", ["x"], ["z"])], [given], [value("z", TensorProto.BOOL, ())], opset=18)
    )
    (arg,) = s.get_inputs()
    assert (arg.type, arg.shape) == ("optional(tensor(float))", ["n"])
    assert [bool(s.run(None, feeds)[0]) for feeds in ({}, {"x": None}, {"x": X[0]})] == [False, False, True]


def test_sequences_and_maps(ort, make):
    sequence = helper.make_tensor_sequence_value_info("z", TensorProto.FLOAT, None)
    s = ort.InferenceSession(make([helper.make_node("SequenceConstruct", ["x", "x"], ["z"])], ["x"], [sequence]))
    (z,) = s.run(None, {"x": X[0]})
    assert type(z) is list
    np.testing.assert_array_equal(z, [X[0], X[0]])
    node = helper.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_strings=["a", "b"])
    out = helper.make_value_info(
        "z",
        helper.make_sequence_type_proto(
            helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
        ),
    )
    s = ort.InferenceSession(make([node], [value("x", shape=("n", 2))], [out], domains=[helper.make_opsetid("ai.onnx.ml", 1)]))
    assert s.get_outputs()[0].type == "seq(map(string,tensor(float)))"
    assert s.run(None, {"x": X})[0] == [{"a": 0.0, "b": 1.0}, {"a": 2.0, "b": 3.0}, {"a": 4.0, "b": 5.0}]


SHAPES = {
    "kept": (("batch", "a + 1", 3, None), ("batch", "a + 1", 3, None), ["batch", "a + 1", 3, None]),
    "numbers are inferred": ((3, 4), ("a", "b"), [3, 4]),
    "symbols are inferred": (("n", 4), (None, None), ["n", 4]),
    "declared symbols stay": (("n", 4), ("q", 4), ["q", 4]),
    "nothing declared": (("n", None, 4), None, ["n", None, 4]),
    "declared numbers stay": (("n", 4), (5, 4), [5, 4]),
}


@pytest.mark.parametrize("case", SHAPES)
def test_shapes_of_inputs_and_outputs(case, ort, make):
    given, declared, told = SHAPES[case]
    s = ort.InferenceSession(make([helper.make_node("Relu", ["x"], ["z"])], [value("x", shape=given)], [value("z", shape=declared)]))
    assert s.get_inputs()[0].shape == list(given)
    assert s.get_outputs()[0].shape == told
    assert str(s.get_inputs()[0]) == f"NodeArg(name='x', type='tensor(float)', shape={list(given)})"


def test_metadata(ort, make):
    model = make([helper.make_node("Relu", ["x"], ["z"])], ["x"], ["z"], producer_name="p", domain="d", model_version=3, doc_string="about")
    loaded = onnx.load_from_string(model)
    helper.set_model_props(loaded, {"character": "a\nb\nc"})
    meta = ort.InferenceSession(loaded.SerializeToString()).get_modelmeta()
    assert (meta.producer_name, meta.graph_name, meta.domain, meta.description, meta.version) == ("p", "g", "d", "about", 3)
    assert meta.custom_metadata_map["character"].splitlines() == ["a", "b", "c"]
    assert meta.graph_description == ""
    unnumbered = make([helper.make_node("Relu", ["x"], ["z"])], ["x"], ["z"])
    assert ort.InferenceSession(unnumbered).get_modelmeta().version == 2**63 - 1


def test_initializers_that_are_inputs(ort, make):
    model = make([helper.make_node("Add", ["x", "w"], ["z"])], ["x", value("w", shape=(1,))], ["z"], {"w": np.ones(1, np.float32)})
    s = ort.InferenceSession(model)
    assert [a.name for a in s.get_inputs()] == ["x"]
    assert [a.name for a in s.get_overridable_initializers()] == ["w"]
    np.testing.assert_array_equal(s.run(None, {"x": X[0]})[0], X[0] + 1)
    np.testing.assert_array_equal(s.run(None, {"x": X[0], "w": np.array([5], np.float32)})[0], X[0] + 5)


def test_initializers_are_replaced(ort, make):
    model = make([helper.make_node("Add", ["x", "w"], ["z"])], ["x"], ["z"], {"w": np.ones(1, np.float32)})
    options = ort.SessionOptions()
    w = np.array([7], np.float32)
    kept = ort.OrtValue.ortvalue_from_numpy(w)
    options.add_initializer("w", kept)
    np.testing.assert_array_equal(ort.InferenceSession(model, options).run(None, {"x": X[0]})[0], X[0] + 7)


PROVIDERS = {
    "none": (None, 0),
    "empty": ([], 0),
    "the host": ([CPU], 0),
    "a tuple": ((CPU,), 0),
    "with options": ([(CPU, {"use_arena": 1})], 0),
    "CUDA with options, then the host": ([("CUDAExecutionProvider", {"device_id": 0}), CPU], 1),
    "CUDA alone": (["CUDAExecutionProvider"], 1),
    "TensorRT, CUDA, the host": (["TensorrtExecutionProvider", "CUDAExecutionProvider", CPU], 2),
    "the host twice": ([CPU, CPU], 1),
    "an unknown name": (["Foo"], 1),
    "a name for a list": ([[CPU, {}]], 0),
}


@pytest.mark.parametrize("case", PROVIDERS)
def test_providers_that_are_not_there_are_passed_over(case, ort, add, recwarn, capfd):
    asked, warned = PROVIDERS[case]
    s = ort.InferenceSession(add, providers=asked)
    assert s.get_providers() == [CPU]
    assert s.get_provider_options() == {CPU: {}}
    assert [w.category for w in recwarn if "rovider" in str(w.message)] == [UserWarning] * warned
    np.testing.assert_array_equal(s.run(None, FEEDS)[0], X + X)


def test_what_is_available(ort):
    assert ort.get_available_providers()[-1] == CPU
    assert "CUDAExecutionProvider" in ort.get_all_providers()
    assert ort.get_device() in ("CPU", "GPU")
    assert ort.get_device()[0:3] == "CPU" or "CUDAExecutionProvider" in ort.get_available_providers()
    assert ort.get_version_string() == ort.__version__ == ort.version
    assert [int(part) for part in ort.__version__.split(".")[:2]] >= [1, 20]
    assert (ort.has_collective_ops(), type(ort.get_build_info())) == (False, str)
    (device, *_) = ort.get_ep_devices()
    assert (device.ep_name, device.device.type) == (CPU, ort.OrtHardwareDeviceType.CPU)


def test_the_session_is_made_anew_on_other_providers(ort, session):
    session.set_providers([CPU], [{"a": "b"}])
    assert session.get_providers() == [CPU]
    session.set_providers(providers=[(CPU, {})])
    session.set_providers()
    session.disable_fallback()
    session.enable_fallback()
    np.testing.assert_array_equal(session.run(None, FEEDS)[0], X + X)


def test_providers_set_in_the_options(ort, add):
    options = ort.SessionOptions()
    assert not options.has_providers()
    options.add_provider(CPU, {})
    assert options.has_providers()
    by_device, by_policy, by_function = ort.SessionOptions(), ort.SessionOptions(), ort.SessionOptions()
    by_device.add_provider_for_devices(ort.get_ep_devices()[:1], {})
    by_policy.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_CPU)
    by_function.set_provider_selection_policy_delegate(lambda devices, *_: devices[:1])
    for o in (options, by_device, by_policy, by_function):
        assert ort.InferenceSession(add, o).get_providers() == [CPU]


def test_a_run_in_the_background(session):
    done, said = threading.Event(), []

    def callback(results, user_data, error):
        said.append((results, user_data, error))
        done.set()

    session.run_async(None, FEEDS, callback, "mine")
    assert done.wait(60)
    (results, user_data, error) = said.pop()
    np.testing.assert_array_equal(results[0], X + X)
    assert (user_data, error) == ("mine", "")
    done.clear()
    session.run_async(["z"], {"x": X, "y": X[:2]}, callback, None)
    assert done.wait(60)
    (results, _, error) = said.pop()
    assert results == []
    assert "add" in error


def test_profiles(ort, add, tmp_path):
    assert ort.InferenceSession(add).end_profiling() == ""
    assert ort.InferenceSession(add).get_profiling_start_time_ns() == 0
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "mine")
    s = ort.InferenceSession(add, options)
    s.run(None, FEEDS)
    path = Path(s.end_profiling())
    assert path.name.startswith("mine")
    assert "Add" in path.read_text()
    assert s.end_profiling() == ""


def test_the_optimized_model_is_written(ort, add, tmp_path):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    ort.InferenceSession(add, options)
    s = ort.InferenceSession(str(tmp_path / "optimized.onnx"))
    np.testing.assert_array_equal(s.run(None, FEEDS)[0], X + X)


def test_options_and_their_defaults(ort):
    options, run = ort.SessionOptions(), ort.RunOptions()
    told = {n: getattr(options, n) for n in ("enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse", "use_per_session_threads")}
    assert set(told.values()) == {True}
    assert (options.enable_profiling, options.use_deterministic_compute) == (False, False)
    assert options.graph_optimization_level == ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    assert options.execution_mode == ort.ExecutionMode.ORT_SEQUENTIAL
    assert options.execution_order == ort.ExecutionOrder.DEFAULT
    assert (options.log_severity_level, options.log_verbosity_level, options.logid) == (-1, 0, "")
    assert (options.intra_op_num_threads, options.inter_op_num_threads, options.optimized_model_filepath) == (0, 0, "")
    assert options.profile_file_prefix == "onnxruntime_profile_"
    assert (run.log_severity_level, run.logid, run.terminate, run.only_execute_path_to_fetches) == (-1, "", False, False)
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
    run.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    assert run.get_run_config_entry("memory.enable_memory_arena_shrinkage") == "cpu:0"


def test_fixed_dimensions(ort, make):
    options = ort.SessionOptions()
    options.add_free_dimension_override_by_name("n", 5)
    s = ort.InferenceSession(make([helper.make_node("Relu", ["x"], ["z"])], ["x"], ["z"]), options)
    assert s.get_inputs()[0].shape == [5]


def test_enumerations(ort):
    level = ort.GraphOptimizationLevel
    assert (int(level.ORT_ENABLE_ALL), level.ORT_ENABLE_ALL.name, level.ORT_ENABLE_ALL.value) == (99, "ORT_ENABLE_ALL", 99)
    assert (str(ort.ExecutionMode.ORT_PARALLEL), level(1)) == ("ExecutionMode.ORT_PARALLEL", level.ORT_ENABLE_BASIC)
    assert ort.OrtMemType.CPU == ort.OrtMemType.CPU_OUTPUT
    assert ort.OrtCompileApiFlags.NONE | ort.OrtCompileApiFlags.ERROR_IF_OUTPUT_FILE_EXISTS == 2


def test_without_the_host_there_is_no_provider(ort, state, add):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    with pytest.raises(state.Fail):
        ort.InferenceSession(add, options)


def test_making_a_session_is_cancelled(ort, state, add):
    options = ort.SessionOptions()
    options.set_load_cancellation_flag(True)
    with pytest.raises(state.ModelLoadCanceled):
        ort.InferenceSession(add, options)


def test_which_nodes_run_where(ort, add):
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    (part,) = ort.InferenceSession(add, options).get_provider_graph_assignment_info()
    assert part.ep_name == CPU
    assert [(n.name, n.domain, n.op_type) for n in part.get_nodes()] == [("add", "", "Add")]


def test_what_a_session_says_of_itself(ort, session):
    assert (session._enable_fallback, session._fallback_providers, session._providers) == (True, [CPU], [CPU])
    assert session._sess is not None
    assert session._sess_options is not None
    assert [a.name for a in session._inputs_meta] == ["x", "y"]
    assert [a.name for a in session._outputs_meta] == ["z"]
    assert [i.name for i in session.get_input_memory_infos()] == ["Cpu", "Cpu"]
    assert [d.ep_name for d in session.get_input_epdevices()] == [CPU, CPU]
    assert len(session.get_output_memory_infos()) == 1
    assert session.get_tuning_results() == []
    assert session.get_session_options().enable_profiling is False
    session.set_tuning_results([])
    session.set_ep_dynamic_options({"a": "b"})
    session.release_captured_graph()


def test_what_sardonyx_adds_is_there(add):
    s = sardonyx.onnxruntime.InferenceSession(add)
    assert "Add" in str(s.explain())
    with pytest.raises(AttributeError, match="no_such_method"):
        s.no_such_method()
    with pytest.raises(AttributeError, match="_private"):
        s._private()


def test_a_plugin_goes_by_its_own_name_too(add):
    s = sardonyx.onnxruntime.InferenceSession(add, providers=["cpu"])
    assert s.get_providers()[0] == "cpu"


def test_files_of_other_formats_are_refused(add, tmp_path):
    path = tmp_path / "model.ort"
    path.write_bytes(b"\0\0\0\0ORTM" + bytes(20))
    with pytest.raises(NotImplementedError, match=r"\.onnx file"):
        sardonyx.onnxruntime.InferenceSession(str(path))
    with pytest.raises(NotImplementedError, match=r"\.onnx file"):
        sardonyx.onnxruntime.InferenceSession(path.read_bytes())


def test_a_run_falls_back_once_where_a_provider_fails(ort, state, session, monkeypatch):
    if not ort.__name__.startswith("sardonyx"):
        pytest.skip("onnxruntime's own session cannot be made to fail")

    def fail(*args):
        raise state.EPFail("no luck")

    x = np.ones((3, 2), np.float32)
    broken = session._sess
    monkeypatch.setattr(broken, "run", fail)
    np.testing.assert_array_equal(session.run(None, {"x": x, "y": x})[0], x + x)
    assert session._sess is not broken
    monkeypatch.setattr(session._sess, "run", fail)
    with pytest.raises(state.EPFail, match="no luck"):
        session.run(None, {"x": x, "y": x})

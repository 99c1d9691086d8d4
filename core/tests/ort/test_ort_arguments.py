"""Values that cannot be meant, for the parameters of onnxruntime's interface: what onnxruntime raises, Sardonyx raises in its place,
as an error of its own that says what belongs there."""

import importlib
import math

import numpy as np
import pytest

from sardonyx.errors import InternalError, SardonyxError

onnxruntime = pytest.importorskip("onnxruntime", reason="compares with onnxruntime itself")
X = np.ones((3, 2), np.float32)
FEEDS = {"x": X, "y": X}
ONE = np.zeros(1, np.int64)

VALUES = {
    "object": object(),
    "negative": -1,
    "huge": 10**30,
    "NaN": math.nan,
    "fraction": 2.5,
    "empty": "",
    "name": "nope",
    "None": None,
    "objects": [object()],
    "dict": {3: object()},
}


def option(name):
    return lambda ort, session, value: setattr(ort.SessionOptions(), name, value)


def run_option(name):
    return lambda ort, session, value: setattr(ort.RunOptions(), name, value)


def on_options(call):
    return lambda ort, session, value: call(ort.SessionOptions(), value)


def binding(call):
    return lambda ort, session, value: call(session.io_binding(), value)


CALLS = {
    **{
        name: option(name)
        for name in (
            "enable_profiling",
            "enable_mem_pattern",
            "use_deterministic_compute",
            "execution_mode",
            "execution_order",
            "graph_optimization_level",
            "intra_op_num_threads",
            "inter_op_num_threads",
            "log_severity_level",
            "log_verbosity_level",
            "logid",
            "optimized_model_filepath",
            "profile_file_prefix",
        )
    },
    **{f"{name} of a run": run_option(name) for name in ("log_severity_level", "log_verbosity_level", "logid", "terminate")},
    "key of a session entry": on_options(lambda o, v: o.add_session_config_entry(v, "1")),
    "value of a session entry": on_options(lambda o, v: o.add_session_config_entry("key", v)),
    "get_session_config_entry": on_options(lambda o, v: o.get_session_config_entry(v)),
    "value of a run entry": lambda ort, s, v: ort.RunOptions().add_run_config_entry("key", v),
    "get_run_config_entry": lambda ort, s, v: ort.RunOptions().get_run_config_entry(v),
    "size of a dimension": on_options(lambda o, v: o.add_free_dimension_override_by_name("n", v)),
    "size by denotation": on_options(lambda o, v: o.add_free_dimension_override_by_denotation("d", v)),
    "an initializer": on_options(lambda o, v: o.add_initializer("w", v)),
    "names of initializers": on_options(lambda o, v: o.add_external_initializers(v, [])),
    "an external initializer": on_options(lambda o, v: o.add_external_initializers(["w"], [v])),
    "names of files": on_options(lambda o, v: o.add_external_initializers_from_files_in_memory(v, [b"x"], [1])),
    "a buffer": on_options(lambda o, v: o.add_external_initializers_from_files_in_memory(["f"], [v], [1])),
    "a length": on_options(lambda o, v: o.add_external_initializers_from_files_in_memory(["f"], [b"x"], [v])),
    "register_custom_ops_library": on_options(lambda o, v: o.register_custom_ops_library(v)),
    "output_names": lambda ort, s, v: s.run(v, FEEDS),
    "an output's name": lambda ort, s, v: s.run([v], FEEDS),
    "input_feed": lambda ort, s, v: s.run(None, v),
    "name of a feed": lambda ort, s, v: s.run(None, {v: X} | FEEDS) if v.__hash__ else s.run(None, v),
    "run_options": lambda ort, s, v: s.run(None, FEEDS, v),
    "feeds of run_async": lambda ort, s, v: s.run_async(None, v, lambda *_: None, None),
    "callback": lambda ort, s, v: s.run_async(["z"], FEEDS, v, None),
    "input_dict_ort_values": lambda ort, s, v: s.run_with_ort_values(None, v),
    "an OrtValue": lambda ort, s, v: s.run_with_ort_values(None, {"x": v, "y": v}),
    "iobinding": lambda ort, s, v: s.run_with_iobinding(v),
    "bound input": binding(lambda b, v: b.bind_cpu_input("x", v)),
    "name of a bound input": binding(lambda b, v: b.bind_cpu_input(v, X)),
    "bound OrtValue": binding(lambda b, v: b.bind_ortvalue_input("x", v)),
    "OrtValue for an output": binding(lambda b, v: b.bind_ortvalue_output("z", v)),
    "device of an output": binding(lambda b, v: b.bind_output("z", v)),
    "type of a buffer": binding(lambda b, v: b.bind_input("x", "cpu", 0, v, [3, 2], X.ctypes.data)),
    "shape of a buffer": binding(lambda b, v: b.bind_input("x", "cpu", 0, np.float32, v, X.ctypes.data)),
    "ortvalue_from_numpy": lambda ort, s, v: ort.OrtValue.ortvalue_from_numpy(v),
    "device_type": lambda ort, s, v: ort.OrtValue.ortvalue_from_numpy(X, v),
    "device_id": lambda ort, s, v: ort.OrtValue.ortvalue_from_numpy(X, "cpu", v),
    "data": lambda ort, s, v: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(v, 1),
    "onnx_element_type": lambda ort, s, v: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(X, v),
    "shape": lambda ort, s, v: ort.OrtValue.ortvalue_from_shape_and_type(v, np.float32),
    "a dimension": lambda ort, s, v: ort.OrtValue.ortvalue_from_shape_and_type([v], np.float32),
    "element_type": lambda ort, s, v: ort.OrtValue.ortvalue_from_shape_and_type([2], v),
    "update_inplace": lambda ort, s, v: ort.OrtValue.ortvalue_from_numpy(X.copy()).update_inplace(v),
    "model of a compiler": lambda ort, s, v: ort.ModelCompiler(ort.SessionOptions(), v),
    "options of a compiler": lambda ort, s, v: ort.ModelCompiler(v, b"model"),
    "parameters of an adapter": lambda ort, s, v: ort.AdapterFormat().set_parameters(v),
    "version of an adapter": lambda ort, s, v: ort.AdapterFormat().set_adapter_version(v),
    "add_provider": lambda ort, s, v: ort.SessionOptions().add_provider(v, {}),
    "options of add_provider": lambda ort, s, v: ort.SessionOptions().add_provider("CPUExecutionProvider", v),
    "add_provider_for_devices": lambda ort, s, v: ort.SessionOptions().add_provider_for_devices(v, {}),
    "policy": lambda ort, s, v: ort.SessionOptions().set_provider_selection_policy(v),
    "library of a provider": lambda ort, s, v: ort.register_execution_provider_library("mine", v),
    "name of a provider's library": lambda ort, s, v: ort.register_execution_provider_library(v, "nope"),
    "dynamic options": lambda ort, s, v: s.set_ep_dynamic_options(v),
    "shape of a sparse tensor": lambda ort, s, v: ort.SparseTensor.sparse_coo_from_numpy(v, X[:1, 0], ONE, ort.OrtDevice.make("cpu", 0)),
    "values of a sparse tensor": lambda ort, s, v: ort.SparseTensor.sparse_coo_from_numpy([2], v, ONE, ort.OrtDevice.make("cpu", 0)),
    "indices of a sparse tensor": lambda ort, s, v: ort.SparseTensor.sparse_coo_from_numpy([2], ONE, v, ort.OrtDevice.make("cpu", 0)),
    "device of a sparse tensor": lambda ort, s, v: ort.SparseTensor.sparse_coo_from_numpy([2], ONE, ONE, v),
    "providers": lambda ort, s, v: s.set_providers(v),
    "severity": lambda ort, s, v: ort.set_default_logger_severity(v),
    "verbosity": lambda ort, s, v: ort.set_default_logger_verbosity(v),
}


# Where onnxruntime ends the process, or a thread of its own.
FATAL = {(name, "None") for name in ("key of a session entry", "value of a session entry", "value of a run entry", "callback")}
# What onnxruntime says of None where it wants text: an accident of its binding.
NO_TEXT = "construction from null"


def raised(ort, session, call, value):
    try:
        call(ort, session, value)
    except Exception as e:
        return e
    return None


def counterpart(error, state):
    """The class that stands for that of an exception of onnxruntime."""
    kind = type(error)
    return getattr(state, kind.__name__) if kind.__module__.startswith("onnxruntime") else kind


@pytest.fixture
def both(add):
    import sardonyx.onnxruntime

    modules = [onnxruntime, sardonyx.onnxruntime]
    yield [(ort, ort.InferenceSession(add)) for ort in modules]
    for ort in modules:
        ort.set_default_logger_severity(2)
        ort.set_default_logger_verbosity(0)


@pytest.mark.filterwarnings("ignore:Specified provider", "ignore:Duplicate provider")
@pytest.mark.parametrize("name", CALLS)
def test_the_same_is_refused(both, name):
    (theirs, their_session), (ours, session) = both
    state = importlib.import_module(f"{ours.__name__}.capi.onnxruntime_pybind11_state")
    wrong = []
    for label, value in VALUES.items():
        want = TypeError() if (name, label) in FATAL else raised(theirs, their_session, CALLS[name], value)
        got = raised(ours, session, CALLS[name], value)
        if want is not None and NO_TEXT in str(want):
            want = TypeError()
        if want is not None and not isinstance(got, counterpart(want, state)):
            wrong.append((label, repr(want)[:120], got))
        if isinstance(got, InternalError) or isinstance(getattr(got, "__cause__", None), InternalError):
            wrong.append((label, "a fault in Sardonyx", got))
        if isinstance(got, (TypeError, AttributeError, KeyError, MemoryError)) and not isinstance(got, SardonyxError):
            wrong.append((label, "an error of Python's alone", got))
    assert wrong == []


@pytest.mark.parametrize("value", ["object", "huge", "NaN", "fraction", "name", "None"])
def test_what_holds_for_the_process_is_a_whole_number(ort, value):
    for call in (ort.set_seed, lambda v: ort.set_global_thread_pool_sizes(v, 1), lambda v: ort.set_global_thread_pool_sizes(1, v)):
        with pytest.raises(TypeError):
            call(VALUES[value])


def test_names_of_passes_that_sardonyx_does_not_have(ort, add, caplog):
    with caplog.at_level("WARNING", "sardonyx"):
        ort.InferenceSession(add, disabled_optimizers=["ConstantFolding", "fold_constants"])
    said = [r.getMessage() for r in caplog.records]
    assert len(said) == (0 if ort is onnxruntime else 1)
    assert all("'ConstantFolding', which has no effect" in text for text in said)


def test_sizes_and_threads_below_zero_mean_the_default(ort, add, caplog):
    options = ort.SessionOptions()
    options.intra_op_num_threads = -1
    if ort is not onnxruntime:
        assert options.threads == ort.SessionOptions().threads
        options.add_free_dimension_override_by_name("n", -1)
        assert "override of 'n' has no effect: its size is -1" in caplog.text
    session = ort.InferenceSession(add, options)
    assert session.get_inputs()[0].shape == ["n", 2]
    np.testing.assert_array_equal(session.run(None, FEEDS)[0], X + X)


def test_a_severity_that_there_is_not(ort, add):
    options = ort.SessionOptions()
    options.log_severity_level = 17
    with pytest.raises(RuntimeError, match=r"(?i)severity level"):
        ort.InferenceSession(add, options)


def test_no_memory_for_a_tensor(ort):
    with pytest.raises(MemoryError):
        ort.OrtValue.ortvalue_from_shape_and_type([10**15], np.float32)

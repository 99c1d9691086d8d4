"""Every parameter of the Python interface with values that cannot be meant: one clear error, or what is said to be accepted."""

import asyncio
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.errors import InternalError, InvalidInput, InvalidType, OutOfMemory, SardonyxError, UnwritableFile
from sardonyx.runtime.profiler import Profile

X = np.ones((1, 2), np.float32)
FEEDS = {"x": X, "y": X}

VALUES = {
    "object": object(),
    "negative": -1,
    "huge": 10**30,
    "NaN": math.nan,
    "fraction": 2.5,
    "empty": "",
    "NUL": "a\0b",
    "name": "nope",
    "None": None,
    "objects": [object()],
    "pair": ("cpu",),
    "dict": {3: object()},
}
NUMBERS = {"negative", "huge"}
TEXTS = {"empty", "NUL", "name"}
FLAGS = {"negative", "huge", "None"}


def option(name):
    def give(t, value):
        options = sardonyx.SessionOptions()
        setattr(options, name, value)
        sardonyx.InferenceSession(t.model, options)

    return give


def run_option(name):
    return lambda t, value: setattr(sardonyx.RunOptions(), name, value)


def on_options(call):
    return lambda t, value: call(sardonyx.SessionOptions(), value)


def binding(call):
    return lambda t, value: call(t.session.io_binding(), value)


def operator(*args, **kwargs):
    def function(x):
        return x

    return sardonyx.custom_op(*args, register=False, **{"dtypes": [np.float32]} | kwargs)(function)


def awaited(timeout):
    return lambda t, value: asyncio.run(t.session.arun(None, FEEDS, **{timeout: value}))


# What is called with the value, and which of the values it takes.
PARAMETERS = {
    "path_or_bytes": (lambda t, v: sardonyx.InferenceSession(v), set()),
    "sess_options": (lambda t, v: sardonyx.InferenceSession(t.model, v), {"None"}),
    "providers": (lambda t, v: sardonyx.InferenceSession(t.model, providers=v), {"None", "pair"}),
    "a provider": (lambda t, v: sardonyx.InferenceSession(t.model, providers=[v]), set()),
    "options of a provider": (lambda t, v: sardonyx.InferenceSession(t.model, providers=[("cpu", v)]), set()),
    "provider_options": (lambda t, v: sardonyx.InferenceSession(t.model, providers=["cpu"], provider_options=v), {"None"}),
    "one of provider_options": (lambda t, v: sardonyx.InferenceSession(t.model, providers=["cpu"], provider_options=[v]), set()),
    "disabled_optimizers of a session": (lambda t, v: sardonyx.InferenceSession(t.model, disabled_optimizers=v), {"None"}),
    **{
        name: (option(name), FLAGS)
        for name in (
            "enable_cpu_mem_arena",
            "enable_mem_pattern",
            "enable_mem_reuse",
            "enable_profiling",
            "use_deterministic_compute",
            "use_per_session_threads",
        )
    },
    "strict": (option("strict"), FLAGS),
    "execution_mode": (option("execution_mode"), set()),
    "execution_order": (option("execution_order"), set()),
    "graph_optimization_level": (option("graph_optimization_level"), set()),
    "intra_op_num_threads": (option("intra_op_num_threads"), set()),
    "inter_op_num_threads": (option("inter_op_num_threads"), set()),
    "log_severity_level": (option("log_severity_level"), {"negative"}),
    "log_verbosity_level": (option("log_verbosity_level"), {"negative"}),
    "logid": (option("logid"), TEXTS),
    "optimized_model_filepath": (option("optimized_model_filepath"), {"empty", "name"}),
    "profile_file_prefix": (option("profile_file_prefix"), {"empty", "name"}),
    "assign": (option("assign"), set()),
    "disabled_optimizers": (option("disabled_optimizers"), set()),
    "custom_ops": (option("custom_ops"), set()),
    "seed": (option("seed"), {"None"}),
    "key of a session entry": (on_options(lambda o, v: o.add_session_config_entry(v, "1")), {"NUL", "name"}),
    "value of a session entry": (on_options(lambda o, v: o.add_session_config_entry("key", v)), TEXTS),
    "get_session_config_entry": (on_options(lambda o, v: o.get_session_config_entry(v)), set()),
    "has_session_config_entry": (on_options(lambda o, v: o.has_session_config_entry(v)), TEXTS),
    "name of a dimension": (on_options(lambda o, v: o.add_free_dimension_override_by_name(v, 1)), TEXTS),
    "size of a dimension": (on_options(lambda o, v: o.add_free_dimension_override_by_name("n", v)), set()),
    "denotation": (on_options(lambda o, v: o.add_free_dimension_override_by_denotation(v, 1)), TEXTS),
    "size by denotation": (on_options(lambda o, v: o.add_free_dimension_override_by_denotation("d", v)), set()),
    "name of an initializer": (on_options(lambda o, v: o.add_initializer(v, X)), TEXTS),
    "names of initializers": (on_options(lambda o, v: o.add_external_initializers(v, [X])), {"pair"}),
    "values of initializers": (on_options(lambda o, v: o.add_external_initializers(["w"], v)), {"objects", "pair"}),
    "names of files": (on_options(lambda o, v: o.add_external_initializers_from_files_in_memory(v, [b"x"], [1])), {"pair"}),
    "buffers": (on_options(lambda o, v: o.add_external_initializers_from_files_in_memory(["f"], v, [1])), set()),
    "lengths": (on_options(lambda o, v: o.add_external_initializers_from_files_in_memory(["f"], [b"x"], v)), set()),
    "a length": (on_options(lambda o, v: o.add_external_initializers_from_files_in_memory(["f"], [b"x"], [v])), set()),
    "register_custom_ops": (on_options(lambda o, v: o.register_custom_ops(v)), set()),
    "register_custom_ops_library": (on_options(lambda o, v: o.register_custom_ops_library(v)), set()),
    "log_severity_level of a run": (run_option("log_severity_level"), {"negative"}),
    "log_verbosity_level of a run": (run_option("log_verbosity_level"), {"negative"}),
    "logid of a run": (run_option("logid"), TEXTS),
    "only_execute_path_to_fetches": (run_option("only_execute_path_to_fetches"), FLAGS),
    "terminate": (run_option("terminate"), FLAGS),
    "key of a run entry": (lambda t, v: sardonyx.RunOptions().add_run_config_entry(v, "1"), {"NUL", "name"}),
    "value of a run entry": (lambda t, v: sardonyx.RunOptions().add_run_config_entry("key", v), TEXTS),
    "get_run_config_entry": (lambda t, v: sardonyx.RunOptions().get_run_config_entry(v), set()),
    "output_names": (lambda t, v: t.session.run(v, FEEDS), {"None"}),
    "input_feed": (lambda t, v: t.session.run(None, v), set()),
    "a feed": (lambda t, v: t.session.run(None, {"x": v, "y": X}), set()),
    "run_options": (lambda t, v: t.session.run(None, FEEDS, v), {"None"}),
    "run_options of arun": (awaited("run_options"), {"None"}),
    "timeout": (awaited("timeout"), {"None", "huge", "fraction"}),
    "callback": (lambda t, v: t.session.run_async(None, FEEDS, v), set()),
    "iobinding": (lambda t, v: t.session.run_with_iobinding(v), set()),
    "input_dict_ort_values": (lambda t, v: t.session.run_with_ort_values(None, v), set()),
    "an OrtValue": (lambda t, v: t.session.run_with_ort_values(None, {"x": v, "y": v}), set()),
    "feeds of profile": (lambda t, v: t.session.profile(v, runs=1), set()),
    "runs": (lambda t, v: t.session.profile(FEEDS, runs=v), set()),
    "warmup": (lambda t, v: t.session.profile(FEEDS, runs=1, warmup=v), set()),
    "options of clone": (lambda t, v: t.session.clone(v), {"None"}),
    "session of IOBinding": (lambda t, v: sardonyx.IOBinding(v), set()),
    "name of a bound input": (binding(lambda b, v: b.bind_cpu_input(v, X)), set()),
    "ortvalue": (binding(lambda b, v: b.bind_ortvalue_input("x", v)), set()),
    "ortvalue for an output": (binding(lambda b, v: b.bind_ortvalue_output("z", v)), set()),
    "name of a bound output": (binding(lambda b, v: b.bind_output(v)), set()),
    "device of a buffer": (binding(lambda b, v: b.bind_input("x", v, 0, np.float32, [1, 2], X.ctypes.data)), set()),
    "type of a buffer": (binding(lambda b, v: b.bind_input("x", "cpu", 0, v, [1, 2], X.ctypes.data)), {"None"}),
    "shape of a buffer": (binding(lambda b, v: b.bind_input("x", "cpu", 0, np.float32, v, X.ctypes.data)), set()),
    "address of a buffer": (binding(lambda b, v: b.bind_input("x", "cpu", 0, np.float32, [1, 2], v)), set()),
    "numpy_obj": (lambda t, v: sardonyx.OrtValue.ortvalue_from_numpy(v), {"negative", "NaN", "fraction", *TEXTS, "pair"}),
    "device_type": (lambda t, v: sardonyx.OrtValue.ortvalue_from_numpy(X, v), set()),
    "device_id": (lambda t, v: sardonyx.OrtValue.ortvalue_from_numpy(X, "cpu", v), {"negative"}),
    "data": (lambda t, v: sardonyx.OrtValue.ortvalue_from_numpy_with_onnx_type(v, TensorProto.FLOAT), set()),
    "onnx_element_type": (lambda t, v: sardonyx.OrtValue.ortvalue_from_numpy_with_onnx_type(X, v), set()),
    "shape": (lambda t, v: sardonyx.OrtValue.ortvalue_from_shape_and_type(v, np.float32), set()),
    "a dimension": (lambda t, v: sardonyx.OrtValue.ortvalue_from_shape_and_type([v], np.float32), set()),
    "element_type": (lambda t, v: sardonyx.OrtValue.ortvalue_from_shape_and_type([2], v), {"None"}),
    "a sequence": (lambda t, v: sardonyx.OrtValue.ort_value_from_sequence(v), {"pair"}),
    "from_dlpack": (lambda t, v: sardonyx.OrtValue.from_dlpack(v), set()),
    "update_inplace": (lambda t, v: sardonyx.OrtValue.ortvalue_from_numpy(X.copy()).update_inplace(v), set()),
    "title of a page": (lambda t, v: t.session.explain().to_html(title=v), TEXTS),
    "title of a profile's page": (lambda t, v: Profile().to_html(title=v), TEXTS),
    "path of a profile": (lambda t, v: Profile().save(v), {"name"}),
    "severity": (lambda t, v: sardonyx.set_default_logger_severity(v), set()),
    "verbosity": (lambda t, v: sardonyx.set_default_logger_verbosity(v), {"negative"}),
    "stages": (lambda t, v: sardonyx.Pipeline(v), set()),
    "mapping": (lambda t, v: sardonyx.Pipeline([t.model], mapping=v), {"None"}),
    "domain": (lambda t, v: operator(v, "Op"), {"NUL", "name"}),
    "name of an operator": (lambda t, v: operator("mine", v), {"NUL", "name"}),
    "dtypes": (lambda t, v: operator("mine", "Op", dtypes=v), set()),
    "shape of an operator": (lambda t, v: operator("mine", "Op", shape=v), {"None"}),
    "since": (lambda t, v: operator("mine", "Op", since=v), {"huge"}),
    "function of an operator": (lambda t, v: sardonyx.custom_op("mine", "Op", dtypes=[np.float32], register=False)(v), set()),
    "model of optimize": (lambda t, v: sardonyx.optimize(v, "out.onnx"), set()),
    "out": (lambda t, v: sardonyx.optimize(t.model, v), {"name"}),
    "level": (lambda t, v: sardonyx.optimize(t.model, "out.onnx", level=v), set()),
    "opset": (lambda t, v: sardonyx.optimize(t.model, "out.onnx", opset=v), {"None"}),
    "external": (lambda t, v: sardonyx.optimize(t.model, "out.onnx", external=v), FLAGS),
    "disabled": (lambda t, v: sardonyx.optimize(t.model, "out.onnx", disabled=v), set()),
    "dims": (lambda t, v: sardonyx.optimize(t.model, "out.onnx", dims=v), {"None"}),
    "size in dims": (lambda t, v: sardonyx.optimize(t.model, "out.onnx", dims={"n": v}), set()),
    "model of compare": (lambda t, v: sardonyx.compare(v, against="cpu"), set()),
    "feeds of compare": (lambda t, v: sardonyx.compare(t.model, v, against="cpu"), {"None"}),
    "against": (lambda t, v: sardonyx.compare(t.model, FEEDS, against=v), set()),
    "rtol": (lambda t, v: sardonyx.compare(t.model, FEEDS, against="cpu", rtol=v), {"None", "huge", "fraction"}),
    "atol": (lambda t, v: sardonyx.compare(t.model, FEEDS, against="cpu", atol=v), {"None", "huge", "fraction"}),
    "tensors": (lambda t, v: sardonyx.compare(t.model, FEEDS, against="cpu", tensors=v), set()),
    "options of compare": (lambda t, v: sardonyx.compare(t.model, FEEDS, against="cpu", options=v), {"None"}),
    "feeds of bisect": (lambda t, v: sardonyx.bisect(t.model, v), {"None"}),
    "against of bisect": (lambda t, v: sardonyx.bisect(t.model, FEEDS, against=v), {"None"}),
    "options of bisect": (lambda t, v: sardonyx.bisect(t.model, FEEDS, options=v), {"None"}),
    "rtol of bisect": (lambda t, v: sardonyx.bisect(t.model, FEEDS, rtol=v), {"None", "huge", "fraction"}),
    "out of bisect": (lambda t, v: sardonyx.bisect(t.model, FEEDS, out=v), {"None", "name"}),
}


@pytest.fixture
def tools(make_model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 2]) for n in "xyz"]
    model = make_model([helper.make_node("Add", ["x", "y"], ["z"], name="add")], ports[:2], ports[2:]).SerializeToString()
    logger = sardonyx.runtime.log.ROOT
    before = logger.level
    yield SimpleNamespace(model=model, session=sardonyx.InferenceSession(model, providers=["cpu"]))
    logger.setLevel(before)


@pytest.mark.parametrize("parameter", PARAMETERS)
def test_what_cannot_be_meant_is_refused(tools, parameter):
    call, accepted = PARAMETERS[parameter]
    wrong = []
    for name, value in VALUES.items():
        try:
            call(tools, value)
        except SardonyxError as e:
            if isinstance(e, InternalError) or name in accepted or len(str(e)) < 20:
                wrong.append((name, e))
        except Exception as e:
            wrong.append((name, e))
        else:
            if name not in accepted:
                wrong.append((name, "accepted"))
    assert wrong == []


def test_errors_are_those_of_python_too(tools, tmp_path):
    with pytest.raises(TypeError, match=r"SessionOptions.intra_op_num_threads is a whole number, not str 'a'"):
        sardonyx.SessionOptions().intra_op_num_threads = "a"
    with pytest.raises(ValueError, match="providers"):
        sardonyx.InferenceSession(tools.model, providers=3)
    with pytest.raises(MemoryError, match=r"float32\[1000000000000000\] would take 4,000,000,000,000,000 bytes") as caught:
        sardonyx.OrtValue.ortvalue_from_shape_and_type([10**15])
    assert isinstance(caught.value, OutOfMemory)
    with pytest.raises(OSError, match="No such file") as missing:
        Profile().save(tmp_path / "no" / "such.json")
    assert (missing.value.filename, type(missing.value)) == (str(tmp_path / "no" / "such.json"), UnwritableFile)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is full")
def test_a_profile_on_a_full_disk():
    with pytest.raises(UnwritableFile, match="cannot write '/dev/full': No space left on device"):
        Profile().save("/dev/full")


def test_a_profile_that_cannot_be_written_can_be_written_later(tools, tmp_path):
    options = sardonyx.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, "folder/"
    session = sardonyx.InferenceSession(tools.model, options)
    session.run(None, FEEDS)
    with pytest.raises(UnwritableFile, match="No such file or directory"):
        session.end_profiling()
    (tmp_path / "folder").mkdir()
    assert Path(session.end_profiling()).exists()


def test_options_without_effect_are_warned_of(tools, caplog):
    options = sardonyx.SessionOptions()
    options.add_free_dimension_override_by_name("nn", 3)
    options.add_free_dimension_override_by_denotation("BATCH", 3)
    options.intra_op_num_threads = 1 << 20
    with caplog.at_level("WARNING", "sardonyx"):
        sardonyx.InferenceSession(tools.model, options, providers=["cpu"])
    said = [r.getMessage() for r in caplog.records]
    assert len(said) == 3
    assert "'nn'; did you mean 'n'?" in said[0]
    assert "denotation 'BATCH'" in said[1]
    assert "intra_op_num_threads is 1048576" in said[2]
    caplog.clear()
    options = sardonyx.SessionOptions()
    options.add_free_dimension_override_by_name("n", 3)
    with caplog.at_level("WARNING", "sardonyx"):
        session = sardonyx.InferenceSession(tools.model, options, providers=["cpu"])
    assert (session.get_inputs()[0].shape, caplog.records) == ([3, 2], [])


def test_what_is_newer_than_known_is_warned_of(make_model, caplog):
    model = make_model([helper.make_node("Relu", ["x"], ["y"])], ["x"], ["y"], opset=999)
    model.opset_import.add(domain="ai.onnx.ml", version=99)
    with caplog.at_level("WARNING", "sardonyx"):
        session = sardonyx.InferenceSession(model, providers=["cpu"])
        session.run(["y"], {"x": np.ones(2, np.float32)})
    said = [r.getMessage() for r in caplog.records]
    assert ["version 999 of the operator set 'ai.onnx'" in said[0], "version 99 of the operator set 'ai.onnx.ml'" in said[1]] == [
        True,
        True,
    ]
    assert len(said) == 2


def test_unknown_names_are_told_with_what_is_near(tools):
    for given, text in (("fold_constant", "did you mean 'fold_constants'"), ("xyzzy", "explain --passes")):
        with pytest.raises(InvalidInput, match=text):
            sardonyx.InferenceSession(tools.model, disabled_optimizers=[given])
    with pytest.raises(InvalidType, match="no argument 'disabled_optimizer'; did you mean 'disabled_optimizers'"):
        sardonyx.InferenceSession(tools.model, disabled_optimizer=["fold_constants"])
    with pytest.raises(AttributeError, match="RunOptions has no option 'log_level'"):
        sardonyx.RunOptions().log_level = 1
    sardonyx.InferenceSession(tools.model, disabled_optimizers=["fold_constants"], enable_fallback=0)


def test_lists_of_different_lengths_and_providers_named_twice(tools):
    options = sardonyx.SessionOptions()
    for call in (
        lambda: options.add_external_initializers(["a"], []),
        lambda: options.add_external_initializers_from_files_in_memory(["a"], [b"x"], [1, 2]),
        lambda: options.add_external_initializers_from_files_in_memory(["a"], [b"x"], [2]),
        lambda: sardonyx.InferenceSession(tools.model, providers=["cpu"], provider_options=[{}, {}]),
        lambda: sardonyx.InferenceSession(tools.model, provider_options=[{"a": 1}]),
        lambda: sardonyx.InferenceSession(tools.model, providers=["native", "cpu", ("cpu", {"a": 1})]),
    ):
        with pytest.raises(InvalidInput):
            call()


def test_options_are_kept_as_they_are_given(tools):
    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = np.int64(3)
    options.graph_optimization_level = 1
    options.optimized_model_filepath = ""
    options.assign = given = {"add": "cpu"}
    options.disabled_optimizers = ["fold_constants"]
    assert (type(options.intra_op_num_threads), options.threads, options.level) == (int, 3, "basic")
    assert (options.assign, options.disabled_optimizers) == (given, {"fold_constants"})
    options.assign["add"] = 3
    with pytest.raises(InvalidType, match="the provider of 'add'"):
        sardonyx.InferenceSession(tools.model, options)

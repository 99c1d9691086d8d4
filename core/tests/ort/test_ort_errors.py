"""What is wrong raises the same type of exception as in onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto, helper

X = np.ones((3, 2), np.float32)
FEEDS = {"x": X, "y": X}

CREATION = {
    "no file": ("NoSuchFile", lambda ort, add: ort.InferenceSession("/no/such/file.onnx")),
    "a folder": ("InvalidProtobuf", lambda ort, add: ort.InferenceSession("/")),
    "not a model": ("InvalidProtobuf", lambda ort, add: ort.InferenceSession(b"garbage123")),
    "empty": ("InvalidArgument", lambda ort, add: ort.InferenceSession(b"")),
    "truncated": ("InvalidProtobuf", lambda ort, add: ort.InferenceSession(add[:-20])),
    "None": (TypeError, lambda ort, add: ort.InferenceSession(None)),
    "an object": (TypeError, lambda ort, add: ort.InferenceSession(object())),
    "options of a wrong type": (TypeError, lambda ort, add: ort.InferenceSession(add, 5)),
    "an unknown provider": (RuntimeError, lambda ort, add: ort.InferenceSession(add, providers=["Foo"], enable_fallback=0)),
    "providers that are no sequence": (ValueError, lambda ort, add: ort.InferenceSession(add, providers=iter([]), enable_fallback=0)),
    "a provider that is no name": (ValueError, lambda ort, add: ort.InferenceSession(add, providers=[1], enable_fallback=0)),
    "too many options": (
        ValueError,
        lambda ort, add: ort.InferenceSession(add, providers=["CPUExecutionProvider"], provider_options=[{}, {}], enable_fallback=0),
    ),
    "options twice": (
        ValueError,
        lambda ort, add: ort.InferenceSession(add, providers=[("CPUExecutionProvider", {})], provider_options=[{}], enable_fallback=0),
    ),
    "options that are no dict": (
        ValueError,
        lambda ort, add: ort.InferenceSession(add, providers=["CPUExecutionProvider"], provider_options=[1], enable_fallback=0),
    ),
}

RUNS = {
    "a missing input": (ValueError, lambda s, ort: s.run(None, {"x": X})),
    "no input": (ValueError, lambda s, ort: s.run(None, {})),
    "an unknown input": ("InvalidArgument", lambda s, ort: s.run(None, {**FEEDS, "q": X})),
    "feeds in a list": (AttributeError, lambda s, ort: s.run(None, [X, X])),
    "a wrong dtype": ("InvalidArgument", lambda s, ort: s.run(None, {"x": X.astype("f8"), "y": X})),
    "a wrong rank": ("InvalidArgument", lambda s, ort: s.run(None, {"x": X[0], "y": X})),
    "a wrong dimension": ("InvalidArgument", lambda s, ort: s.run(None, {"x": X[:, :1], "y": X})),
    "text for a tensor": (RuntimeError, lambda s, ort: s.run(None, {"x": "a", "y": X})),
    "shapes that do not broadcast": ("Fail", lambda s, ort: s.run(None, {"x": X, "y": X[:2]})),
    "an unknown output": ("InvalidArgument", lambda s, ort: s.run(["nope"], FEEDS)),
    "a name for the outputs": (TypeError, lambda s, ort: s.run("z", FEEDS)),
    "run options of a wrong type": (TypeError, lambda s, ort: s.run(None, FEEDS, 5)),
    "arrays for OrtValues": (AttributeError, lambda s, ort: s.run_with_ort_values(None, FEEDS)),
    "a missing OrtValue": (ValueError, lambda s, ort: s.run_with_ort_values(None, {"x": ort.OrtValue.ortvalue_from_numpy(X)})),
    "a missing input, later": (ValueError, lambda s, ort: s.run_async(None, {"x": X}, print, None)),
    "an unknown provider": (RuntimeError, lambda s, ort: s.set_providers(["Foo"])),
    "assignments not recorded": ("Fail", lambda s, ort: s.get_provider_graph_assignment_info()),
}


def assert_raised(error, kind, state):
    """One of onnxruntime's own is raised itself; one of Python's may be one of Sardonyx's as well."""
    if isinstance(kind, str):
        assert type(error) is getattr(state, kind), error
    else:
        assert isinstance(error, kind), error


@pytest.mark.filterwarnings("ignore:Specified provider")
@pytest.mark.parametrize("case", CREATION)
def test_sessions_that_cannot_be_made(case, ort, state, add):
    kind, call = CREATION[case]
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call(ort, add)
    assert_raised(caught.value, kind, state)


@pytest.mark.filterwarnings("ignore:Specified provider")
@pytest.mark.parametrize("case", RUNS)
def test_runs_that_fail(case, ort, state, add):
    kind, call = RUNS[case]
    session = ort.InferenceSession(add)
    with pytest.raises(Exception) as caught:  # noqa: PT011
        call(session, ort)
    assert_raised(caught.value, kind, state)


def test_models_with_faults(ort, state, make):
    def session(*nodes, **kwargs):
        return lambda: ort.InferenceSession(make(nodes, ["x"], ["z"], **kwargs))

    mine = [helper.make_opsetid("mine", 1)]
    with pytest.raises(state.InvalidGraph):
        session(helper.make_node("Foo", ["x"], ["z"]))()
    with pytest.raises(state.InvalidGraph):
        session(helper.make_node("Neg", ["x"], ["z"], foo=1))()
    with pytest.raises(state.Fail):
        session(helper.make_node("Foo", ["x"], ["z"], domain="mine"), domains=mine)()
    with pytest.raises((state.InvalidGraph, state.Fail)):
        session(helper.make_node("Add", ["x", "b"], ["z"]), helper.make_node("Neg", ["z"], ["b"]))()
    with pytest.raises((state.InvalidGraph, state.InvalidArgument)):
        session(helper.make_node("Add", ["x", "nowhere"], ["z"]))()


def test_errors_say_their_status(ort, state, add):
    with pytest.raises(state.NoSuchFile, match=r"^\[ONNXRuntimeError\] : 3 : NO_SUCHFILE : Load model from nope.onnx failed"):
        ort.InferenceSession("nope.onnx")
    with pytest.raises(state.InvalidArgument, match=r"^\[ONNXRuntimeError\] : 2 : INVALID_ARGUMENT : "):
        ort.InferenceSession(add).run(["nope"], FEEDS)


def test_exceptions_derive_from_exception_alone(state):
    for name in ("Fail", "InvalidArgument", "NoSuchFile", "InvalidGraph", "EPFail", "NotImplemented", "DeviceReset"):
        assert getattr(state, name).__bases__ == (Exception,)


def test_a_run_is_ended_by_its_options(ort, state, add):
    session, options = ort.InferenceSession(add), ort.RunOptions()
    options.terminate = True
    with pytest.raises(state.Fail):
        session.run(None, FEEDS, options)
    options.terminate = False
    np.testing.assert_array_equal(session.run(None, FEEDS, options)[0], X + X)


def test_options_refuse_what_they_do_not_have(ort):
    options = ort.SessionOptions()
    with pytest.raises(AttributeError):
        options.no_such_option = 1
    with pytest.raises(TypeError):
        options.intra_op_num_threads = "two"
    with pytest.raises(RuntimeError):
        options.get_session_config_entry("not set")
    with pytest.raises(RuntimeError):
        ort.RunOptions().get_run_config_entry("not set")
    with pytest.raises(RuntimeError):
        options.add_initializer("w", X)
    with pytest.raises(RuntimeError):
        options.add_provider("Foo", {})


def test_bindings_fail_as_runtime_errors(ort, add):
    session = ort.InferenceSession(add)
    binding = session.io_binding()
    with pytest.raises(RuntimeError):
        binding.bind_cpu_input("nope", X)
    with pytest.raises(RuntimeError):
        binding.bind_cpu_input("x", [1])
    with pytest.raises(ValueError, match="element_type"):
        binding.bind_output("z", "cpu", 0, buffer_ptr=1)
    with pytest.raises(Exception, match="Unsupported device type"):
        binding.bind_output("z", "abacus")
    binding.bind_cpu_input("x", X)
    binding.bind_output("z")
    with pytest.raises(RuntimeError):
        session.run_with_iobinding(binding)
    binding.bind_cpu_input("y", X)
    binding.clear_binding_outputs()
    with pytest.raises(RuntimeError):
        session.run_with_iobinding(binding)
    binding.bind_ortvalue_output("z", ort.OrtValue.ortvalue_from_shape_and_type([3, 2], np.float64))
    with pytest.raises(RuntimeError):
        session.run_with_iobinding(binding)
    with pytest.raises(ValueError, match="session"):
        ort.InferenceSession(add).run_with_iobinding(binding)


def test_values_fail_as_runtime_errors(ort):
    made = ort.OrtValue.ortvalue_from_numpy(X.copy())
    for call in (
        lambda: ort.OrtValue.ortvalue_from_numpy([1.0]),
        lambda: ort.OrtValue.ortvalue_from_numpy(np.array(["a"])),
        lambda: ort.OrtValue.ortvalue_from_numpy(X, "cuda", 0),
        lambda: ort.OrtValue.ortvalue_from_numpy_with_onnx_type(X, TensorProto.BFLOAT16),
        lambda: made.update_inplace(X[:1]),
        made.as_sparse_tensor,
    ):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(TypeError):
        made.update_inplace([1])
    with pytest.raises(ValueError, match="OrtValue"):
        ort.OrtValue(5)
    with pytest.raises(ValueError, match="OrtDevice"):
        ort.OrtDevice(1)


def test_a_sequence_is_typed(ort, make):
    out = helper.make_tensor_sequence_value_info("z", TensorProto.FLOAT, None)
    session = ort.InferenceSession(make([helper.make_node("SequenceConstruct", ["x", "x"], ["z"])], ["x"], [out]))
    assert session.get_outputs()[0].type == "seq(tensor(float))"
    with pytest.raises(Exception, match="INVALID_ARGUMENT"):
        session.run(None, {"x": np.ones(2)})

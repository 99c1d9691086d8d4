import pickle

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.errors import InvalidInput, InvalidModel, NodeError

X = np.arange(4, dtype=np.float32)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op.lower()}_{outputs[0]}", **attributes)


@pytest.fixture
def model(make_model):
    """y = sqrt(x * w + x), with internal tensors p and s."""
    nodes = [node("Mul", ["x", "w"], ["p"]), node("Add", ["p", "x"], ["s"]), node("Sqrt", ["s"], ["y"])]
    return make_model(nodes, ["x"], ["y"], {"w": np.full(4, 3, np.float32)})


def open_session(model, options=None):
    return sardonyx.InferenceSession(model, options, providers=["cpu"])


@pytest.mark.parametrize("form", ["path", "str", "bytes", "proto"])
def test_a_model_in_every_form(model, tmp_path, form):
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    source = {"path": path, "str": str(path), "bytes": path.read_bytes(), "proto": model}[form]
    np.testing.assert_array_equal(open_session(source).run(None, {"x": X})[0], 2 * np.sqrt(X))


def test_what_the_session_says_of_the_model(model):
    model.producer_name, model.model_version, model.doc_string = "someone", 7, "a test"
    helper.set_model_props(model, {"key": "value"})
    session = open_session(model)
    (x,), (y,) = session.get_inputs(), session.get_outputs()
    assert (x.name, x.type, x.shape) == ("x", "tensor(float)", ["n"])
    assert y.name == "y"
    meta = session.get_modelmeta()
    assert (meta.producer_name, meta.version, meta.description, meta.graph_name) == ("someone", 7, "a test", "g")
    assert meta.custom_metadata_map == {"key": "value"}
    assert session.get_providers() == ["cpu"]
    assert [phase for phase, _ in session.load_report] == ["load", "optimize", "compile"]


@pytest.mark.parametrize(
    ("feed", "message"),
    [
        ({}, "Required inputs (['x']) are missing"),
        ({"x": X, "z": X}, "no input 'z'"),
        ({"z": X}, "Required inputs (['x']) are missing"),
        ({"x": X.astype(np.float64)}, "tensor(double); the model wants tensor(float)"),
        ({"x": X[None]}, "shape [1, 4] (rank 2); the model wants [n]"),
        ({"x": "text"}, "str is not a tensor"),
        ({"x": None}, "NoneType is not a tensor"),
        ({"x": [[1.0], [1.0, 2.0]]}, "not a tensor"),
        ([X], "feeds are a dict"),
    ],
)
def test_wrong_feeds(model, feed, message):
    import re

    with pytest.raises(InvalidInput, match=re.escape(message)):
        open_session(model).run(None, feed)


def test_feeds_that_need_a_conversion(model):
    session = open_session(model)
    for feed in ([0, 1, 2, 3], [0.0, 1.0, 2.0, 3.0], X.astype(">f4"), np.repeat(X, 2)[::2], sardonyx.OrtValue.ortvalue_from_numpy(X)):
        np.testing.assert_array_equal(session.run(None, {"x": feed})[0], 2 * np.sqrt(X))


def test_outputs_are_the_callers_own(make_model):
    nodes = [
        node("Identity", ["x"], ["same"]),
        node("Transpose", ["m"], ["view"]),
        node("Identity", ["w"], ["constant"]),
        node("Neg", ["x"], ["a"]),
    ]
    nodes.append(node("Identity", ["a"], ["b"]))
    m = helper.make_tensor_value_info("m", TensorProto.FLOAT, [2, 3])
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("same", "view", "constant", "a", "b")]
    w = np.ones(4, np.float32)
    session = open_session(make_model(nodes, ["x", m], outputs, {"w": w}))
    feeds = {"x": X.copy(), "m": np.arange(6, dtype=np.float32).reshape(2, 3)}
    first = session.run(None, feeds)
    for i, y in enumerate(first):
        assert y.flags.writeable
        assert y.flags.c_contiguous
        assert not any(np.shares_memory(y, f) for f in feeds.values())
        assert not any(np.shares_memory(y, other) for other in first[:i])
    kept = [y.copy() for y in first]
    for y in first:
        y[...] = -99
    np.testing.assert_array_equal(feeds["x"], X)
    for y, expected in zip(session.run(None, feeds), kept, strict=True):
        np.testing.assert_array_equal(y, expected)


def test_read_only_and_strided_feeds_are_left_alone(model):
    x = np.arange(8, dtype=np.float32)[::2]
    x.flags.writeable = False
    before = x.copy()
    np.testing.assert_array_equal(open_session(model).run(None, {"x": x})[0], 2 * np.sqrt(x))
    np.testing.assert_array_equal(x, before)


def test_outputs_by_name_internal_ones_included(model):
    session = open_session(model)
    np.testing.assert_array_equal(session.run(["p"], {"x": X})[0], 3 * X)
    y, s, again = session.run(["y", "s", "y"], {"x": X})
    np.testing.assert_array_equal(s, 4 * X)
    np.testing.assert_array_equal(y, again)
    assert not np.shares_memory(y, again)
    np.testing.assert_array_equal(session.run(["w"], {"x": X})[0], np.full(4, 3, np.float32))
    assert [o.name for o in session.get_outputs()] == ["y"]
    with pytest.raises(InvalidInput, match=r"no tensor 'nope'; its outputs are \['y'\]"):
        session.run(["nope"], {"x": X})


def test_options_that_change_later_do_not_change_the_session(make_model):
    """Internal tensors need another compilation: by the options as they were."""
    model = make_model([node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["y"])], ["x"], ["y"])
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = sardonyx.InferenceSession(model, options, providers=["cpu"])
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.assign["Neg"] = "nobody"
    np.testing.assert_array_equal(session.run(["a"], {"x": X})[0], -X)
    assert session.get_session_options() is options


def test_an_internal_tensor_survives_the_optimizer(make_model):
    """The middle of a decomposed Softplus-like chain that a pass may fuse is still there when asked for."""
    nodes = [node("Erf", ["x"], ["e"]), node("Add", ["e", "one"], ["f"]), node("Mul", ["x", "f"], ["g"]), node("Mul", ["g", "half"], ["y"])]
    session = open_session(make_model(nodes, ["x"], ["y"], {"one": np.float32(1), "half": np.float32(0.5)}))
    y = session.run(None, {"x": X})[0]
    f, same = session.run(["f", "y"], {"x": X})
    np.testing.assert_allclose(same, y, rtol=1e-6)
    np.testing.assert_allclose(f * X / 2, y, rtol=1e-6)


def test_only_the_last_few_extra_plans_are_kept(make_model):
    nodes = [node("Neg", [f"v{i}" if i else "x"], [f"v{i + 1}"]) for i in range(12)]
    session = open_session(make_model(nodes, ["x"], ["v12"]))
    for i in range(1, 12):
        np.testing.assert_array_equal(session.run([f"v{i}"], {"x": X})[0], X * (-1) ** i)
    assert len(session._extra) == 8


def test_a_pickled_session_is_the_same(model, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    options = sardonyx.SessionOptions()
    options.intra_op_num_threads = 1
    for source in (str(path), path.read_bytes(), model):
        data = pickle.dumps(open_session(source, options))
        copy = pickle.loads(data)
        np.testing.assert_array_equal(copy.run(None, {"x": X})[0], 2 * np.sqrt(X))
        assert copy.get_session_options().intra_op_num_threads == 1
        assert copy.get_providers() == ["cpu"]
    assert len(pickle.dumps(open_session(str(path), options))) < 1500


def test_a_default_of_an_input_may_be_overridden(make_model):
    w = helper.make_tensor_value_info("w", TensorProto.FLOAT, [4])
    session = open_session(make_model([node("Add", ["x", "w"], ["y"])], ["x", w], ["y"], {"w": np.full(4, 3, np.float32)}))
    assert [a.name for a in session.get_inputs()] == ["x"]
    assert [a.name for a in session.get_overridable_initializers()] == ["w"]
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], X + 3)
    np.testing.assert_array_equal(session.run(None, {"x": X, "w": X})[0], X + X)


def test_an_initializer_may_be_replaced(model):
    options = sardonyx.SessionOptions()
    options.add_initializer("w", np.zeros(4, np.float32))
    np.testing.assert_array_equal(open_session(model, options).run(None, {"x": X})[0], np.sqrt(X))
    for name, value, message in (("nope", X, "no initializer 'nope'"), ("w", np.zeros(5, np.float32), r"float32\[4\]; .* float32\[5\]")):
        options = sardonyx.SessionOptions()
        options.add_initializer(name, value)
        with pytest.raises(InvalidInput, match=message):
            open_session(model, options)


def test_a_free_dimension_may_be_fixed(model):
    options = sardonyx.SessionOptions()
    options.add_free_dimension_override_by_name("n", 4)
    session = open_session(model, options)
    assert session.get_inputs()[0].shape == [4]
    with pytest.raises(InvalidInput, match=r"\[3\]; the model wants \[4\]"):
        session.run(None, {"x": X[:3]})


def external(model, tmp_path):
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


def test_external_data_beside_the_file(model, tmp_path):
    path = external(model, tmp_path)
    np.testing.assert_array_equal(open_session(str(path)).run(None, {"x": X})[0], 2 * np.sqrt(X))


def test_external_data_in_memory(model, tmp_path):
    path = external(model, tmp_path)
    weights = (tmp_path / "weights.bin").read_bytes()
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(InvalidModel, match=r"'weights\.bin' cannot be read"):
        open_session(str(path))
    with pytest.raises(InvalidModel, match="the model was given as bytes"):
        open_session(path.read_bytes())
    options = sardonyx.SessionOptions()
    options.add_external_initializers_from_files_in_memory(["weights.bin"], [weights], [len(weights)])
    np.testing.assert_array_equal(open_session(path.read_bytes(), options).run(None, {"x": X})[0], 2 * np.sqrt(X))
    # The length is in bytes, whatever the buffer's elements are.
    options = sardonyx.SessionOptions()
    buffer = np.frombuffer(weights + bytes(8), np.float32)
    options.add_external_initializers_from_files_in_memory(["weights.bin"], [buffer], [len(weights)])
    assert options._external["weights.bin"] == weights
    np.testing.assert_array_equal(open_session(path.read_bytes(), options).run(None, {"x": X})[0], 2 * np.sqrt(X))


def test_external_data_may_not_leave_the_folder(model, tmp_path):
    path = external(model, tmp_path)
    (tmp_path / "inner").mkdir()
    inner = tmp_path / "inner" / "model.onnx"
    proto = onnx.load(path, load_external_data=False)
    for location in ("../weights.bin", str(tmp_path / "weights.bin")):
        next(e for e in proto.graph.initializer[0].external_data if e.key == "location").value = location
        inner.write_bytes(proto.SerializeToString())
        with pytest.raises(InvalidModel, match="outside the model's folder"):
            open_session(str(inner))


def test_the_optimized_model_is_written(model, tmp_path):
    options = sardonyx.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    open_session(model, options)
    np.testing.assert_array_equal(open_session(options.optimized_model_filepath).run(None, {"x": X})[0], 2 * np.sqrt(X))


def test_a_failing_node_is_named_with_its_inputs(make_model):
    value = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["m"])
    session = open_session(make_model([node("Neg", ["x"], ["a"]), node("Add", ["a", "z"], ["y"])], ["x", value], ["y"]))
    with pytest.raises(NodeError) as e:
        session.run(None, {"x": X, "z": X[:3]})
    text = str(e.value)
    assert "'add_y' (Add-14)" in text
    assert "float32[4], from 'neg_a'" in text
    assert "float32[3], an input" in text
    assert (e.value.node, e.value.op) == ("add_y", "Add")


def test_bfloat16_at_the_border(make_model):
    x, y = (helper.make_tensor_value_info(n, TensorProto.BFLOAT16, [4]) for n in "xy")
    session = open_session(make_model([node("Neg", ["x"], ["y"])], [x], [y], opset=22))
    out = session.run(None, {"x": X.astype(ml_dtypes.bfloat16)})[0]
    assert out.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(out.astype(np.float32), -X)


def test_threads_may_share_a_session(model):
    from concurrent.futures import ThreadPoolExecutor

    session = open_session(model)
    feeds = [X + i for i in range(40)]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda x: session.run(["y", "p"], {"x": x}), feeds))
    for x, (y, p) in zip(feeds, results, strict=True):
        np.testing.assert_array_equal(y, 2 * np.sqrt(x))
        np.testing.assert_array_equal(p, 3 * x)


def test_providers_must_be_a_list(model):
    with pytest.raises(InvalidInput, match=r"e\.g\. \['cpu'\]"):
        sardonyx.InferenceSession(model, providers="cpu")


class Unwilling:
    """A tensor of another library that does not become an array, as torch's does not while it requires a gradient."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("call detach() first")


@pytest.mark.parametrize(("x", "message"), [(Unwilling(), "Unwilling.*detach"), ([0.0, 1.0, 2.0, 1e300], "does not fit float")])
def test_feeds_that_do_not_become_the_array(model, x, message):
    with pytest.raises(InvalidInput, match=message):
        open_session(model).run(None, {"x": x})


def test_infinity_in_a_list_is_no_overflow(model):
    np.testing.assert_array_equal(open_session(model).run(None, {"x": [0.0, 1.0, 4.0, float("inf")]})[0], [0, 2, 4, np.inf])


def test_options_of_another_type(model):
    with pytest.raises(InvalidInput, match=r"sess_options is a SessionOptions.*int"):
        open_session(model, 7)
    with pytest.raises(InvalidInput, match=r"run_options is a RunOptions.*dict"):
        open_session(model).run(None, {"x": X}, {})


def test_elements_of_a_sequence_that_is_fed_are_copied(make_model):
    sequence = onnx.helper.make_tensor_sequence_value_info
    nodes = [onnx.helper.make_node("SequenceAt", ["s", "i"], ["y"]), onnx.helper.make_node("Identity", ["s"], ["t"])]
    inputs = [sequence("s", TensorProto.FLOAT, None), onnx.helper.make_tensor_value_info("i", onnx.TensorProto.INT64, [])]
    session = sardonyx.InferenceSession(make_model(nodes, inputs, ["y", sequence("t", TensorProto.FLOAT, None)]), providers=["cpu"])
    base = np.zeros(6, np.float32)
    given = [np.ones(3, np.float32), base[:2]]
    for i in (0, 1):
        y, t = session.run(None, {"s": given, "i": np.array(i)})
        np.testing.assert_array_equal(y, given[i])
        assert not any(np.shares_memory(a, b) for a in (y, *t) for b in given)
        assert not any(np.shares_memory(y, a) for a in t)

import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import SardonyxError


def i64(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("index", [np.int64, np.int32])
def test_gather(run, dtype, axis, index, numbers):
    x = numbers((5, 4, 6), dtype)
    for indices in [np.array([[3, -1], [0, 2]], index), np.array(-4, index), np.zeros((0, 2), index), np.array([1], index)]:
        np.testing.assert_array_equal(run("Gather", x, indices, axis=axis), x.take(indices, axis))
        np.testing.assert_array_equal(run("Gather", x, indices, fixed=(1,), axis=axis), x.take(indices, axis))


def test_gather_large(run, numbers):
    x, indices = numbers((2, 500, 300)), numbers((3, 100), np.int64, -500, 500)
    np.testing.assert_array_equal(run("Gather", x, indices, axis=1), x.take(indices, 1))


def test_gather_elements(run, dtype, numbers):
    x = numbers((3, 4, 5), dtype)
    for axis, shape in [(0, (6, 4, 5)), (1, (2, 7, 5)), (2, (3, 1, 2)), (-1, (3, 4, 0))]:
        indices = numbers(shape, np.int64, -x.shape[axis], x.shape[axis])
        run.same("GatherElements", x, indices, axis=axis)
        run.same("GatherElements", x, indices.astype(np.int32), axis=axis)


@pytest.mark.parametrize(
    ("batch", "shape"), [(0, (2, 3)), (0, (4, 1)), (0, (0, 2)), (1, (3, 2, 2)), (2, (3, 4, 1)), (0, (2, 2, 4)), (0, (5, 0))]
)
def test_gather_nd(run, dtype, batch, shape, numbers):
    x = numbers((3, 4, 3, 3), dtype)
    run.same("GatherND", x, numbers(shape, np.int64, -3, 3), batch_dims=batch)


@pytest.mark.parametrize("op", ["Gather", "GatherElements", "GatherND"])
@pytest.mark.parametrize("bad", [3, -4, 2**31, -(2**31)])
def test_index_out_of_range(run, op, bad, numbers):
    x = numbers((3, 3))
    indices = i64(0, bad).reshape((2, 1))
    with pytest.raises(SardonyxError, match=f"index {bad} is out of range.*allowed are -3 to 2"):
        run(op, x, indices)


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter(run, dtype, op, reduction, numbers):
    x = numbers((4, 5, 3), dtype, 0, 5)
    if op == "ScatterND":
        for shape in [(6, 1), (7, 2), (2, 2, 3), (0, 2)]:
            indices = numbers(shape, np.int64, -3, 3)
            run.same(op, x, indices, numbers((*shape[:-1], *x.shape[shape[-1] :]), dtype, 0, 4), reduction=reduction)
        return
    for axis, shape in [(0, (7, 2, 3)), (-1, (4, 5, 6)), (1, (1, 0, 3))]:
        indices = numbers(shape, np.int64, -x.shape[axis], x.shape[axis])
        run.same(op, x, indices, numbers(shape, dtype, 0, 4), axis=axis, reduction=reduction)


def test_scatter_keeps_nan(run):
    x, updates = np.array([1, np.nan, 3], np.float32), np.array([np.nan, 5, 2], np.float32)
    for reduction in ("max", "min"):
        got = run("ScatterElements", x, i64(0, 1, 2), updates, reduction=reduction)
        np.testing.assert_array_equal(got, [np.nan, np.nan, 3 if reduction == "max" else 2])


def test_scatter_of_halves_adds_in_float(run):
    """2048 + 1 + 1 is 2050 in float16 only if it is rounded once."""
    for half in (np.float16, ml_dtypes.bfloat16):
        top = 2048 if half == np.float16 else 256
        got = run("ScatterElements", np.array([top], half), i64(0, 0), np.array([1, 1], half), reduction="add")
        assert float(got[0]) == top + 2


def test_scatter_known_cases(run):
    data = np.array([[[0, 1], [2, 3]], [[4, 5], [6, 7]]], np.float32)
    got = run("ScatterND", data, i64(0, 0).reshape(1, 2), np.array([[100, 101]], np.float32))
    np.testing.assert_array_equal(got, [[[100, 101], [2, 3]], [[4, 5], [6, 7]]])
    assert run("ScatterND", np.array([1, 2, 3], np.float32), i64(1), np.array(5, np.float32)).tolist() == [1, 5, 3]
    with pytest.raises(SardonyxError, match="updates must have shape"):
        run("ScatterND", np.array([1, 2, 3], np.float32), i64(1), np.array([5], np.float32))
    with pytest.raises(SardonyxError, match="out of range"):
        run("ScatterElements", np.array([1, 2, 3], np.float32), i64(3), np.array([5], np.float32))


@pytest.mark.parametrize("mode", ["linear", "circular"])
def test_tensor_scatter(run, dtype, mode, numbers):
    cache, update = numbers((2, 3, 6, 4), dtype), numbers((2, 3, 2, 4), dtype)
    run.same("TensorScatter", cache, update, i64(1, 4), mode=mode)
    run.same("TensorScatter", cache, update, mode=mode)
    if mode == "circular":
        run.same("TensorScatter", cache, update, i64(5, 11), mode=mode)
    else:
        with pytest.raises(SardonyxError, match="exceed"):
            run("TensorScatter", cache, update, i64(0, 5), mode=mode)


@pytest.mark.parametrize(("batch", "time"), [(0, 1), (1, 0)])
def test_reverse_sequence(run, dtype, batch, time, numbers):
    x = numbers((4, 5, 2), dtype)
    lengths = i64(0, 3, 2, 1, 4)[: x.shape[batch]]
    run.same("ReverseSequence", x, lengths, batch_axis=batch, time_axis=time)
    with pytest.raises(SardonyxError, match="length"):
        run("ReverseSequence", x, lengths + 9, batch_axis=batch, time_axis=time)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_hot(run, dtype, axis, numbers):
    indices = i64(-1, 2, 0, -4, 5, 3).reshape(2, 3)
    run.same("OneHot", indices, i64(3), numbers((2,), dtype), axis=axis)
    run.same("OneHot", indices.astype(np.float32), np.float32(4).reshape(()), numbers((2,), dtype), axis=axis)


def test_updates_that_are_the_data_reshaped(run):
    """The data may not be overwritten while its own elements are still to be read as updates."""
    from onnx import TensorProto, helper

    import sardonyx

    nodes = [
        helper.make_node("Neg", ["x"], ["d"]),
        helper.make_node("Reshape", ["d", "s"], ["u"]),
        helper.make_node("ScatterElements", ["d", "i", "u"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4]), helper.make_tensor_value_info("i", TensorProto.INT64, [4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])],
        [helper.make_tensor("s", TensorProto.INT64, [1], [-1])],
    )
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    session = sardonyx.InferenceSession(model.SerializeToString(), options, providers=["native"])
    got = session.run(None, {"x": np.array([1, 2, 3, 4], np.float32), "i": i64(1, 2, 3, 0)})[0]
    assert got.tolist() == [-4, -1, -2, -3]

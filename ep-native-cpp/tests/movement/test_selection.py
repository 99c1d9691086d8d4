import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import SardonyxError

INF = np.inf


def i64(*values):
    return np.array(values, np.int64)


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_topk(run, dtype, largest, axis, numbers):
    if dtype.kind == "b":
        pytest.skip("TopK takes numbers")
    x = numbers((5, 7, 40), dtype, 0, 60)
    for k in (0, 1, 3, x.shape[axis]):
        run.same("TopK", x, i64(k), outputs=2, axis=axis, largest=largest)


@pytest.mark.parametrize("largest", [0, 1])
def test_topk_of_long_rows_with_ties(run, largest, numbers):
    for n, k, high in [(5000, 3, 10), (5000, 300, 4000), (2000, 1999, 50), (3000, 20, 1)]:
        run.same("TopK", numbers((3, n), np.float32, 0, high), i64(k), outputs=2, largest=largest)
    run.same("TopK", np.arange(4000)[::-1].astype(np.int64)[None], i64(10), outputs=2, largest=largest)


def test_topk_orders_special_values(run):
    x = np.array([0.0, -0.0, np.nan, INF, -INF, 1, np.nan, -1, 0.0], np.float32)
    assert run("TopK", x, i64(9), outputs=2)[1].tolist() == [2, 6, 3, 5, 0, 1, 8, 7, 4]
    assert run("TopK", x, i64(9), outputs=2, largest=0)[1].tolist() == [4, 7, 0, 1, 8, 5, 3, 2, 6]
    limits = np.array([2**63 - 1, -(2**63), 0, -1], np.int64)
    assert run("TopK", limits, i64(4), outputs=2)[1].tolist() == [0, 2, 3, 1]
    with pytest.raises(SardonyxError, match="K = 5"):
        run("TopK", limits, i64(5), outputs=2)


def test_non_zero(run, dtype, numbers):
    for shape in [(3, 4, 5), (9,), (), (0, 3), (2, 1)]:
        run.same("NonZero", numbers(shape, dtype, 0, 2))
    if dtype.kind == "f":
        x = np.array([0.0, -0.0, np.nan, -INF], dtype)
        assert run("NonZero", x).tolist() == [[2, 3]]


def test_compress(run, dtype, numbers):
    x = numbers((4, 3, 5), dtype)
    for axis, condition in [(0, [1, 0, 1, 1]), (1, [0, 1]), (-1, [0, 0, 0]), (2, [1, 1, 1, 1, 1, 1, 1])]:
        run.same("Compress", x, np.array(condition, bool), axis=axis)
    run.same("Compress", x, np.array([0, 1, 0, 0, 0, 1, 1], bool))


@pytest.mark.parametrize("ordered", [0, 1])
def test_unique(run, dtype, ordered, numbers):
    x = numbers((6, 4, 3), dtype, 0, 2)
    for axis in (0, 1, -1):
        run.same("Unique", x, outputs=4, axis=axis, sorted=ordered)
    run.same("Unique", numbers((40,), dtype, 0, 9), outputs=4, sorted=ordered)
    run.same("Unique", numbers((0,), dtype), outputs=4, sorted=ordered)


def test_unique_takes_nan_as_one_value(run):
    got = run("Unique", np.array([np.nan, 1, np.nan, -0.0, 0.0], np.float32), outputs=4)
    np.testing.assert_array_equal(got[0], np.array([0, 1, np.nan], np.float32))
    assert [g.tolist() for g in got[1:]] == [[3, 1, 0], [2, 1, 2, 0, 0], [2, 1, 2]]


@pytest.mark.parametrize("centered", [0, 1])
def test_non_max_suppression(run, centered):
    rng = np.random.default_rng(1)
    boxes, scores = rng.random((2, 60, 4)).astype(np.float32), rng.random((2, 3, 60)).astype(np.float32)
    scores[:, :, 10:20] = 0.5
    for most, overlap, least in [(5, 0.3, None), (100, 0.5, 0.4), (100, 0.0, None), (0, 0.5, None), (7, 1.0, 0.9), (9, 0.5, 2.0)]:
        limits = [i64(most), np.array([overlap], np.float32), None if least is None else np.array([least], np.float32)]
        run.same("NonMaxSuppression", boxes, scores, *limits, center_point_box=centered)
    assert run("NonMaxSuppression", boxes, scores).shape == (0, 3)
    with pytest.raises(SardonyxError, match="iou_threshold"):
        run("NonMaxSuppression", boxes, scores, i64(3), np.array([1.5], np.float32))


def test_shapes_that_follow_from_data(run):
    """What comes after NonZero is planned anew for each count."""
    from onnx import TensorProto, helper

    import sardonyx

    nodes = [
        helper.make_node("NonZero", ["x"], ["i"]),
        helper.make_node("Transpose", ["i"], ["t"]),
        helper.make_node("GatherND", ["x", "t"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "m"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["k"])],
    )
    options = sardonyx.SessionOptions()
    options.strict = True
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    session = sardonyx.InferenceSession(model.SerializeToString(), options, providers=["native"])
    for x in ([[0, 1], [2, 0]], [[0, 0], [0, 0]], [[1, 2], [3, 4]], [[0, 1], [2, 0]]):
        x = np.array(x, np.float32)
        assert session.run(None, {"x": x})[0].tolist() == x[x != 0].tolist()


def test_half_topk_values(run):
    x = np.array([1.5, -2, 3, 0.25], ml_dtypes.bfloat16)
    values, indices = run("TopK", x, i64(2), outputs=2)
    assert values.astype(np.float32).tolist() == [3, 1.5]
    assert indices.tolist() == [2, 0]

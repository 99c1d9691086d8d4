"""Rules of what moves, picks and puts elements, against finite differences."""

import numpy as np
import pytest


@pytest.mark.parametrize(
    "nodes",
    [
        "y = Reshape(x, s)",
        "y = Flatten<axis=2>(x)",
        "y = Transpose(x)",
        "y = Transpose<perm=[2, 0, 1]>(x)",
        "u = Unsqueeze(x, k) y = Squeeze(u, k)",
        "y = Expand(x, e)",
        "y = Tile(x, t)",
        "a, b = Split<axis=1, num_outputs=2>(x) y = Mul(a, a)",
        "a, b = Split<axis=-1>(x, z) d = Mul(a, a) y = Concat<axis=-1>(b, d, x)",
        "y = Concat<axis=0>(x)",
        "y = Trilu(x)",
        "y = Trilu<upper=0>(x, m)",
        "y = CumSum<reverse=1>(x, k)",
        "y = CumSum<exclusive=1>(x, k)",
        "y = Slice(x, z, e2, z)",
        "y = Slice(x, m, far, m, m)",
        "y = Gather(x, i)",
        "y = Gather<axis=-1>(x, i)",
        "y = GatherElements<axis=1>(x, j)",
        "y = GatherND(x, i)",
        "y = Compress<axis=1>(x, c)",
        "y = ReverseSequence<time_axis=0, batch_axis=1>(x, l)",
        "y, n = TopK<axis=1>(x, k)",
        "y, n = TopK<largest=0>(x, k)",
        "a, n = TopK<axis=-1>(x, k) f = Cast<to=11>(n) y = Mul(f, x)",
    ],
)
def test_movement(nodes, check, rng):
    weights = {
        "s": np.array([4, -1]),
        "k": np.array([1]),
        "e": np.array([2, 1, 4, 3]),
        "t": np.array([2, 1, 2]),
        "z": np.array([1, 2]),
        "m": np.array([-1]),
        "far": np.array([-9]),
        "e2": np.array([4, 3]),
        "i": np.array([[1, 0], [1, 1]]),
        "j": np.array([[[0, 1, 3]], [[2, 2, 2]]]),
        "c": np.array([True, False, True]),
        "l": np.array([2, 1, 2, 2]),
    }
    if "Trilu<" in nodes:
        weights["m"] = np.array(-1)
    if "CumSum" in nodes:
        weights["k"] = np.array(1)
    used = {k: v for k, v in weights.items() if k in nodes.replace("(", " ").replace(")", " ").replace(",", " ").split()}
    check(nodes, {"x": rng.standard_normal((2, 4, 3))}, weights=used)


def test_shapes_fed(check, rng):
    """Shapes that are inputs."""
    check("y = Reshape(x, s)", {"x": rng.standard_normal((2, 3)), "s": np.array([3, 2])})
    check("y = Expand(x, s)", {"x": rng.standard_normal((2, 1)), "s": np.array([3, 1, 2])})


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pad(mode, check, rng):
    x = {"x": rng.standard_normal((2, 3))}
    check(f'y = Pad<mode="{mode}">(x, p)', x, weights={"p": np.array([1, 2, 0, 1])})
    check("y = Pad(x, p, v, a)", {**x, "v": np.array(0.5)}, weights={"p": np.array([-1, 2]), "a": np.array([1])})


@pytest.mark.parametrize("node", ["DepthToSpace<blocksize=2>", 'DepthToSpace<blocksize=2, mode="CRD">', "SpaceToDepth<blocksize=2>"])
def test_blocks(node, check, rng):
    check(f"y = {node} (x)", {"x": rng.standard_normal((1, 4, 2, 2))})


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_scatter(reduction, check, rng):
    feeds = {"x": rng.standard_normal((3, 2)), "u": rng.standard_normal((2, 2))}
    twice = np.array([[0, 1], [0, 2]]) if reduction == "add" else np.array([[0, 1], [2, 0]])
    check(f'y = ScatterElements<reduction="{reduction}">(x, i, u)', feeds, weights={"i": twice})
    rows = np.array([[1], [1]]) if reduction == "add" else np.array([[2], [0]])
    check(f'y = ScatterND<reduction="{reduction}">(x, i, u)', feeds, weights={"i": rows})


AXES = [None, [0], [1, -1], []]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("op", ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Sum", "SumSquare"])
def test_reductions(op, axes, keepdims, check, rng):
    weights = {} if axes is None else {"a": np.array(axes, np.int64)}
    given = "x" if axes is None else "x, a"
    noop = op == "Sum" and axes == []
    node = f"Reduce{op}<keepdims={keepdims}, noop_with_empty_axes={int(noop)}>"
    check(f"y = {node}({given})", {"x": rng.uniform(0.5, 2, (2, 3, 2))}, weights=weights, second=axes == [0])


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMean", "ReduceMax"])
def test_reductions_by_fed_axes(op, check, rng):
    check(f"y = {op}<keepdims=0>(x, a)", {"x": rng.standard_normal((2, 3, 2)), "a": np.array([-1, 0])})


def test_equal_maxima_share(model_of, run):
    text = '(double[4] x) => (d) { y = ReduceMax(x) d = ai.onnx.preview.training.Gradient<xs=["x"], y="y">(x) }'
    np.testing.assert_array_equal(run(model_of(text), {"x": np.array([3.0, 1, 3, 2])})[0], [0.5, 0, 0.5, 0])

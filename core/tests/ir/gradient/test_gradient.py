"""What a Gradient node means: its names and values, where it may stand, and what is refused."""

import ml_dtypes
import numpy as np
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

import sardonyx
from sardonyx.errors import InvalidModel, NotSupported
from sardonyx.ir.load import load
from sardonyx.ir.save import to_proto
from sardonyx.ir.verify import verify

G = "ai.onnx.preview.training.Gradient"


def test_reuses_what_the_graph_computes(model_of):
    """Given the named tensors themselves, nothing is computed twice."""
    text = f'(double[2] a, double[2] b) => (d, da) {{ c = Exp(a) d = Mul(c, b) da = {G}<xs=["a"], zs=["b"], y="d">(a, b) }}'
    graph = load(model_of(text)).graph
    verify(graph)
    assert [n.op for n in graph.nodes].count("Exp") == 1


def test_origins(model_of):
    """New nodes come from the Gradient, and from the node they differentiate."""
    text = f'(double[2] a) => (y, d) {{ [forth] y = Exp(a) [back] d = {G}<xs=["a"], y="y">(a) }}'
    graph = load(model_of(text)).graph
    assert {n.origins for n in graph.nodes} == {("forth",), ("back",), ("back", "forth")}
    assert len({n.name for n in graph.nodes}) == len(graph.nodes)


def test_other_values(model_of, run):
    """The inputs, not the named tensors, are where the derivative is taken; what others read stays as it is."""
    text = (
        f'(double[2] a, double[2] b, double[2] p, double[2] q) => (y, da, db) {{ c = Exp(a) y = Mul(c, b) da, db = {G}<xs=["a", '
        f'"b"], y="y">(p, q) }}'
    )
    a, b, p, q = np.arange(8.0).reshape(4, 2) / 4
    y, da, db = run(model_of(text), {"a": a, "b": b, "p": p, "q": q})
    for got, want in ((y, np.exp(a) * b), (da, np.exp(p) * q), (db, np.exp(p))):
        np.testing.assert_allclose(got, want)


def test_values_that_are_named_too(model_of, run):
    """a and b change places, and b alone takes both: each occurrence counts for its own name."""
    text = (
        f'(double a, double b) => (da, db, ea) {{ c = Mul(a, a) y = Mul(c, b) da, db = {G}<xs=["a", "b"], y="y">(b, a) ea = '
        f'{G}<xs=["a"], zs=["b"], y="y">(b, b) }}'
    )
    got = run(model_of(text), {"a": np.array(2.0), "b": np.array(3.0)})
    assert [float(g) for g in got] == [12, 9, 18]


def test_value_computed_from_another_tensor(model_of, run):
    """A given value is a value: what it was computed from has no part in the derivative."""
    text = (
        f'(double x, double z) => (d) {{ w = Mul(x, x) u = Mul(x, x) v = Add(u, z) y = Mul(v, w) d = {G}<xs=["x"], zs=["z"], '
        f'y="y">(x, w) }}'
    )
    np.testing.assert_allclose(run(model_of(text), {"x": np.array(3.0), "z": np.array(0.0)})[0], 4 * 27 + 2 * 27)


def test_other_shapes(model_of, run):
    """Values of another shape than the named tensor has."""
    text = f'(double[2] a, double[3, 4] p) => (y, d) {{ y = ReduceMean<keepdims=0>(a) d = {G}<xs=["a"], y="y">(p) }}'
    _, d = run(model_of(text), {"a": np.ones(2), "p": np.ones((3, 4))})
    np.testing.assert_allclose(d, np.full((3, 4), 1 / 12))


def test_intermediate_tensor(model_of, run):
    """Differentiated by a tensor that the graph computes, everything before it is out of sight."""
    text = (
        f'(double w, double h1) => (d, e) {{ h = Exp(w) s = Mul(h, h) y = Mul(s, w) d = {G}<xs=["h"], zs=["w"], y="y">(h, w) e '
        f'= {G}<xs=["h"], zs=["w"], y="y">(h1, w) }}'
    )
    d, e = run(model_of(text), {"w": np.array(0.5), "h1": np.array(7.0)})
    np.testing.assert_allclose([d, e], [np.exp(0.5), 7.0])


def test_independent_tensors(model_of, run):
    """Zeros, of the shape of the value; ones for y by itself."""
    text = f'(double[N] a, double[2] b) => (da, db) {{ y = Exp(b) u = Identity(y) da, dy = {G}<xs=["a", "y"], y="y">(a, u) db = Neg(dy) }}'
    da, db = run(model_of(text), {"a": np.full(3, np.inf), "b": np.ones(2)})
    np.testing.assert_array_equal(da, np.zeros(3))
    np.testing.assert_array_equal(db, [-1, -1])


def test_unwanted_outputs(model_of, run):
    """An output without a name is skipped, and those at the end may be missing."""
    text = f'(double a, double b, double c) => (db) {{ p = Mul(a, b) y = Mul(p, c) , db = {G}<xs=["a", "b", "c"], y="y">(a, b, c) }}'
    proto = model_of(text.replace(" , db", " da, db"))
    proto.graph.node[-1].output[0] = ""
    assert run(proto, {"a": np.array(2.0), "b": np.array(3.0), "c": np.array(5.0)}) == [10]


def test_weights(model_of, run):
    """Initializers can be differentiated by, and given."""
    text = f'(double[2] x) => (dw, du) {{ p = Mul(x, w) y = Mul(p, w) dw = {G}<xs=["w"], y="y">(w) du = {G}<xs=["w"], y="y">(u) }}'
    for level in ("none", "all"):
        dw, du = run(model_of(text, w=np.array([1.0, 2]), u=np.array([3.0, 4])), {"x": np.array([1.0, 10])}, level)
        np.testing.assert_allclose([dw, du], [[2, 40], [6, 80]])


def test_third_derivative(model_of, run):
    """Gradients of gradients, as the operator's text has it."""
    text = f'(double[2] x) => (c) {{ y = Sin(x) a = {G}<xs=["x"], y="y">(x) b = {G}<xs=["x"], y="a">(x) c = {G}<xs=["x"], y="b">(x) }}'
    x = np.array([0.3, 1.2])
    for level in ("none", "all"):
        np.testing.assert_allclose(run(model_of(text), {"x": x}, level)[0], -np.cos(x))


def test_second_derivative_of_a_linear_model(model_of, run):
    """The example of the specification: (XW - L)**2, by W and X, then dO/dW by both."""
    text = (
        "(double[1, 2] X, double[2, 1] W, double[1, 1] L) => (dX, dW, ddX, ddW) { Y = Gemm(X, W) E = Sub(Y, L) O = Mul(E, E) "
        f'dX, dW = {G}<xs=["X", "W"], zs=["L"], y="O">(X, W, L) ddX, ddW = {G}<xs=["X", "W"], zs=["L"], y="dW">(X, W, L) }}'
    )
    x, w, l = np.array([[1.0, 2]]), np.array([[3.0], [4]]), np.array([[5.0]])
    got = run(model_of(text), {"X": x, "W": w, "L": l})
    e, s = (x @ w - l).item(), x.sum()
    for g, want in zip(got, (2 * e * w.T, 2 * e * x.T, 2 * e + 2 * s * w.T, 2 * s * x.T), strict=True):
        np.testing.assert_allclose(g, want)


def test_names_in_functions(run):
    """Within a function the names are those of its own inputs and tensors, whatever its callers call them."""
    text = f"""<ir_version: 10, opset_import: ["": 23, "own": 1, "ai.onnx.preview.training": 1]>
    g (double p, double q, double x) => (d1, d2) {{ d1 = own.slope(p) r = Mul(q, x) d2 = own.slope(r) }}
    <domain: "own", opset_import: ["": 23, "ai.onnx.preview.training": 1]>
    slope (x) => (d) {{ y = Mul(x, x) d = {G}<xs=["x"], y="y">(x) }}"""
    feeds = {k: np.array(v) for k, v in (("p", 2.0), ("q", 3.0), ("x", 4.0))}
    assert run(parser.parse_model(text), feeds) == [4, 24]


def test_within_bodies(model_of, run):
    """A body's Gradient sees the tensors around it; the Loop is gradient descent to the minimum of (w - 3)**2."""
    branch = (
        f'then_branch = g1 () => (double a) {{ a = {G}<xs=["x"], y="y">(x) }}, else_branch = g2 () => (double b) {{ z = Neg(y) '
        f'b = {G}<xs=["x"], y="z">(x) }}'
    )
    text = f"(double x, bool c) => (d) {{ y = Mul(x, x) d = If(c) <{branch}> }}"
    for c, want in ((True, 6), (False, -6)):
        assert run(model_of(text), {"x": np.array(3.0), "c": np.array(c)}) == [want]
    body = (
        f"body = g1 (int64 i, bool c, double w) => (bool k, double v) {{ k = Identity(c) e = Sub(w, t) y = Mul(e, e) s = "
        f'{G}<xs=["w"], y="y">(w) m = Mul(s, r) v = Sub(w, m) }}'
    )
    text = f"(double w0, double t) => (w1) {{ w1 = Loop(n, , w0) <{body}> }}"
    got = run(model_of(text, n=np.array(60), r=np.array(0.2)), {"w0": np.array(-5.0), "t": np.array(3.0)})
    np.testing.assert_allclose(got[0], 3.0)


def test_body_on_the_way(model_of, run):
    """A body that reads a tensor which changes place is evaluated again; that which x influences is refused."""
    body = "then_branch = g1 () => (double a) { a = Exp(z) }, else_branch = g2 () => (double b) { b = Identity(z) }"
    text = f'(double x, double z, double p, bool c) => (d) {{ f = If(c) <{body}> y = Mul(x, f) d = {G}<xs=["x"], zs=["z"], y="y">(x, p) }}'
    feeds = {"x": np.array(2.0), "z": np.array(9.0), "p": np.array(1.0)}
    for c, want in ((True, np.e), (False, 1.0)):
        np.testing.assert_allclose(run(model_of(text), {**feeds, "c": np.array(c)})[0], want)
    with pytest.raises(NotSupported, match="If"):
        load(model_of(text.replace('xs=["x"], zs=["z"]', 'xs=["z"], zs=["x"]').replace("(x, p)", "(p, x)")))


def test_old_forms(model_of, run):
    """What follows a Gradient is upgraded once its types are known: Softmax-11 works on rows of all dims but the first."""
    text = f'(double[2, 2, 2] x) => (s) {{ y = Exp(x) d = {G}<xs=["x"], y="y">(x) s = Softmax<axis=1>(d) }}'
    x = np.arange(8.0).reshape(2, 2, 2) / 8
    graph = load(model_of(text, opset=11)).graph
    assert all(n.op != "Softmax" or n.since >= 13 for n in graph.nodes)
    e = np.exp(np.exp(x).reshape(2, 4))
    np.testing.assert_allclose(run(model_of(text, opset=11), {"x": x})[0].reshape(2, 4), e / e.sum(1, keepdims=True))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_other_floats(dtype, model_of, run):
    names = {np.float16: "float16", np.float32: "float", ml_dtypes.bfloat16: "bfloat16"}
    text = f'({names[dtype]}[3] x) => (d) {{ a = Tanh(x) y = Mul(a, x) d = {G}<xs=["x"], y="y">(x) }}'
    x = np.array([0.5, -1, 2]).astype(dtype)
    (d,) = run(model_of(text), {"x": x})
    w = x.astype(np.float64)
    assert d.dtype == dtype
    np.testing.assert_allclose(d.astype(np.float64), np.tanh(w) + w * (1 - np.tanh(w) ** 2), rtol=8 * float(ml_dtypes.finfo(dtype).eps))


def test_saved_model_needs_no_gradient(model_of):
    """What is saved are plain nodes, which others run."""
    text = f'(double[2] x) => (y, d) {{ y = Sigmoid(x) d = {G}<xs=["x"], y="y">(x) }}'
    x = np.array([0.5, -1])
    y, d = map(np.asarray, ReferenceEvaluator(to_proto(load(model_of(text)), opset=17)).run(None, {"x": x}))
    np.testing.assert_allclose(d, y * (1 - y))


def test_assigned_with_the_node(model_of, run):
    """A name given to `assign` reaches the nodes that differentiate it."""
    text = f'(double[2] x) => (d) {{ [forth] y = Exp(x) [back] d = {G}<xs=["x"], y="y">(x) }}'
    pytest.importorskip("sardonyx_ep_cpu")
    placed = sardonyx.InferenceSession(model_of(text), providers=["cpu"]).explain().nodes
    assert {name for n in placed for name in n.origins} == {"forth", "back"}


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ('y = Det(x) d = GRAD<xs=["x"], y="y">(x)', ["'Det'", "no rule", "GRAD"]),
        ('y = Dropout(x, r, t) d = GRAD<xs=["x"], y="y">(x)', ["random"]),
        ('y = ReduceProd(x) d = GRAD<xs=["x"], y="y">(x)', ["ReduceProd"]),
        ('y = AveragePool<kernel_shape=[2], ceil_mode=1>(x) d = GRAD<xs=["x"], y="y">(x)', ["ceil_mode"]),
        ('y = Einsum<equation="aij->ij">(x) d = GRAD<xs=["x"], y="y">(x)', ["operand 0"]),
    ],
)
def test_refusals(nodes, words, model_of):
    """The node that cannot be differentiated is named, with the reason."""
    weights = {"r": np.float32(0.5), "t": np.array(True)}
    with pytest.raises(NotSupported) as caught:
        load(model_of(f"(double[2, 3, 3] x) => (d) {{ {nodes.replace('GRAD', G)} }}", **weights))
    for word in words:
        assert word.replace("GRAD", "Gradient") in str(caught.value)
    assert caught.value.nodes


def test_what_is_not_on_the_way_needs_no_rule(model_of, run):
    """A node without a rule does no harm where only its shape, or nothing at all, depends on x."""
    text = (
        f"(double[2, 2] x) => (d) {{ a = Det(x) b = Shape(a) c = Cast<to=11>(b) s = ReduceSum(c) y = Mul(x, s) z = Det(y) d = "
        f'{G}<xs=["x"], y="y">(x) }}'
    )
    assert run(model_of(text), {"x": np.eye(2)})[0].shape == (2, 2)


@pytest.mark.parametrize(
    ("node", "word"),
    [
        ('<xs=["x"], y="nothing">(x)', "'nothing'"),
        ('<xs=["nothing"], y="y">(x)', "'nothing'"),
        ('<xs=["x"], zs=["n"], y="y">(x)', "an input for each of the 2"),
        ('<xs=["x", "x"], y="y">(x, x)', "twice"),
        ('<xs=["n"], y="y">(n)', "floats"),
        ('<xs=["x"], y="y">(n)', "floats"),
        ('<xs=["d"], y="y">(x)', "cycle"),
        ('<xs=["x"]>(x)', "y is one"),
        ('<xs=3, y="y">(x)', "lists of names"),
        ('<xs=["x"], y="y", other=1>(x)', "other"),
    ],
)
def test_mistakes(node, word, model_of):
    with pytest.raises(InvalidModel, match=word):
        load(model_of(f"(double[2] x, int64[2] n) => (y, d) {{ y = Exp(x) d = {G}{node} }}"))


def test_too_many_outputs(model_of):
    with pytest.raises(InvalidModel, match="2 outputs for 1"):
        load(model_of(f'(double[2] x) => (y, d, e) {{ y = Exp(x) d, e = {G}<xs=["x"], y="y">(x) }}'))


def test_growth_is_bounded(model_of, monkeypatch):
    """Gradients of gradients grow by a factor each; there is an end."""
    from sardonyx.ir.gradient import tape

    monkeypatch.setattr(tape, "MAX_NODES", 200)
    nodes = "".join(f' d{i + 1} = {G}<xs=["x"], y="d{i}">(x)' for i in range(9))
    with pytest.raises(NotSupported, match="more than 200 nodes"):
        load(model_of(f"(double x) => (d9) {{ a = Tanh(x) d0 = Sin(a) {nodes} }}"))

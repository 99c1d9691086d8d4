"""RNN, GRU and LSTM against their equations, taken sequence by sequence and step by step in float64."""

import ml_dtypes
import numpy as np
import pytest
from scipy import special

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels

FUNCTIONS = {
    "Sigmoid": lambda x, a, b: special.expit(x),
    "Tanh": lambda x, a, b: np.tanh(x),
    "Relu": lambda x, a, b: np.maximum(x, 0),
    "Affine": lambda x, a, b: (1 if a is None else a) * x + (0 if b is None else b),
    "LeakyRelu": lambda x, a, b: np.where(x >= 0, x, (0.01 if a is None else a) * x),
    "ThresholdedRelu": lambda x, a, b: np.where(x >= (1 if a is None else a), x, 0),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "HardSigmoid": lambda x, a, b: np.clip((0.2 if a is None else a) * x + (0.5 if b is None else b), 0, 1),
    "Elu": lambda x, a, b: np.where(x >= 0, x, (1 if a is None else a) * np.expm1(np.minimum(x, 0))),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "Softplus": lambda x, a, b: np.logaddexp(0, x),
}
PLAIN = {"f": ("Sigmoid", None, None), "g": ("Tanh", None, None), "h": ("Tanh", None, None)}


def rnn_cell(x, state, w, r, b, act, clip):
    (h,) = state
    half = len(b) // 2
    return (act("g", clip(x @ w.T + h @ r.T + b[:half] + b[half:])),)


def gru_cell(x, state, w, r, b, act, clip, linear_before_reset=0):
    (h,) = state
    n = len(h)
    wz, wr, wh = w.reshape(3, n, -1)
    rz, rr, rh = r.reshape(3, n, n)
    wbz, wbr, wbh, rbz, rbr, rbh = b.reshape(6, n)
    z = act("f", clip(x @ wz.T + h @ rz.T + wbz + rbz))
    reset = act("f", clip(x @ wr.T + h @ rr.T + wbr + rbr))
    inner = reset * (h @ rh.T + rbh) if linear_before_reset else (reset * h) @ rh.T + rbh
    return ((1 - z) * act("g", clip(x @ wh.T + inner + wbh)) + z * h,)


def lstm_cell(x, state, w, r, b, act, clip, p=None, input_forget=0):
    h, c = state
    n = len(h)
    pi, po, pf = np.zeros((3, n)) if p is None else p.reshape(3, n)
    i, o, f, cell = (x @ w.T + h @ r.T + b[: 4 * n] + b[4 * n :]).reshape(4, n)
    i = act("f", clip(i + pi * c))
    f = 1 - i if input_forget else act("f", clip(f + pf * c))
    c = f * c + i * act("g", clip(cell))
    return act("f", clip(o + po * c)) * act("h", c), c


def exactly(cell, x, w, r, b, lengths, states, *, direction="forward", clip=None, functions=None, **options):
    """x (time, batch, size); states: one (directions, batch, hidden) per state. Returns Y and the final states."""
    names = ("forward", "reverse") if direction == "bidirectional" else (direction,)
    time, batch, _ = x.shape
    hidden = r.shape[-1]
    y = np.zeros((time, len(names), batch, hidden))
    finals = [np.zeros((len(names), batch, hidden)) for _ in states]
    for d, name in enumerate(names):
        table = (functions or [PLAIN] * len(names))[d]

        def act(key, v, table=table):
            kind, alpha, beta = table[key]
            return FUNCTIONS[kind](v, alpha, beta)

        for n in range(batch):
            length = time if lengths is None else lengths[n]
            state = tuple(s[d, n] for s in states)
            order = range(length) if name == "forward" else reversed(range(length))
            bound = (lambda v: v) if clip is None else (lambda v: np.clip(v, -clip, clip))
            for t in order:
                own = {k: v if v is None or k != "p" else v[d] for k, v in options.items()}
                state = cell(x[t, n], state, w[d], r[d], b[d], act, bound, **own)
                y[t, d, n] = state[0]
            for final, s in zip(finals, state, strict=True):
                final[d, n] = s if length else 0
    return y, *finals


TIME, BATCH, SIZE, HIDDEN = 5, 3, 4, 6
CELLS = {"RNN": (1, rnn_cell), "GRU": (3, gru_cell), "LSTM": (4, lstm_cell)}


def run(op, *inputs, since=14, **attributes):
    return kernels.find("", op, since).function(np, *inputs, **attributes)


def inputs_of(op, directions, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    gates = CELLS[op][0]
    shapes = (
        (TIME, BATCH, SIZE),
        (directions, gates * HIDDEN, SIZE),
        (directions, gates * HIDDEN, HIDDEN),
        (directions, 2 * gates * HIDDEN),
        *[(directions, BATCH, HIDDEN)] * (2 if op == "LSTM" else 1),
    )
    x, w, r, b, *states = ((rng.standard_normal(s) * 0.7).astype(dtype) for s in shapes)
    return x, w, r, b, states


def check(op, *, lengths=None, direction="forward", dtype=np.float64, rtol=1e-12, exact_options=None, **attributes):
    directions = 2 if direction == "bidirectional" else 1
    x, w, r, b, states = inputs_of(op, directions, dtype=dtype)
    lens = None if lengths is None else np.int32(lengths)
    p = attributes.pop("p", None)
    extra = [p] if op == "LSTM" else []
    before = [v.copy() for v in (x, w, r, b, *states)]
    got = run(op, x, w, r, b, lens, *states, *extra, direction=direction, hidden_size=HIDDEN, **attributes)
    for v, old in zip((x, w, r, b, *states), before, strict=True):
        np.testing.assert_array_equal(v, old)
    wide = [v.astype(np.float64) for v in (x, w, r, b)]
    options = dict(exact_options or {})
    for name in ("clip", "linear_before_reset", "input_forget"):
        if name in attributes:
            options[name] = attributes[name]
    if p is not None:
        options["p"] = p.astype(np.float64)
    exact = exactly(CELLS[op][1], *wide, lengths, [s.astype(np.float64) for s in states], direction=direction, **options)
    assert len(got) == len(exact)
    for value, right in zip(got, exact, strict=True):
        assert value.dtype == dtype
        np.testing.assert_allclose(value.astype(np.float64), right, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("op", CELLS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [None, [5, 2, 3], [0, 5, 1], [0, 0, 0]])
@pytest.mark.parametrize("clip", [None, 0.3])
def test_directions_lengths_and_clip(op, direction, lengths, clip):
    check(op, direction=direction, lengths=lengths, clip=clip)


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("clip", [None, 0.2])
def test_gru_that_multiplies_before_resetting(direction, clip):
    check("GRU", direction=direction, clip=clip, lengths=[2, 5, 1], linear_before_reset=1)


@pytest.mark.parametrize("input_forget", [0, 1])
@pytest.mark.parametrize("clip", [None, 0.3])
@pytest.mark.parametrize("peephole", [False, True])
def test_lstm_peepholes_and_coupled_gates(input_forget, clip, peephole):
    p = np.random.default_rng(1).standard_normal((2, 3 * HIDDEN)) if peephole else None
    check("LSTM", direction="bidirectional", input_forget=input_forget, clip=clip, p=p, lengths=[4, 5, 2])


@pytest.mark.parametrize(("dtype", "hidden"), [(np.float32, 1), (np.float64, 2)])
def test_gates_that_are_narrow_columns(dtype, hidden):
    rng = np.random.default_rng(2)
    shapes = ((1, 5, 2), (1, 4 * hidden, 2), (1, 4 * hidden, hidden), (1, 8 * hidden), (1, 5, hidden), (1, 5, hidden))
    x, w, r, b, h, c = (rng.standard_normal(shape).astype(dtype) for shape in shapes)
    got = run("LSTM", x, w, r, b, None, h, c, hidden_size=hidden, clip=2.0)
    exact = exactly(lstm_cell, *(v.astype(np.float64) for v in (x, w, r, b)), None, [h.astype(np.float64), c.astype(np.float64)], clip=2.0)
    for value, right in zip(got, exact, strict=True):
        np.testing.assert_allclose(value, right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "alpha", "beta"),
    [
        ("Relu", None, None),
        ("Affine", None, None),
        ("Affine", 0.7, 0.2),
        ("LeakyRelu", None, None),
        ("LeakyRelu", 0.3, None),
        ("ThresholdedRelu", None, None),
        ("ThresholdedRelu", 0.4, None),
        ("ScaledTanh", 0.8, 0.6),
        ("HardSigmoid", None, None),
        ("HardSigmoid", 0.3, 0.4),
        ("Elu", None, None),
        ("Elu", 0.5, None),
        ("Softsign", None, None),
        ("Softplus", None, None),
    ],
)
def test_activations(name, alpha, beta):
    attributes = {"activations": [name]}
    if alpha is not None:
        attributes["activation_alpha"] = [alpha]
    if beta is not None:
        attributes["activation_beta"] = [beta]
    check("RNN", exact_options={"functions": [{"g": (name, alpha, beta)}]}, **attributes)


def test_alphas_and_betas_are_used_up_in_order():
    functions = {"f": ("HardSigmoid", 0.3, 0.4), "g": ("Softsign", None, None), "h": ("ScaledTanh", 0.8, 0.9)}
    check(
        "LSTM",
        exact_options={"functions": [functions]},
        activations=["hardsigmoid", "softsign", "scaledtanh"],
        activation_alpha=[0.3, 0.8],
        activation_beta=[0.4, 0.9],
    )
    backward = {"f": ("Sigmoid", None, None), "g": ("LeakyRelu", 0.25, None)}
    check(
        "GRU",
        direction="bidirectional",
        exact_options={"functions": [PLAIN, backward]},
        activations=["Sigmoid", "Tanh", "Sigmoid", "LeakyRelu"],
        activation_alpha=[0.25],
    )


@pytest.mark.parametrize("op", CELLS)
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-5), (np.float16, 2e-3), (ml_dtypes.bfloat16, 2e-2)])
def test_dtypes(op, dtype, rtol):
    check(op, dtype=dtype, rtol=rtol, direction="bidirectional", lengths=[5, 3, 4])


@pytest.mark.parametrize("op", CELLS)
def test_layout_1_puts_batch_first(op):
    x, w, r, b, states = inputs_of(op, 2)
    lens = np.int32([3, 5, 2])
    y, *finals = run(op, x, w, r, b, lens, *states, direction="bidirectional")
    moved = [s.swapaxes(0, 1) for s in states]
    y1, *finals1 = run(op, x.swapaxes(0, 1), w, r, b, lens, *moved, direction="bidirectional", layout=1)
    np.testing.assert_array_equal(y1, y.transpose(2, 0, 1, 3))
    for one, zero in zip(finals1, finals, strict=True):
        np.testing.assert_array_equal(one, zero.swapaxes(0, 1))


@pytest.mark.parametrize("op", CELLS)
def test_without_bias_and_states_and_in_old_versions(op):
    x, w, r, _, states = inputs_of(op, 1)
    gates = CELLS[op][0]
    zero = [np.zeros_like(s) for s in states]
    exact = exactly(CELLS[op][1], x, w, r, np.zeros((1, 2 * gates * HIDDEN)), None, zero)
    for since in (1, 3, 7, 14, 22):
        for value, right in zip(run(op, x, w, r, since=since), exact, strict=True):
            np.testing.assert_allclose(value, right, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("op", CELLS)
def test_errors(op):
    x, w, r, b, states = inputs_of(op, 1)
    with pytest.raises(NodeError, match="direction is"):
        run(op, x, w, r, b, direction="backward")
    with pytest.raises(NodeError, match="do not fit 2 direction"):
        run(op, x, w, r, b, direction="bidirectional")
    with pytest.raises(NodeError, match="hidden_size is 7"):
        run(op, x, w, r, b, hidden_size=7)
    with pytest.raises(NodeError, match="features"):
        run(op, x[..., 1:], w, r, b)
    with pytest.raises(NodeError, match="initial state"):
        run(op, x, w, r, b, None, states[0][:, 1:])
    with pytest.raises(NodeError, match="unknown activation"):
        run(op, x, w, r, b, activations=["Sine"] * 3)
    for lens in ([1, 2], [6, 1, 1], [-1, 1, 1]):
        with pytest.raises(NodeError, match="sequence_lens"):
            run(op, x, w, r, b, np.int32(lens))
    if op != "RNN":
        with pytest.raises(NodeError, match="are needed"):
            run(op, x, w, r, b, activations=["Tanh"])

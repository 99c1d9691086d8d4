"""Recurrent operators against a plain float64 recurrence: lengths, directions, layout, peepholes, clipping."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 2
RNG = np.random.default_rng(0)


def draw(*shape: int) -> np.ndarray:
    """Normal float32 numbers."""
    return RNG.standard_normal(shape).astype(np.float32)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """The logistic function."""
    return 1 / (1 + np.exp(-x))


def step(
    op: str, gates: np.ndarray, r: np.ndarray, rb: np.ndarray, h: np.ndarray, c: np.ndarray, p: np.ndarray, linear: int
) -> tuple[Any, Any]:
    """One time step of one sample: `gates` = X W^T + Wb."""
    if op == "RNN":
        return np.tanh(gates + h @ r.T + rb), c
    n = HIDDEN
    if op == "GRU":
        z = sigmoid(gates[:n] + h @ r[:n].T + rb[:n])
        reset = sigmoid(gates[n : 2 * n] + h @ r[n : 2 * n].T + rb[n : 2 * n])
        last = reset * (h @ r[2 * n :].T + rb[2 * n :]) if linear else (reset * h) @ r[2 * n :].T + rb[2 * n :]
        return (1 - z) * np.tanh(gates[2 * n :] + last) + z * h, c
    i, o, f, g = np.split(gates + h @ r.T + rb, 4)
    c = sigmoid(f + p[2 * n :] * c) * c + sigmoid(i + p[:n] * c) * np.tanh(g)
    return sigmoid(o + p[n : 2 * n] * c) * np.tanh(c), c


def recurrence(op: str, tensors: list[np.ndarray], lengths: list[int], p: np.ndarray, linear: int, reverse: bool) -> Any:
    """(Y, Y_h, Y_c) of one direction, sample by sample: each starts at its own end, and is 0 beyond its length."""
    x, w, r, b = tensors
    k = GATES[op] * HIDDEN
    y, y_h, y_c = np.zeros((STEPS, BATCH, HIDDEN)), np.zeros((BATCH, HIDDEN)), np.zeros((BATCH, HIDDEN))
    for n, length in enumerate(lengths):
        h, c = np.zeros(HIDDEN), np.zeros(HIDDEN)
        for t in reversed(range(length)) if reverse else range(length):
            h, c = step(op, x[t, n] @ w.T + b[:k], r, b[k:], h, c, p, linear)
            y[t, n] = h
        y_h[n], y_c[n] = h, c
    return y, y_h, y_c


@pytest.mark.parametrize("lengths", [[5, 5, 5], [5, 3, 1], [2, 0, 4]], ids=["full", "ragged", "with none"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize(("op", "linear"), [("RNN", 0), ("GRU", 0), ("GRU", 1), ("LSTM", 0)])
def test_recurrence(run_op: Any, op: str, linear: int, layout: int, direction: str, lengths: list[int]) -> None:
    """Every sequence has its own length and, backwards, its own start; outputs beyond it are 0."""
    count, k = 2 if direction == "bidirectional" else 1, GATES[op] * HIDDEN
    x, w, r, b = draw(STEPS, BATCH, INPUTS), draw(count, k, INPUTS), draw(count, k, HIDDEN), draw(count, 2 * k)
    peepholes = draw(count, 3 * HIDDEN)
    states = 3 if op == "LSTM" else 2
    inputs: list[Any] = [x if layout == 0 else x.transpose(1, 0, 2), w, r, b, np.array(lengths, np.int32)]
    if op == "LSTM":
        inputs += [None, None, peepholes]
    attrs = {"linear_before_reset": linear} if op == "GRU" else {}
    got = run_op(op, *inputs, outputs=states, hidden_size=HIDDEN, direction=direction, layout=layout, opset=22, **attrs)
    runs = []
    for d in range(count):
        backwards = direction == "reverse" or d == 1
        p = peepholes[d] if op == "LSTM" else np.zeros(3 * HIDDEN)
        wide = [a.astype(np.float64) for a in (x, w[d], r[d], b[d])]
        runs.append(recurrence(op, wide, lengths, p, linear, backwards))
    want = [np.stack([run[0] for run in runs], 1), np.stack([run[1] for run in runs]), np.stack([run[2] for run in runs])]
    if layout:
        want = [want[0].transpose(2, 0, 1, 3), want[1].transpose(1, 0, 2), want[2].transpose(1, 0, 2)]
    for g, w_ in zip(got, want, strict=False):
        np.testing.assert_allclose(g, w_, rtol=1e-4, atol=1e-5)


def test_clip(run_op: Any) -> None:
    """The inputs of activations are bounded by the threshold."""
    x, w, r = np.array([[[10.0]], [[-10.0]]], np.float32), np.ones((1, 1, 1), np.float32), np.zeros((1, 1, 1), np.float32)
    y = run_op("RNN", x, w, r, hidden_size=1, clip=0.5)
    np.testing.assert_allclose(y.reshape(-1) if isinstance(y, np.ndarray) else y, np.tanh([0.5, -0.5]), rtol=1e-5)


def test_activations(run_op: Any) -> None:
    """Activations by name, with alpha and beta taken in their order."""
    x, w, r = np.array([[[-2.0]], [[3.0]]], np.float32), np.ones((1, 1, 1), np.float32), np.zeros((1, 1, 1), np.float32)
    y = run_op("RNN", x, w, r, hidden_size=1, activations=["LeakyRelu"], activation_alpha=[0.25])
    assert y.reshape(-1).tolist() == [-0.5, 3]
    y = run_op("RNN", x, w, r, hidden_size=1, activations=["Affine"], activation_alpha=[2.0], activation_beta=[1.0])
    assert y.reshape(-1).tolist() == [-3, 7]


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_wrong_shapes(run_op: Any, op: str) -> None:
    """Weights that do not fit are an error."""
    k = GATES[op] * HIDDEN
    run_op.fails(op, draw(STEPS, BATCH, INPUTS + 1), draw(1, k, INPUTS), draw(1, k, HIDDEN), hidden_size=HIDDEN)
    run_op.fails(op, draw(STEPS, BATCH, INPUTS), draw(1, k, INPUTS), draw(1, k, HIDDEN + 1), hidden_size=HIDDEN)

"""RNN, GRU and LSTM against the float64 kernels of ep-cpu."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sardonyx.errors import SardonyxError
from sardonyx_ep_cpu.ops.recurrent.gru import gru
from sardonyx_ep_cpu.ops.recurrent.lstm import lstm
from sardonyx_ep_cpu.ops.recurrent.rnn import rnn

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
EXACT = {"RNN": rnn, "GRU": gru, "LSTM": lstm}
USED = {"RNN": 1, "GRU": 2, "LSTM": 3}  # activations of a direction
NAMES = ("Y", "Y_h", "Y_c")


def layer(op: str, time: int, batch: int, size: int, hidden: int, direction: str = "forward", layout: int = 0) -> list[Any]:
    """X, W, R, B, sequence_lens, initial_h, initial_c, P."""
    rng = np.random.default_rng(hidden)
    d, rows = 2 if direction == "bidirectional" else 1, GATES[op] * hidden

    def values(*shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype("f4")

    state = (batch, d, hidden) if layout else (d, batch, hidden)
    lens = rng.integers(0, time + 1, batch).astype("i4")
    parts = [values(*((batch, time, size) if layout else (time, batch, size))), values(d, rows, size), values(d, rows, hidden) / 2]
    parts += [values(d, 2 * rows), lens, values(*state)]
    return parts + ([values(*state), values(d, 3 * hidden)] if op == "LSTM" else [])


def check(node: Any, op: str, inputs: list[Any], fixed: tuple[int, ...] = (1, 2, 3), wanted: str = "111", **attrs: Any) -> None:
    """AssertionError if a wanted output differs from the exact one by more than rounding."""
    exact = EXACT[op](np, *(x if x is None or x.dtype != np.float32 else x.astype("f8") for x in inputs), **attrs)
    names = [n if keep == "1" else "" for n, keep in zip(NAMES[: len(exact)], wanted, strict=False)]
    got = iter(node(op, *inputs, fixed=[i for i in fixed if i < len(inputs) and inputs[i] is not None], outputs=names, **attrs))
    for name, want in zip(names, exact, strict=True):
        if name:
            y = next(got)
            assert y.shape == want.shape
            np.testing.assert_allclose(y, want, rtol=1e-4, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("layout", [0, 1])
def test_directions_and_layouts(node: Any, op: str, direction: str, layout: int) -> None:
    inputs = layer(op, 5, 3, 7, 19, direction, layout)
    check(node, op, inputs, direction=direction, layout=layout, hidden_size=19)
    check(node, op, inputs, fixed=(), direction=direction, layout=layout)
    inputs[4] = None
    check(node, op, inputs, direction=direction, layout=layout)


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("size", [(1, 1, 1, 1), (3, 1, 4, 8), (2, 2, 16, 5), (40, 8, 33, 64), (9, 7, 20, 48), (0, 2, 3, 4), (2, 0, 3, 4)])
def test_sizes(node: Any, op: str, size: tuple[int, ...]) -> None:
    check(node, op, layer(op, *size)[:3])


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize(
    "names",
    [
        ("Relu", "Tanh", "Softsign"),
        ("HardSigmoid", "Affine", "ScaledTanh"),
        ("Softplus", "Elu", "LeakyRelu"),
        ("ThresholdedRelu", "Sigmoid", "Relu"),
    ],
)
def test_activations(node: Any, op: str, names: tuple[str, ...]) -> None:
    inputs = layer(op, 4, 2, 6, 11, "bidirectional")
    for given in ({}, {"activation_alpha": [0.3, 0.7], "activation_beta": [0.4]}):
        for clip in ({}, {"clip": 0.6}):
            # Both directions, of which the second has the functions in another order.
            each = names[: USED[op]]
            check(node, op, inputs, direction="bidirectional", activations=[*each, *reversed(each)], **given, **clip)


@pytest.mark.parametrize("attrs", [{"input_forget": 1}, {"clip": 0.5}, {"input_forget": 1, "clip": 0.9}])
@pytest.mark.parametrize("peepholes", [False, True])
def test_lstm_variants(node: Any, attrs: dict[str, Any], peepholes: bool) -> None:
    inputs = layer("LSTM", 6, 2, 5, 13, "reverse")
    if not peepholes:
        inputs[7] = None
    check(node, "LSTM", inputs, direction="reverse", **attrs)


@pytest.mark.parametrize("clip", [{}, {"clip": 0.5}])
@pytest.mark.parametrize("bias", [False, True])
def test_gru_linear_before_reset(node: Any, clip: dict[str, Any], bias: bool) -> None:
    inputs = layer("GRU", 6, 3, 5, 13, "bidirectional")
    if not bias:
        inputs[3] = None
    check(node, "GRU", inputs, direction="bidirectional", linear_before_reset=1, **clip)


@pytest.mark.parametrize("wanted", ["100", "010", "001", "011"])
def test_some_outputs(node: Any, wanted: str) -> None:
    check(node, "LSTM", layer("LSTM", 5, 2, 3, 8), wanted=wanted)


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_half_precision(node: Any, op: str) -> None:
    inputs = [x.astype("f2") for x in layer(op, 5, 2, 6, 9)[:4]]
    exact = EXACT[op](np, *(x.astype("f8") for x in inputs))
    for y, want in zip(node(op, *inputs, fixed=(1, 2, 3), outputs=NAMES[: len(exact)]), exact, strict=True):
        assert y.dtype == np.float16
        np.testing.assert_allclose(y.astype("f8"), want, rtol=2e-3, atol=2e-3)


def test_outputs_past_a_sequence_are_zero(node: Any) -> None:
    inputs = layer("GRU", 4, 3, 2, 6)
    inputs[4] = np.array([0, 2, 4], "i4")
    y, last = node("GRU", *inputs, fixed=(1, 2), outputs=["Y", "Y_h"], hidden_size=6)
    for past in (y[:, 0, 0], y[2:, 0, 1], last[0, 0]):
        assert not past.any()
    np.testing.assert_array_equal(last[0, 1:], [y[1, 0, 1], y[3, 0, 2]])


def test_a_length_out_of_range_fails(node: Any) -> None:
    inputs = layer("RNN", 4, 2, 2, 3)
    inputs[4] = np.array([1, 5], "i4")
    with pytest.raises(SardonyxError, match=r"sequence_lens\[1\] is 5"):
        node("RNN", *inputs, fixed=(1, 2))


def test_weights_that_do_not_fit_fail(node: Any) -> None:
    inputs = layer("GRU", 4, 2, 2, 3)[:3]
    inputs[2] = inputs[2][:, :6]
    with pytest.raises(SardonyxError, match="do not fit"):
        node("GRU", *inputs)


@pytest.mark.parametrize("opset", [1, 3, 7, 14])
def test_older_versions(node: Any, opset: int) -> None:
    inputs = layer("GRU", 5, 2, 4, 6)[:4]
    exact = gru(np, *(x.astype("f8") for x in inputs))
    attrs = {"output_sequence": 1} if opset < 7 else {}
    direction = {"direction": "forward"} if opset < 3 else {}
    got = node("GRU", *inputs, fixed=(1, 2, 3), outputs=["Y", "Y_h"], opset=opset, hidden_size=6, **attrs, **direction)
    for y, want in zip(got, exact, strict=True):
        np.testing.assert_allclose(y, want, rtol=1e-4, atol=2e-5)

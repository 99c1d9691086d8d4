"""DynamicQuantizeLSTM of com.microsoft: an LSTM whose products are of 8 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.quantization.dynamic import dynamic_parameters
from sardonyx_ep_cpu.ops.quantization.integer_product import IntegerMatrix, integer_matrix, integer_product
from sardonyx_ep_cpu.ops.quantization.rounding import quantize
from sardonyx_ep_cpu.ops.recurrent.lstm import lstm_layer

__all__ = ["ops"]

ops = KernelSet("com.microsoft")

_Matrices = list[IntegerMatrix]


def _matrices(xp: Any, w: Any, zero: Any) -> _Matrices:
    """Each direction's weights [size, 4 * hidden] less their zero points ([directions] or [directions, 4 * hidden])."""
    return [integer_matrix(xp, w[d], zero[d]) for d in range(w.shape[0])]


def _prepare(xp: Any, inputs: list[Any], attrs: dict[str, Any]) -> tuple[_Matrices, _Matrices] | None:
    w, r, w_zero, r_zero = inputs[1], inputs[2], inputs[9], inputs[11]
    if w is None or r is None or w_zero is None or r_zero is None:
        return None
    return _matrices(xp, w, w_zero), _matrices(xp, r, r_zero)


@ops.add("DynamicQuantizeLSTM", prepare=_prepare)
def dynamic_quantize_lstm(
    xp,
    x,
    w,
    r,
    b,
    sequence_lens,
    initial_h,
    initial_c,
    p,
    w_scale,
    w_zero_point,
    r_scale,
    r_zero_point,
    *,
    activation_alpha=None,
    activation_beta=None,
    activations=None,
    clip=None,
    direction="forward",
    hidden_size=None,
    input_forget=0,
    prepared=None,
):
    """LSTM of x (time, batch, size) with weights w (directions, size, 4 * hidden) and r (directions, hidden, 4 * hidden).

    The weights are of 8 bits, their scales and zero points per direction or per column. The inputs of a direction, and the
    state of each step, are rounded to uint8 as in DynamicQuantizeLinear. Returns Y, Y_h and Y_c as LSTM does.
    """
    directions, hidden = r.shape[0], r.shape[1]
    if directions != (2 if direction.lower() == "bidirectional" else 1) or (hidden_size or hidden) != hidden:
        raise NodeError(f"R has shape {r.shape}, which does not fit direction={direction!r}, hidden_size={hidden_size}")
    left, right = prepared or (_matrices(xp, w, w_zero_point), _matrices(xp, r, r_zero_point))
    bias = None if b is None else b[:, : 4 * hidden] + b[:, 4 * hidden :]

    def project_input(d: int, xs: Any) -> Any:
        gates = _product(xp, xs, left[d], w_scale[d])
        return gates if bias is None else gates + bias[d]

    def recur(d: int) -> Callable[[Any], Any]:
        return lambda h: _product(xp, h, right[d], r_scale[d])

    return lstm_layer(
        xp,
        x,
        project_input,
        recur,
        sequence_lens,
        initial_h,
        initial_c,
        p,
        hidden=hidden,
        directions=directions,
        direction=direction,
        activations=activations,
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        clip=clip,
        input_forget=input_forget,
    )


def _product(xp: Any, x: Any, matrix: IntegerMatrix, scale: Any) -> Any:
    x_scale, zero = dynamic_parameters(xp, x)
    total = integer_product(xp, quantize(xp, x, x_scale, zero, zero.dtype), zero, matrix)
    return total.astype(xp.float32, copy=False) * (x_scale * scale)

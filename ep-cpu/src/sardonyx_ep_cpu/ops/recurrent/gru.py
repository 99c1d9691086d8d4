"""GRU: gated recurrent units."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx_ep_cpu.older import older
from sardonyx_ep_cpu.ops.matrix.product import product
from sardonyx_ep_cpu.ops.recurrent.activations import Activation, make_activations
from sardonyx_ep_cpu.ops.recurrent.sequence import check_clip, direction_count, initial_state, project, run_directions, run_steps
from sardonyx_ep_cpu.precision import widen

ops = KernelSet()


@ops.add("GRU", since=14)
def gru(
    xp: Any,
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    sequence_lens: Any = None,
    initial_h: Any = None,
    *,
    activation_alpha: list[float] | None = None,
    activation_beta: list[float] | None = None,
    activations: list[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
) -> tuple[Any, Any]:
    """Update, reset and hidden gates over time; returns Y and Y_h.

    x (time, batch, size), w (directions, 3 * hidden, size), r (directions, 3 * hidden, hidden), b (directions, 6 * hidden);
    with layout 1 batch comes before time and before directions. Half precision is computed in float32.
    """
    check_clip(clip)
    directions = direction_count(direction, w, r, hidden_size, 3)
    hidden = r.shape[2]
    inputs = widen(x.swapaxes(0, 1) if layout else x)
    w, r, b = widen(w), widen(r), widen(b)
    h = initial_state(xp, widen(initial_h), inputs, directions, hidden, layout)
    names = activations or ["Sigmoid", "Tanh"] * directions
    functions = make_activations(xp, 2 * directions, names, activation_alpha, activation_beta)

    def steps(d: int, xs: Any, out: Any) -> tuple[Any, ...]:
        bias = hidden_bias = None
        if b is not None:
            bias = b[d, : 3 * hidden] + b[d, 3 * hidden :]
            if linear_before_reset:
                hidden_bias = b[d, 5 * hidden :]
                bias[2 * hidden :] = b[d, 2 * hidden : 3 * hidden]
        f, g = functions[2 * d : 2 * d + 2]
        if linear_before_reset:
            step = _step_linear_first(xp, r[d].T, hidden_bias, f, g, clip)
        else:
            step = _step(xp, r[d, : 2 * hidden].T, r[d, 2 * hidden :].T, f, g, clip)
        return run_steps(xp, project(xp, xs, w[d], bias), (h[d],), sequence_lens, out, step)

    y, y_h = run_directions(xp, inputs, hidden, direction, sequence_lens, layout, steps)
    return y.astype(x.dtype, copy=False), y_h.astype(x.dtype, copy=False)


def _step(xp: Any, r_zr: Any, r_h: Any, f: Activation, g: Activation, clip: float | None) -> Any:
    """The step that resets the state before multiplying it."""
    hidden = r_h.shape[0]

    def step(gates: Any, h: Any) -> tuple[Any]:
        zr, new = gates[:, : 2 * hidden], gates[:, 2 * hidden :]
        zr += product(xp, h, r_zr)
        _activate(xp, zr, f, clip)
        new += product(xp, zr[:, hidden:] * h, r_h)
        _activate(xp, new, g, clip)
        return (_mix(zr[:, :hidden], new, h),)

    return step


def _step_linear_first(xp: Any, r: Any, bias: Any, f: Activation, g: Activation, clip: float | None) -> Any:
    """The step that multiplies the state before resetting it (linear_before_reset)."""
    hidden = r.shape[0]

    def step(gates: Any, h: Any) -> tuple[Any]:
        zr, new = gates[:, : 2 * hidden], gates[:, 2 * hidden :]
        linear = product(xp, h, r)
        zr += linear[:, : 2 * hidden]
        _activate(xp, zr, f, clip)
        part = linear[:, 2 * hidden :]
        if bias is not None:
            part += bias
        part *= zr[:, hidden:]
        new += part
        _activate(xp, new, g, clip)
        return (_mix(zr[:, :hidden], new, h),)

    return step


def _activate(xp: Any, x: Any, function: Activation, clip: float | None) -> None:
    if clip is not None:
        xp.clip(x, -clip, clip, out=x)
    function(x)


def _mix(z: Any, new: Any, h: Any) -> Any:
    """(1 - z) * new + z * h"""
    kept = h - new
    kept *= z
    kept += new
    return kept


# Y is computed whatever `output_sequence` says. Version 1 resets first; the default of its `direction` is spelt as in the
# specification.
ops.add("GRU", since=7)(older(gru, without=("layout",)))
ops.add("GRU", since=3)(older(gru, without=("layout",), ignored={"output_sequence": 0}))
ops.add("GRU", since=1)(
    older(gru, without=("layout", "linear_before_reset"), ignored={"output_sequence": 0}, defaults={"direction": "foward"})
)

"""LSTM: long short-term memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.older import older
from sardonyx_ep_cpu.ops.matrix.product import product
from sardonyx_ep_cpu.ops.recurrent.activations import Activation, make_activations
from sardonyx_ep_cpu.ops.recurrent.sequence import check_clip, direction_count, initial_state, project, run_directions, run_steps
from sardonyx_ep_cpu.precision import widen

__all__ = ["lstm_layer", "lstm_step"]

ops = KernelSet()


def lstm_step(
    xp: Any,
    recur: Callable[[Any], Any],
    hidden: int,
    functions: Sequence[Activation],
    peephole: Any = None,
    clip: float | None = None,
    input_forget: int = 0,
) -> Callable[..., tuple[Any, Any]]:
    """The step (gates, h, c) -> (h, c), for run_steps.

    gates (batch, 4 * hidden) are the input's part of the gates in the order i, o, f, c, biases included, and are written
    to; `recur` gives the state's part; functions are f, g, h; peephole is (3 * hidden,) in the order i, o, f, or None.
    `clip` bounds the gates, not the cell that h is applied to: onnxruntime and OpenVINO read the specification so.
    """
    f, g, h_function = functions
    in_gate, out_gate, forget_gate = slice(0, hidden), slice(hidden, 2 * hidden), slice(2 * hidden, 3 * hidden)

    def step(gates: Any, h: Any, c: Any) -> tuple[Any, Any]:
        gates += recur(h)
        i, o, forget, cell = gates[:, in_gate], gates[:, out_gate], gates[:, forget_gate], gates[:, 3 * hidden :]
        if peephole is not None:
            i += peephole[in_gate] * c
            forget += peephole[forget_gate] * c
        if peephole is None and clip is None:
            f(gates[:, : 3 * hidden])
            g(cell)
        else:
            for gate, function in ((i, f), (forget, f), (cell, g)):
                _activate(xp, gate, function, clip)
        if input_forget:
            xp.subtract(1, i, out=forget)
        cell *= i
        c = forget * c
        c += cell
        if peephole is not None:
            o += peephole[out_gate] * c
        if peephole is not None or clip is not None:
            _activate(xp, o, f, clip)
        h = c.copy()
        h_function(h)
        h *= o
        return h, c

    return step


def _activate(xp: Any, x: Any, function: Activation, clip: float | None) -> None:
    if clip is not None:
        xp.clip(x, -clip, clip, out=x)
    function(x)


def lstm_layer(
    xp: Any,
    x: Any,
    project_input: Callable[[int, Any], Any],
    recur: Callable[[int], Callable[[Any], Any]],
    sequence_lens: Any,
    initial_h: Any,
    initial_c: Any,
    p: Any,
    *,
    hidden: int,
    directions: int,
    direction: str,
    activations: Sequence[str] | None,
    activation_alpha: Sequence[float] | None,
    activation_beta: Sequence[float] | None,
    clip: float | None,
    input_forget: int,
    layout: int = 0,
) -> tuple[Any, Any, Any]:
    """An LSTM whose two products are the caller's: Y, Y_h and Y_c of x (time, batch, size), float32 or float64.

    `project_input(d, xs)` gives the gates (time, batch, 4 * hidden) of direction d for inputs in the order of processing,
    biases included, as a new array; `recur(d)` gives the function that takes h (batch, hidden) to its part of the gates.
    """
    h = initial_state(xp, initial_h, x, directions, hidden, layout)
    c = initial_state(xp, initial_c, x, directions, hidden, layout)
    if p is not None and p.shape != (directions, 3 * hidden):
        raise NodeError(f"peepholes have shape {p.shape}, but must have {(directions, 3 * hidden)}")
    names = activations or ["Sigmoid", "Tanh", "Tanh"] * directions
    functions = make_activations(xp, 3 * directions, names, activation_alpha, activation_beta)

    def steps(d: int, xs: Any, out: Any) -> tuple[Any, ...]:
        step = lstm_step(xp, recur(d), hidden, functions[3 * d : 3 * d + 3], None if p is None else p[d], clip, input_forget)
        return run_steps(xp, project_input(d, xs), (h[d], c[d]), sequence_lens, out, step)

    y, y_h, y_c = run_directions(xp, x, hidden, direction, sequence_lens, layout, steps)
    return y, y_h, y_c


@ops.add("LSTM", since=14)
def lstm(
    xp: Any,
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    sequence_lens: Any = None,
    initial_h: Any = None,
    initial_c: Any = None,
    p: Any = None,
    *,
    activation_alpha: list[float] | None = None,
    activation_beta: list[float] | None = None,
    activations: list[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
) -> tuple[Any, Any, Any]:
    """Input, output, forget and cell gates over time; returns Y, Y_h and Y_c.

    x (time, batch, size), w (directions, 4 * hidden, size), r (directions, 4 * hidden, hidden), b (directions, 8 * hidden),
    p (directions, 3 * hidden); with layout 1 batch comes before time and before directions. Half precision is computed in
    float32.
    """
    check_clip(clip)
    directions = direction_count(direction, w, r, hidden_size, 4)
    hidden = r.shape[2]
    wide_w, wide_r = widen(w), widen(r)
    bias = None if b is None else widen(b)[:, : 4 * hidden] + widen(b)[:, 4 * hidden :]

    def project_input(d: int, xs: Any) -> Any:
        return project(xp, xs, wide_w[d], None if bias is None else bias[d])

    def recur(d: int) -> Callable[[Any], Any]:
        recurrent = wide_r[d].T
        return lambda h: product(xp, h, recurrent)

    outputs = lstm_layer(
        xp,
        widen(x.swapaxes(0, 1) if layout else x),
        project_input,
        recur,
        sequence_lens,
        widen(initial_h),
        widen(initial_c),
        widen(p),
        hidden=hidden,
        directions=directions,
        direction=direction,
        activations=activations,
        activation_alpha=activation_alpha,
        activation_beta=activation_beta,
        clip=clip,
        input_forget=input_forget,
        layout=layout,
    )
    y, y_h, y_c = (out.astype(x.dtype, copy=False) for out in outputs)
    return y, y_h, y_c


# Y is computed whatever `output_sequence` says.
ops.add("LSTM", since=7)(older(lstm, without=("layout",)))
ops.add("LSTM", since=1)(older(lstm, without=("layout",), ignored={"output_sequence": 0}))

"""RNN: one tanh (or other) layer over time."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx_ep_cpu.older import older
from sardonyx_ep_cpu.ops.matrix.product import product
from sardonyx_ep_cpu.ops.recurrent.activations import make_activations
from sardonyx_ep_cpu.ops.recurrent.sequence import check_clip, direction_count, initial_state, project, run_directions, run_steps
from sardonyx_ep_cpu.precision import widen

ops = KernelSet()


@ops.add("RNN", since=14)
def rnn(
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
    activations: list[str] = ["Tanh", "Tanh"],  # noqa: B006
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
) -> tuple[Any, Any]:
    """H = f(X Wᵀ + H Rᵀ + Wb + Rb); returns Y and Y_h.

    x (time, batch, size), w (directions, hidden, size), r (directions, hidden, hidden), b (directions, 2 * hidden); with
    layout 1 batch comes before time and before directions. Half precision is computed in float32.
    """
    check_clip(clip)
    directions = direction_count(direction, w, r, hidden_size, 1)
    hidden = r.shape[2]
    inputs = widen(x.swapaxes(0, 1) if layout else x)
    w, r, b = widen(w), widen(r), widen(b)
    h = initial_state(xp, widen(initial_h), inputs, directions, hidden, layout)
    functions = make_activations(xp, directions, activations, activation_alpha, activation_beta)

    def steps(d: int, xs: Any, out: Any) -> tuple[Any, ...]:
        f, recurrent = functions[d], r[d].T

        def step(g: Any, h: Any) -> tuple[Any]:
            g += product(xp, h, recurrent)
            if clip is not None:
                xp.clip(g, -clip, clip, out=g)
            f(g)
            return (g,)

        bias = None if b is None else b[d, :hidden] + b[d, hidden:]
        return run_steps(xp, project(xp, xs, w[d], bias), (h[d],), sequence_lens, out, step)

    y, y_h = run_directions(xp, inputs, hidden, direction, sequence_lens, layout, steps)
    return y.astype(x.dtype, copy=False), y_h.astype(x.dtype, copy=False)


# Y is computed whatever `output_sequence` says.
ops.add("RNN", since=7)(older(rnn, without=("layout",)))
ops.add("RNN", since=1)(older(rnn, without=("layout",), ignored={"output_sequence": 0}))

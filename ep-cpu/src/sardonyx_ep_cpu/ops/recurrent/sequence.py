"""What RNN, GRU and LSTM share: directions, layouts, sequence lengths, and the loop over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.matrix.product import product

__all__ = ["Steps", "check_clip", "direction_count", "initial_state", "project", "run_directions", "run_steps"]

# Runs one direction: (direction index, inputs in the order of processing, where to write outputs) -> final states.
Steps = Callable[[int, Any, Any], Sequence[Any]]

_DIRECTIONS = {"forward": 1, "foward": 1, "reverse": 1, "bidirectional": 2}


def direction_count(direction: str, w: Any, r: Any, hidden_size: int | None, gates: int) -> int:
    """1 or 2; raises NodeError if the weights or `hidden_size` do not fit. "foward" is GRU-1's default, spelt so."""
    count = _DIRECTIONS.get(direction.lower())
    if count is None:
        raise NodeError(f"direction is {direction!r}, but must be forward, reverse or bidirectional")
    hidden = r.shape[-1]
    if w.ndim != 3 or r.ndim != 3 or w.shape[0] != count or r.shape != (count, gates * hidden, hidden) or w.shape[1] != gates * hidden:
        raise NodeError(f"weights W {w.shape} and R {r.shape} do not fit {count} direction(s) of {gates} gates")
    if hidden_size is not None and hidden_size != hidden:
        raise NodeError(f"hidden_size is {hidden_size}, but R has shape {r.shape}")
    return count


def check_clip(clip: float | None) -> None:
    """NodeError if `clip`, which keeps values within [-clip, clip], is negative or NaN."""
    if clip is not None and not clip >= 0:
        raise NodeError(f"its attribute clip={clip} bounds nothing; it must be at least 0, or absent")


def initial_state(xp: Any, state: Any, like: Any, directions: int, hidden: int, layout: int) -> Any:
    """The initial state as (directions, batch, hidden), zeros where it is None; `like` is the input (time, batch, size)."""
    shape = (directions, like.shape[1], hidden)
    if state is None:
        return xp.zeros(shape, like.dtype)
    if layout:
        state = state.swapaxes(0, 1)
    if state.shape != shape:
        raise NodeError(f"an initial state has shape {state.shape} (directions, batch, hidden), but must have {shape}")
    return state


def project(xp: Any, x: Any, w: Any, bias: Any) -> Any:
    """x (time, batch, size) times w (gates, size) transposed, plus a bias (gates,) or None: (time, batch, gates), new."""
    if x.shape[2] != w.shape[1]:
        raise NodeError(f"the input has {x.shape[2]} features, but W takes {w.shape[1]}")
    y = product(xp, x, w.T)
    if bias is not None:
        y += bias
    return y


def run_directions(xp: Any, x: Any, hidden: int, direction: str, sequence_lens: Any, layout: int, steps: Steps) -> tuple[Any, ...]:
    """Run `steps` over every direction of x (time, batch, size); returns Y and the final states in the given layout.

    In layout 0, Y is (time, directions, batch, hidden) and a state (directions, batch, hidden). A reversed sequence starts
    at its own last step. Y is zero past a sequence's length.
    """
    time, batch = x.shape[:2]
    names = ("forward", "reverse") if direction.lower() == "bidirectional" else (direction.lower(),)
    if sequence_lens is not None and (sequence_lens.shape != (batch,) or ((sequence_lens < 0) | (sequence_lens > time)).any()):
        raise NodeError(f"sequence_lens must hold {batch} numbers in [0, {time}], but is {sequence_lens.tolist()}")
    y = xp.zeros((time, len(names), batch, hidden), x.dtype)
    states: list[Sequence[Any]] = []
    for d, name in enumerate(names):
        if name != "reverse":
            states.append(steps(d, x, y[:, d]))
        elif sequence_lens is None:
            states.append(steps(d, x[::-1], y[::-1, d]))
        else:
            step = xp.arange(time)[:, None]
            mirror = (xp.where(step < sequence_lens, sequence_lens - 1 - step, step), xp.arange(batch))
            out = xp.zeros((time, batch, hidden), x.dtype)
            states.append(steps(d, x[mirror], out))
            y[:, d] = out[mirror]
    finals = [xp.stack(parts, axis=1 if layout else 0) for parts in zip(*states, strict=True)]
    return (y.transpose(2, 0, 1, 3) if layout else y, *finals)


def run_steps(
    xp: Any, gates: Any, states: tuple[Any, ...], sequence_lens: Any, out: Any, step: Callable[..., tuple[Any, ...]]
) -> tuple[Any, ...]:
    """The loop over time: states = step(gates[t], *states), out[t] = states[0]; a finished sequence keeps its states.

    A sequence of length 0 has final states of zero, as in onnxruntime (the specification is silent). `out` must hold zeros.
    `step` may overwrite gates[t] but not the states.
    """
    steps = gates.shape[0]
    if sequence_lens is None:
        for t in range(steps):
            states = step(gates[t], *states)
            out[t] = states[0]
        return states
    longest, shortest = (int(sequence_lens.max()), int(sequence_lens.min())) if sequence_lens.size else (0, 0)
    if not shortest:
        states = tuple(xp.where((sequence_lens > 0)[:, None], s, 0) for s in states)
    for t in range(longest):
        new = step(gates[t], *states)
        if t < shortest:
            states = new
            out[t] = new[0]
        else:
            running = (t < sequence_lens)[:, None]
            states = tuple(xp.where(running, n, s) for n, s in zip(new, states, strict=True))
            out[t] = xp.where(running, new[0], 0)
    return states

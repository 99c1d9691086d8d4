"""Plans: the steps that turn a graph's inputs into its outputs, made once and run many times."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from sardonyx.ep.provider import Allocator, Executable, RunContext
from sardonyx.errors import NodeError, ProviderError, RunCancelled, SardonyxError, foreign
from sardonyx.ir.fork import ForkLock

__all__ = ["CopyStep", "ExecStep", "ExpectStep", "Plan", "Step", "live_plans"]


class Step(Protocol):
    """One step: it reads slots of `env` and writes others."""

    def __call__(self, env: list[Any], ctx: RunContext | None) -> None:
        """Do the step."""


class ExecStep:
    """Run a compiled subgraph."""

    __slots__ = ("executable", "frees", "inputs", "outputs", "owner")

    def __init__(self, executable: Executable, inputs: list[int], outputs: list[int], owner: str):
        self.executable, self.inputs, self.outputs, self.owner = executable, inputs, outputs, owner
        self.frees: list[int] = []

    def __call__(self, env: list[Any], ctx: RunContext | None) -> None:
        """Run it."""
        if ctx is not None and ctx.cancelled is not None and ctx.cancelled():
            raise RunCancelled("the run was cancelled")
        results = _run(self.executable, [env[i] for i in self.inputs], ctx, self.owner)
        for slot, value in zip(self.outputs, results, strict=True):
            env[slot] = value
        for slot in self.frees:
            env[slot] = None


def _run(executable: Executable, inputs: list[Any], ctx: RunContext | None, owner: str) -> list[Any]:
    if ctx is not None and ctx.record is not None:
        ctx = replace(ctx, record=partial(ctx.record, owner=owner))
    try:
        return executable.run(inputs, ctx=ctx)
    except SardonyxError:
        raise
    except Exception as e:
        raise foreign(f"provider {owner!r}: a run", e, ProviderError) from e


class CopyStep:
    """Copy a value between memory spaces; a value that is not a tensor of numbers is passed as it is."""

    __slots__ = ("frees", "inputs", "move", "outputs", "owner")

    def __init__(self, source: int, target: int, move: Callable[[Any], Any], owner: str):
        self.inputs, self.outputs, self.move, self.owner = [source], [target], move, owner
        self.frees: list[int] = []

    def __call__(self, env: list[Any], ctx: RunContext | None) -> None:
        """Copy it."""
        value = env[self.inputs[0]]
        env[self.outputs[0]] = None if value is None else self.move(value)
        for slot in self.frees:
            env[slot] = None


class ExpectStep:
    """Check the dims of a value, wherever it lies: -1 stands for any."""

    __slots__ = ("frees", "inputs", "outputs", "owner", "shape", "where")

    def __init__(self, slot: int, shape: list[int], where: str):
        self.inputs, self.outputs, self.owner = [slot], [slot], "joint"
        self.shape, self.where = tuple(shape), where
        self.frees: list[int] = []

    def __call__(self, env: list[Any], ctx: RunContext | None) -> None:
        """Check it."""
        have = tuple(env[self.inputs[0]].shape)
        if len(have) != len(self.shape) or any(want not in (-1, n) for want, n in zip(self.shape, have, strict=True)):
            raise NodeError(f"{self.where} has shape {list(have)} in this run")
        for slot in self.frees:
            env[slot] = None


def upload(allocator: Allocator) -> Callable[[Any], Any]:
    """A function that copies host arrays to the device."""
    return lambda value: allocator.from_host(np.asarray(value, order="C"))


def download(allocator: Allocator) -> Callable[[Any], Any]:
    """A function that copies device arrays to the host and waits for them."""

    def move(value: Any) -> Any:
        host = allocator.to_host(value)
        allocator.synchronize()
        return host

    return move


_live: weakref.WeakSet[Plan] = weakref.WeakSet()
_live_lock = ForkLock()


def live_plans() -> list[Plan]:
    """Every plan of this process, those of bodies included."""
    with _live_lock:
        return list(_live)


class Plan:
    """Steps over an array of slots. Slots 0..n-1 are the inputs; constants that outputs or bodies need are preset."""

    def __init__(self, n_inputs: int, n_slots: int, steps: list[Any], outputs: list[int], preset: dict[int, Any]):
        self.n_inputs, self.steps, self.outputs, self.preset = n_inputs, steps, outputs, preset
        self._rest: list[Any] = [None] * (n_slots - n_inputs)
        for slot, value in preset.items():
            self._rest[slot - n_inputs] = value
        self._free_early()
        self.whole = self._whole()
        self.run = self._run if self.whole is None else self._direct(self.whole, self.steps[0].owner)
        with _live_lock:
            _live.add(self)

    def executables(self) -> Iterator[tuple[str, Executable]]:
        """Every executable with its provider's name, those in bodies of control flow included."""
        for step in self.steps:
            if isinstance(step, ExecStep):
                yield step.owner, step.executable
            for plan, _ in getattr(step, "bodies", {}).values():
                yield from plan.executables()

    def _free_early(self) -> None:
        last: dict[int, Any] = {}
        for step in self.steps:
            for slot in (*step.inputs, *step.outputs):
                last[slot] = step
        for slot, step in last.items():
            if slot not in self.outputs and slot not in self.preset:
                step.frees.append(slot)

    def _whole(self) -> Executable | None:
        """The executable that is the whole plan, if there is one."""
        if len(self.steps) != 1 or not isinstance(self.steps[0], ExecStep) or self.preset:
            return None
        step = self.steps[0]
        return step.executable if step.inputs == list(range(self.n_inputs)) and step.outputs == self.outputs else None

    @staticmethod
    def _direct(executable: Executable, owner: str) -> Callable[..., list[Any]]:
        return lambda inputs, ctx=None: _run(executable, inputs, ctx, owner)

    def _run(self, inputs: list[Any], ctx: RunContext | None = None) -> list[Any]:
        env = inputs + self._rest
        for step in self.steps:
            step(env, ctx)
        return [env[i] for i in self.outputs]

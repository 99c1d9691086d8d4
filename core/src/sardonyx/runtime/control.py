"""If, Loop and Scan over plans of their bodies."""

from __future__ import annotations

from itertools import count as counter
from typing import Any

import numpy as np

from sardonyx.ep.interpreter import node_error
from sardonyx.ep.provider import RunContext
from sardonyx.ep.shapes import check_size
from sardonyx.errors import NodeError, RunCancelled, SardonyxError
from sardonyx.ir.graph import Node
from sardonyx.ir.types import TensorType
from sardonyx.runtime.plan import Plan

__all__ = ["ControlStep"]


class ControlStep:
    """A control-flow node: its inputs' slots, its bodies' plans, and each body's captured slots."""

    owner = "control flow"

    def __init__(self, node: Node, inputs: list[int | None], bodies: dict[str, tuple[Plan, list[int]]], outputs: list[int | None]):
        self.node, self.bodies = node, bodies
        self._in, self._out = inputs, outputs
        self.inputs = [i for i in inputs if i is not None] + [i for _, captured in bodies.values() for i in captured]
        self.outputs = [o for o in outputs if o is not None]
        self.frees: list[int] = []
        self._run = {"If": self._if, "Loop": self._loop, "Scan": self._scan}[node.op]

    def __call__(self, env: list[Any], ctx: RunContext | None) -> None:
        """Run the node."""
        try:
            results = self._run(env, ctx)
        except RunCancelled:
            raise
        except SardonyxError as e:
            if isinstance(e, NodeError) and e.node:
                raise
            raise self._error(e, env) from e
        except Exception as e:
            raise self._error(e, env) from e
        for slot, value in zip(self._out, results, strict=False):
            if slot is not None:
                env[slot] = value
        for slot in self.frees:
            env[slot] = None

    def _error(self, e: Exception, env: list[Any]) -> NodeError:
        error = node_error(self.node, e, [None if i is None else env[i] for i in self._in])
        assert isinstance(error, NodeError)
        return error

    def _value(self, env: list[Any], index: int) -> Any:
        slot = self._in[index] if index < len(self._in) else None
        return None if slot is None else env[slot]

    def _body(self, name: str, env: list[Any]) -> tuple[Plan, list[Any]]:
        plan, captured = self.bodies[name]
        return plan, [env[i] for i in captured]

    def _if(self, env: list[Any], ctx: RunContext | None) -> list[Any]:
        condition = np.asarray(self._value(env, 0))
        if condition.size != 1:
            raise ValueError(f"its condition must have one element, it has shape {list(condition.shape)}")
        plan, captured = self._body("then_branch" if condition.reshape(-1)[0] else "else_branch", env)
        return plan.run(captured, ctx)

    def _loop(self, env: list[Any], ctx: RunContext | None) -> list[Any]:
        plan, captured = self._body("body", env)
        limit, condition = self._value(env, 0), self._value(env, 1)
        states = [self._value(env, i) for i in range(2, len(self._in))]
        scans: list[list[Any]] = [[] for _ in range(len(plan.outputs) - 1 - len(states))]
        go = condition is None or bool(np.asarray(condition).reshape(-1)[0])
        steps = counter() if limit is None else range(int(np.asarray(limit).reshape(-1)[0]))
        flag = np.asarray(go)
        for i in steps:
            if not go:
                break
            if ctx is not None and ctx.cancelled is not None and ctx.cancelled():
                raise RunCancelled("the run was cancelled")
            results = plan.run([np.asarray(i, np.int64), flag, *states, *captured], ctx)
            flag = results[0]
            go = bool(np.asarray(flag).reshape(-1)[0])
            states = results[1 : 1 + len(states)]
            for scan, value in zip(scans, results[1 + len(states) :], strict=True):
                scan.append(value)
        types = [v.type for v in self.node.attrs["body"].outputs[1 + len(states) :]]
        return states + [_stack(scan, 0, t) for scan, t in zip(scans, types, strict=True)]

    def _scan(self, env: list[Any], ctx: RunContext | None) -> list[Any]:
        if self.node.since >= 9:
            return self._scan_once([self._value(env, i) for i in range(len(self._in))], env, ctx)
        lengths = self._value(env, 0)
        batched = [np.asarray(self._value(env, i)) for i in range(1, len(self._in))]
        runs = []
        for b in range(batched[0].shape[0]):
            rows = [x[b] for x in batched]
            runs.append(self._scan_once(rows, env, ctx, None if lengths is None else int(lengths[b])))
        return [np.stack([np.asarray(run[k]) for run in runs]) for k in range(len(runs[0]))]

    def _scan_once(self, values: list[Any], env: list[Any], ctx: RunContext | None, length: int | None = None) -> list[Any]:
        node = self.node
        plan, captured = self._body("body", env)
        n_scan = node.attrs["num_scan_inputs"]
        n_state = len(values) - n_scan
        states, xs = values[:n_state], [np.asarray(x) for x in values[n_state:]]
        n_out = len(plan.outputs) - n_state
        in_axes = node.attrs.get("scan_input_axes") or [0] * n_scan
        in_back = node.attrs.get("scan_input_directions") or node.attrs.get("directions") or [0] * n_scan
        out_axes = node.attrs.get("scan_output_axes") or [0] * n_out
        out_back = node.attrs.get("scan_output_directions") or [0] * n_out
        xs = [np.moveaxis(x, axis, 0) for x, axis in zip(xs, in_axes, strict=True)]
        sizes = {x.shape[0] for x in xs}
        if len(sizes) > 1:
            raise ValueError(f"its scan inputs have different lengths: {sorted(sizes)}")
        total = sizes.pop() if sizes else 0
        steps = total if length is None else length
        scans: list[list[Any]] = [[] for _ in range(n_out)]
        for t in range(steps):
            if ctx is not None and ctx.cancelled is not None and ctx.cancelled():
                raise RunCancelled("the run was cancelled")
            slices = [x[steps - 1 - t] if back else x[t] for x, back in zip(xs, in_back, strict=True)]
            results = plan.run([*states, *slices, *captured], ctx)
            states = results[:n_state]
            for scan, value in zip(scans, results[n_state:], strict=True):
                scan.append(value)
        types = [v.type for v in node.attrs["body"].outputs[n_state:]]
        stacked = []
        for scan, axis, back, t_out in zip(scans, out_axes, out_back, types, strict=True):
            y = _stack(scan[::-1] if back else scan, axis, t_out)
            if length is not None and length < total:
                y = np.concatenate([y, np.zeros((total - length, *y.shape[1:]), y.dtype)])
            stacked.append(y)
        return states + stacked


def _stack(values: list[Any], axis: int, t: Any) -> np.ndarray:
    """Per-iteration tensors along a new axis; without iterations, an empty tensor of the body's declared type."""
    if values:
        shapes = {np.shape(v) for v in values}
        if len(shapes) > 1:
            raise ValueError(f"its iterations give scan outputs of different shapes: {sorted(map(list, shapes))}")
        first = np.asarray(values[0])
        check_size((len(values), *first.shape), first.itemsize)
        return np.stack([np.asarray(v) for v in values], axis)
    dtype, shape = (t.dtype, t.shape) if isinstance(t, TensorType) else (None, None)
    dims = [d if isinstance(d, int) else 0 for d in shape or ()]
    dims.insert(axis if axis >= 0 else axis + len(dims) + 1, 0)
    return np.zeros(dims, dtype if dtype is not None else np.float32)

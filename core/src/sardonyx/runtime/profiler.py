"""Profiles: time and bytes per node, as a table, as data, and as a Chrome trace."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sardonyx.ep import TensorInfo
from sardonyx.ir.dtypes import dtype_name
from sardonyx.ir.graph import Node, Value
from sardonyx.runtime import arguments
from sardonyx.runtime.explain import Placement
from sardonyx.runtime.planner import Placed
from sardonyx.runtime.work import Work, work_of

__all__ = ["NodeTime", "Profile"]

_TENSORS = (np.ndarray, np.generic, TensorInfo)


@dataclass
class NodeTime:
    """One execution of one node: times in ns since the profile began, bytes of its outputs together and each (`sizes`)."""

    node: str
    op: str
    ep: str
    origins: tuple[str, ...]
    start: int
    duration: int
    bytes: int
    shapes: list[str]
    thread: int
    sizes: list[int] = field(default_factory=list)


@dataclass
class Profile:
    """Executions in the order in which they ended. `record` is what a RunContext calls. `where` is the session's placement,
    `sizes` the sizes of symbolic dimensions in the runs, and `shapes` those of values that nodes made last."""

    events: list[NodeTime] = field(default_factory=list)
    runs: int = 0
    zero: int = field(default_factory=time.perf_counter_ns)
    begun: int = field(default_factory=time.time_ns)
    where: Placement | None = None
    sizes: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    shapes: dict[Value, tuple[int, ...]] = field(default_factory=dict)

    def record(self, node: Node, start: int, end: int, outputs: Sequence[Any], owner: str = "?") -> None:
        """Note one execution by the provider `owner`."""
        self.nodes[node.name] = node
        self.shapes |= {v: o.shape for v, o in zip(node.outputs, outputs, strict=False) if v is not None and isinstance(o, _TENSORS)}
        arrays = [o for o in outputs if isinstance(o, _TENSORS)]
        self.events.append(
            NodeTime(
                node.name,
                node.op,
                owner,
                node.origins,
                start - self.zero,
                end - start,
                sum(a.nbytes for a in arrays),
                [f"{dtype_name(a.dtype)}{list(a.shape)}" for a in arrays],
                threading.get_ident(),
                [getattr(o, "nbytes", 0) for o in outputs],
            )
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per node, the most expensive first: calls, total and mean time in µs, share, bytes of its outputs where they
        are known; `gflops` per second (products and convolutions) and `gbytes` per second (inputs and outputs once), or None."""
        total = sum(e.duration for e in self.events) or 1
        rows: dict[str, dict[str, Any]] = {}
        for e in self.events:
            row = rows.setdefault(
                e.node,
                {
                    "node": e.node,
                    "op": e.op,
                    "ep": e.ep,
                    "origins": list(e.origins),
                    "calls": 0,
                    "total_us": 0.0,
                    "bytes": e.bytes,
                    "shapes": e.shapes,
                },
            )
            row["calls"] += 1
            row["total_us"] += e.duration / 1000
        for row in rows.values():
            row["mean_us"] = row["total_us"] / row["calls"]
            row["share"] = row["total_us"] * 1000 / total
            work = self.work(row["node"])
            row["gflops"] = work.flops / row["mean_us"] / 1e3 if work is not None and work.flops and row["mean_us"] else None
            row["gbytes"] = work.bytes / row["mean_us"] / 1e3 if work is not None and row["mean_us"] else None
        return sorted(rows.values(), key=lambda r: -r["total_us"])

    def work(self, name: str) -> Work | None:
        """What a node has to do in one run, or None if its shapes are unknown."""
        node = self.nodes.get(name)
        return None if node is None else work_of(node, self.sizes, self.shapes)

    def by_op(self) -> list[dict[str, Any]]:
        """One row per operator and provider, the most expensive first."""
        ops: dict[tuple[str, str], dict[str, Any]] = {}
        for row in self.rows():
            op = ops.setdefault(
                (row["op"], row["ep"]), {"op": row["op"], "ep": row["ep"], "nodes": 0, "calls": 0, "total_us": 0.0, "share": 0.0}
            )
            op["nodes"] += 1
            for key in ("calls", "total_us", "share"):
                op[key] += row[key]
        return sorted(ops.values(), key=lambda r: -r["total_us"])

    def trace(self) -> list[dict[str, Any]]:
        """Chrome trace events (chrome://tracing, Perfetto)."""
        return [
            {
                "name": f"{e.op} {e.node}",
                "cat": "node",
                "ph": "X",
                "ts": e.start / 1000,
                "dur": e.duration / 1000,
                "pid": os.getpid(),
                "tid": e.thread,
                "args": {"op": e.op, "ep": e.ep, "origins": list(e.origins), "shapes": e.shapes, "bytes": e.bytes},
            }
            for e in self.events
        ]

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the Chrome trace as JSON; returns the path. Raises UnwritableFile, which is also an OSError."""
        from sardonyx.ir.replacing import writing

        target = arguments.path("the path of the profile", path)
        with writing(target) as f:
            f.write(json.dumps(self.trace()).encode())
        return target

    def to_dict(self) -> dict[str, Any]:
        """Rows and operators, for JSON."""
        return {"runs": self.runs, "nodes": self.rows(), "operators": self.by_op()}

    def to_html(self, *, title: str = "") -> str:
        """One self-contained page, which needs no network: the timeline of the last run, the memory of its values, the graph with
        the providers' colours and times, and why providers refused nodes."""
        from sardonyx.tools.page import page

        where = self.where
        if where is None:
            nodes = {e.node: Placed(e.node, e.op, "", 0, e.origins, e.ep, -1, {}) for e in self.events}
            where = Placement(list(nodes.values()), list(dict.fromkeys(e.ep for e in self.events)), [])
        return page(where, self, title=title)

    def __str__(self) -> str:
        lines = [f"{'operator':28} {'ep':8} {'nodes':>5} {'calls':>7} {'total ms':>10} {'share':>6}"]
        for r in self.by_op():
            lines.append(f"{r['op']:28} {r['ep']:8} {r['nodes']:5d} {r['calls']:7d} {r['total_us'] / 1000:10.3f} {r['share']:6.1%}")
        lines.append(f"\n{'node':40} {'operator':20} {'mean us':>10} {'share':>6}  outputs")
        for r in self.rows()[:40]:
            lines.append(f"{r['node'][:40]:40} {r['op'][:20]:20} {r['mean_us']:10.1f} {r['share']:6.1%}  {', '.join(r['shapes'])}")
        return "\n".join(lines)

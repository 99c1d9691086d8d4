"""What a session holds in memory, and giving back what it need not hold."""

from __future__ import annotations

import ctypes
import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sardonyx.ep.provider import Provider
from sardonyx.runtime.plan import Plan

__all__ = ["MemoryReport", "report_memory", "resident_bytes", "return_freed_memory"]

COUNTS = frozenset({"plans"})
ELSEWHERE = frozenset({"mapped"})


@dataclass
class MemoryReport:
    """Bytes by provider and kind: `mapped` (weights used where they lie in the file), `weights` (copies, folded ones),
    `packed` (weights in a provider's own form), `arenas` (working memory kept between runs), `device ...` (of a provider
    with memory of its own); `plans` is a count.

    `providers` is the session's own plan, `extra` the plans made for internal tensors (`extra_plans` of them), `source` the
    model's bytes where it was given as such, `resident` the memory of the process, None where the system does not say.
    Weights that sessions share count in each of them.
    """

    providers: dict[str, dict[str, int]] = field(default_factory=dict)
    extra: dict[str, dict[str, int]] = field(default_factory=dict)
    extra_plans: int = 0
    source: int = 0
    resident: int | None = None

    @property
    def total(self) -> int:
        """Bytes held, mapped ones left out."""
        parts = [*self.providers.values(), *self.extra.values()]
        return self.source + sum(n for kinds in parts for kind, n in kinds.items() if kind not in COUNTS | ELSEWHERE)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain data for JSON."""
        return {
            "providers": self.providers,
            "extra": self.extra,
            "extra_plans": self.extra_plans,
            "source": self.source,
            "resident": self.resident,
            "total": self.total,
        }

    def __str__(self) -> str:
        rows = [("provider", "kind", "")]
        for part, title in ((self.providers, "{}"), (self.extra, "{} (internal tensors)")):
            rows += [(title.format(ep), kind, _amount(kind, n)) for ep, kinds in part.items() for kind, n in kinds.items()]
        rows += [("session", "model bytes", _size(self.source))] if self.source else []
        rows += [("session", "total, without mapped", _size(self.total))]
        rows += [("process", "resident", _size(self.resident))] if self.resident is not None else []
        return "\n".join(f"{where:28} {kind:24} {amount:>12}" for where, kind, amount in rows)


def _amount(kind: str, n: int) -> str:
    return str(n) if kind in COUNTS else _size(n)


def _size(n: int) -> str:
    return f"{n / 1024:.1f} KiB" if n < 1 << 20 else f"{n / (1 << 20):.1f} MiB"


def report_memory(plan: Plan, extra: Iterable[Plan], providers: Iterable[Provider], source: int) -> MemoryReport:
    """The report of a session with these plans."""
    more = list(extra)
    report = MemoryReport(_by_provider([plan]), _by_provider(more), len(more), source, resident_bytes())
    for p in providers:
        for kind, n in (p.allocator.stats() if p.allocator is not None else {}).items():
            report.providers.setdefault(p.name, {})[f"device {kind}"] = n
    return report


def _by_provider(plans: list[Plan]) -> dict[str, dict[str, int]]:
    found: dict[str, Counter[str]] = {}
    for plan in plans:
        for owner, executable in plan.executables():
            found.setdefault(owner, Counter()).update(executable.memory())
    return {owner: dict(sorted(kinds.items())) for owner, kinds in found.items()}


def resident_bytes() -> int | None:
    """Physical memory of this process, None where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


@functools.lru_cache(maxsize=1)
def _malloc_trim() -> Callable[[int], int] | None:
    try:
        function: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
        return function
    except (OSError, AttributeError, TypeError):
        return None


def return_freed_memory() -> None:
    """Let the C library give freed memory back to the system, where it can be asked to."""
    trim = _malloc_trim()
    if trim is not None:
        trim(0)

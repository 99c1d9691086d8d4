"""What a session holds in memory, and giving back what it need not hold."""

from __future__ import annotations

import ctypes
import functools
import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sardonyx.ep.provider import Executable, Provider
from sardonyx.runtime.plan import Plan, live_plans

__all__ = ["MemoryReport", "report_memory", "resident_bytes", "return_freed_memory"]

COUNTS = frozenset({"plans"})
ELSEWHERE = frozenset({"mapped"})


@dataclass
class MemoryReport:
    """Bytes by provider and kind: `mapped` (weights used where they lie in the file or in given bytes), `weights` (copies, folded
    ones), `packed` (weights in a provider's own form), `arenas` (working memory kept between runs), `device ...` (of a provider
    with memory of its own); `plans` is a count.

    `providers` is the session's own plan, `extra` the plans made for internal tensors (`extra_plans` of them), `source` the
    model's bytes where it was given as such, `resident` the memory of the process, None where the system does not say.
    What several of the session's plans use counts once, in the first of them; `shared` is what of the whole other sessions
    hold as well, each of which counts it too.
    """

    providers: dict[str, dict[str, int]] = field(default_factory=dict)
    extra: dict[str, dict[str, int]] = field(default_factory=dict)
    extra_plans: int = 0
    source: int = 0
    resident: int | None = None
    shared: int = 0

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
            "shared": self.shared,
        }

    def __str__(self) -> str:
        rows = [("provider", "kind", "")]
        for part, title in ((self.providers, "{}"), (self.extra, "{} (internal tensors)")):
            rows += [(title.format(ep), kind, _amount(kind, n)) for ep, kinds in part.items() for kind, n in kinds.items()]
        rows += [("session", "model bytes", _size(self.source))] if self.source else []
        rows += [("session", "total, without mapped", _size(self.total))]
        rows += [("session", "of it, shared with others", _size(self.shared))] if self.shared else []
        rows += [("process", "resident", _size(self.resident))] if self.resident is not None else []
        return "\n".join(f"{where:28} {kind:24} {amount:>12}" for where, kind, amount in rows)


def _amount(kind: str, n: int) -> str:
    return str(n) if kind in COUNTS else _size(n)


def _size(n: int) -> str:
    return f"{n / 1024:.1f} KiB" if n < 1 << 20 else f"{n / (1 << 20):.1f} MiB"


def report_memory(plan: Plan, extra: Iterable[Plan], providers: Iterable[Provider], source: int) -> MemoryReport:
    """The report of a session with these plans."""
    more = list(extra)
    own = _Tally()
    report = MemoryReport(own.count(plan.executables()), own.count(e for p in more for e in p.executables()), len(more), source)
    report.resident = resident_bytes()
    others = _Tally()
    others.count((owner, e) for p in live_plans() for owner, e in p.executables() if id(e) not in own.executables)
    report.shared = sum(n for part, n in own.parts.items() if part in others.parts)
    for p in providers:
        for kind, n in (p.allocator.stats() if p.allocator is not None else {}).items():
            report.providers.setdefault(p.name, {})[f"device {kind}"] = n
    return report


class _Tally:
    """Bytes by provider and kind. Each executable, and each part that several tell of, counts once; `parts` are those that are
    not elsewhere, with their bytes."""

    def __init__(self) -> None:
        self.parts: dict[Hashable, int] = {}
        self.executables: set[int] = set()
        self._mapped: set[Hashable] = set()

    def count(self, executables: Iterable[tuple[str, Executable]]) -> dict[str, dict[str, int]]:
        found: dict[str, Counter[str]] = {}
        for owner, executable in executables:
            if id(executable) not in self.executables:
                self.executables.add(id(executable))
                kinds = found.setdefault(owner, Counter())
                for kind, amount in executable.memory().items():
                    kinds[kind] += amount if isinstance(amount, int) else self._new(kind, amount)
        return {owner: dict(sorted(kinds.items())) for owner, kinds in found.items()}

    def _new(self, kind: str, parts: Mapping[Hashable, int]) -> int:
        new = {part: n for part, n in parts.items() if part not in self.parts and part not in self._mapped}
        if kind in ELSEWHERE:
            self._mapped.update(new)
        else:
            self.parts.update(new)
        return sum(new.values())


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

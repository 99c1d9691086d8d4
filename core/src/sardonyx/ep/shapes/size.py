"""Whether an output that shapes or attributes ask for can exist in this machine's memory."""

from __future__ import annotations

import os
from collections.abc import Iterable
from math import prod
from pathlib import Path

from sardonyx.errors import NodeError

__all__ = ["available_memory", "check_size"]

ALWAYS = 1 << 28
MEMORY, GROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def check_size(shape: Iterable[int], itemsize: int = 1) -> None:
    """NodeError if an array of `shape` and `itemsize` would not fit the memory that is free; sizes up to 256 MiB always do.

    For kernels whose output may be far larger than their inputs: the system promises memory that it does not have, and ends
    the process when it is used.
    """
    need = prod(shape) * itemsize
    if need > ALWAYS and (free := available_memory()) is not None and need > free:
        raise NodeError(f"an output of shape {list(shape)} needs {_size(need)} of memory, and {_size(free)} are free")


def available_memory() -> int | None:
    """Bytes that this process can still get: what the system has free, within the limits of its control group and its own
    address space. None where the system does not say."""
    limits = [v for v in (_system(), _group(), _address_space()) if v is not None]
    return max(0, min(limits)) if limits else None


def _system() -> int | None:
    try:
        lines = dict(line.split(":") for line in MEMORY.read_text().splitlines())
        return sum(int(lines[k].split()[0]) for k in ("MemAvailable", "SwapFree")) << 10
    except (OSError, KeyError, ValueError):
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            return None


def _group() -> int | None:
    for most, used, kept in (
        (GROUP / "memory.max", GROUP / "memory.current", "inactive_file "),
        (GROUP / "memory/memory.limit_in_bytes", GROUP / "memory/memory.usage_in_bytes", "total_inactive_file "),
    ):
        try:
            stat = most.with_name("memory.stat").read_text()
            reclaimable = next((int(line.split()[1]) for line in stat.splitlines() if line.startswith(kept)), 0)
            return int(most.read_text()) - int(used.read_text()) + reclaimable
        except (OSError, ValueError):
            continue
    return None


def _address_space() -> int | None:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        return limit - int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError):
        return None


def _size(count: int) -> str:
    return f"{count / (1 << 30):,.1f} GiB"

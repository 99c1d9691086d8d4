"""Python's garbage collector, off while many objects that stay are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]


@contextmanager
def collector_paused() -> Iterator[None]:
    """No collection within, and one of what was made in the meantime afterwards, before the graphs that are garbage by then count
    as old. Whoever finds the collector running starts it again; nested and parallel use is fine."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
            gc.collect(0)

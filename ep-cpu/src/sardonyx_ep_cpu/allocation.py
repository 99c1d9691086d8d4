"""How long malloc keeps the memory of arrays that are gone."""

from __future__ import annotations

import functools

import numpy as np

__all__ = ["keep_freed_memory"]

_LARGEST = (32 << 20) - (64 << 10)


@functools.lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Let malloc keep up to 64 MiB of freed memory for the next arrays. Once per process; never fails.

    glibc gives memory back to the system above a threshold, and every array in fresh memory is faulted in page by page: a
    fifth to a third of the time of a small convolution net. Freeing one block of its own mapping of nearly 32 MiB, the
    most that counts, raises that threshold (mallopt(3), M_MMAP_THRESHOLD). The block is never touched and so costs nothing.
    Without effect on other allocators.
    """
    np.empty(_LARGEST, np.uint8)

"""BLAS threads. The limit belongs to the process: it is set when a run wants another one than the last run did."""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["set_threads"]

_current = 0


@functools.lru_cache(maxsize=1)
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def set_threads(count: int) -> None:
    """Let BLAS use `count` threads from now on."""
    global _current
    if count != _current:
        for library in _controller().lib_controllers:
            library.set_num_threads(count)
        _current = count

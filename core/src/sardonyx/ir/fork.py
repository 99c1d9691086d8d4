"""Locks that a forked child finds open, whatever other threads of its parent held when it forked."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from typing import Any

__all__ = ["ForkLock"]

_locks: weakref.WeakSet[ForkLock] = weakref.WeakSet()


class ForkLock:
    """A re-entrant lock for `with`. What it guards must be whole, or a cache that can be filled again, at any moment: the
    child goes on from the state at the fork."""

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: Any) -> None:
        # A fork inside `with` has replaced the lock that was taken.
        with contextlib.suppress(RuntimeError):
            self._lock.release()

    def renew(self) -> None:
        """Be open, whoever holds it."""
        self._lock = threading.RLock()


def _renew_all() -> None:
    for lock in list(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)

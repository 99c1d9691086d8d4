"""Runs in the background: threads of the process's own, callbacks, and coroutines that can be cancelled."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sardonyx.errors import InvalidType, RunTimeout
from sardonyx.runtime import arguments

__all__ = ["run_coroutine", "run_with_callback"]

logger = logging.getLogger("sardonyx")
_pool: ThreadPoolExecutor | None = None
_lock = threading.Lock()


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(thread_name_prefix="sardonyx-run")
        return _pool


def _forget() -> None:
    """A forked child has none of its parent's threads."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def run_with_callback(run: Callable[[], list[Any]], callback: Any, user_data: Any) -> None:
    """Call run() in a thread, then callback(results, user_data, error): error is "" for success, and results [] for failure.
    What the callback raises is logged."""
    if not callable(callback):
        raise InvalidType(f"callback is a function (results, user_data, error), not {type(callback).__name__}")

    def work() -> None:
        results: list[Any] = []
        error = ""
        try:
            results = run()
        except Exception as e:
            error = str(e) or type(e).__name__
        try:
            callback(results, user_data, error)
        except Exception:
            logger.exception("the callback of run_async raised")

    _threads().submit(work)


async def run_coroutine(run: Callable[[bytearray], list[Any]], timeout: float | None) -> list[Any]:
    """Await run(flag) in a thread. Where the task is cancelled, or `timeout` seconds have passed (RunTimeout), the flag's
    byte is set, and the run ends before its next node."""
    if timeout is not None:
        timeout = arguments.number("timeout", timeout)
    flag = bytearray(1)
    future = asyncio.get_running_loop().run_in_executor(_threads(), run, flag)
    try:
        return await asyncio.wait_for(future, timeout)
    except TimeoutError:
        raise RunTimeout(f"the run was cancelled: it took longer than {timeout} s") from None
    finally:
        flag[0] = 1

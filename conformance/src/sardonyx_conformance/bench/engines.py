"""The engines that can be timed, which are core's: how a model is loaded in one, in two steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sardonyx
from sardonyx.tools.engines import import_engine, known_engine, open_engine

__all__ = ["check_engine", "prepare"]

Feeds = dict[str, np.ndarray]
Runner = Callable[[], list[Any]]


def check_engine(engine: str) -> None:
    """InvalidInput for an engine nobody knows, ProviderError for a provider that cannot be used."""
    known_engine(engine)


def prepare(engine: str) -> Callable[[str, Feeds, int], Runner]:
    """Import an engine, so that what follows is its work on the model: (path, feeds, threads) -> a function that runs it."""
    import_engine(engine)
    sardonyx.get_available_providers()
    return lambda path, feeds, threads: open_engine(engine, path, threads=threads, feeds=feeds).bound(feeds)

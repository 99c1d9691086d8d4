"""The provider under test: strict sessions on it alone, and what it does not claim as a skip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest

import sardonyx
from sardonyx.errors import NotSupported
from sardonyx.runtime import discovery
from sardonyx_conformance.ledger import Ledger, find_ledger

__all__ = ["NOT_CLAIMED", "VARIANTS", "Target"]

VARIANTS = ("raw", "optimized")
NOT_CLAIMED = "not claimed: "
LEVELS = {
    "raw": sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "optimized": sardonyx.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
COMPANIONS = {"host", "control flow"}


class Target:
    """A provider by its name, with its ledger. Raises sardonyx's InvalidInput or ProviderError if it cannot be used."""

    def __init__(self, ep: str, ledger: str | None = None):
        self.status = discovery.find(ep)[0]
        self.ep = self.status.name
        self.ledger: Ledger = find_ledger(self.status.module, ledger)

    def options(self, variant: str) -> sardonyx.SessionOptions:
        """Strict, one thread, with optimizations off (raw) or on (optimized)."""
        options = sardonyx.SessionOptions()
        options.strict = True
        options.intra_op_num_threads = 1
        options.graph_optimization_level = LEVELS[variant]
        return options

    def session(self, model: Any, variant: str = "optimized") -> sardonyx.InferenceSession:
        """A session whose nodes all run on this provider. Skips the test if it does not claim one of them."""
        try:
            session = sardonyx.InferenceSession(model, self.options(variant), providers=[self.ep])
        except NotSupported as e:
            pytest.skip(NOT_CLAIMED + _short(str(e)))
        self.check_placement(session)
        return session

    def check_placement(self, session: sardonyx.InferenceSession) -> None:
        """AssertionError if a node runs elsewhere than on this provider (shape nodes and control flow aside)."""
        strangers = {n.node: n.ep for n in session.explain().nodes if n.ep not in COMPANIONS and n.ep != self.ep}
        if strangers:
            node, ep = next(iter(strangers.items()))
            raise AssertionError(f"{len(strangers)} nodes ran elsewhere than on {self.ep!r}: {node!r} on {ep!r}")

    def run(self, model: onnx.ModelProto, feeds: dict[str, Any], variant: str = "optimized") -> list[Any]:
        """The model's outputs."""
        return self.session(model, variant).run(None, feeds)


def writable(values: Sequence[Any]) -> list[Any]:
    """The values with every array copied, so that no test sees what another did to them."""
    return [x.copy() if isinstance(x, np.ndarray) else x for x in values]


def _short(message: str) -> str:
    """The reasons out of a NotSupported message, in one line."""
    lines = [line.strip() for line in message.splitlines()[1:] if line.strip()]
    return " | ".join(lines[:6]) or message

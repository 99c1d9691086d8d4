"""Whether SessionOptions.assign speaks of nodes and providers that exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sardonyx.errors import InvalidInput, did_you_mean
from sardonyx.ir.graph import Graph
from sardonyx.runtime import discovery
from sardonyx.runtime.planner import Placed

__all__ = ["check_names", "names_of", "resolve_wishes"]


def resolve_wishes(assign: dict[str, str], providers: list[str]) -> dict[str, str]:
    """`assign` with aliases of providers as their names. InvalidInput for a provider that the session does not have."""
    resolved = {}
    for key, wanted in assign.items():
        names = [wanted] if wanted in providers else [s.name for s in discovery.find(str(wanted)) if s.name in providers]
        if not names:
            have = ", ".join(map(repr, providers))
            raise InvalidInput(f"assign sends {key!r} to {wanted!r}, which the session does not have: add it to providers= ({have})")
        resolved[key] = names[0]
    return resolved


def names_of(graph: Graph) -> set[str]:
    """What `assign` may call the nodes of a graph, bodies included."""
    return {name for n in graph.walk_nodes() for name in (n.name, n.op, n.title, *n.origins)}


def check_names(assign: Mapping[str, str], known: set[str], placed: Iterable[Placed]) -> None:
    """InvalidInput for a key that is neither a node nor an operator of the model, as loaded or as optimized."""
    if not assign:
        return
    known = known | {name for p in placed for name in (p.node, p.op, f"{p.domain}::{p.op}", *p.origins)}
    for key in assign:
        if key not in known:
            raise InvalidInput(f"assign names {key!r}, which is neither a node nor an operator of the model{did_you_mean(key, known)}")

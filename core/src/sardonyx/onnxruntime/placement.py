"""Which nodes run on which provider, in onnxruntime's words."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from sardonyx.onnxruntime.providers import names_of

if TYPE_CHECKING:
    from sardonyx.runtime.session import InferenceSession

__all__ = ["OrtEpAssignedNode", "OrtEpAssignedSubgraph", "subgraphs"]


class OrtEpAssignedNode:
    """A node: `name`, `domain`, `op_type`."""

    def __init__(self, name: str, domain: str, op_type: str):
        self.name, self.domain, self.op_type = name, domain, op_type


class OrtEpAssignedSubgraph:
    """Nodes that one provider runs: `ep_name`, `get_nodes()`."""

    def __init__(self, ep_name: str, nodes: list[OrtEpAssignedNode]):
        self.ep_name, self._nodes = ep_name, nodes

    def get_nodes(self) -> list[OrtEpAssignedNode]:
        """The nodes."""
        return list(self._nodes)


def subgraphs(session: InferenceSession) -> list[OrtEpAssignedSubgraph]:
    """The nodes of a session by provider, in the order in which they run; what core runs itself is the first provider's."""
    own = session.get_providers()
    found = []
    for ep, nodes in groupby(session.explain().nodes, lambda n: names_of([n.ep if n.ep in own else own[-1]], ())[0]):
        found.append(OrtEpAssignedSubgraph(ep, [OrtEpAssignedNode(n.node, n.domain, n.op) for n in nodes]))
    return found

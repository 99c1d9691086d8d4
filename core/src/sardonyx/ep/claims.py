"""Claims read off a kernel table."""

from __future__ import annotations

from sardonyx.ep.kernels import Kernel, KernelSet
from sardonyx.ep.provider import Claim, Refusal
from sardonyx.ir.dtypes import dtype_name
from sardonyx.ir.graph import Graph, Node
from sardonyx.ir.schema import schema

__all__ = ["claim_kernels", "claim_node"]


def claim_kernels(graph: Graph, kernels: KernelSet) -> dict[Node, Claim | Refusal]:
    """A claim or a refusal for every node of the graph."""
    return {node: claim_node(node, kernels) for node in graph.nodes}


def claim_node(node: Node, kernels: KernelSet) -> Claim | Refusal:
    """Whether the table has a kernel for this node: operator, version, attributes, dtypes, constants."""
    if node.bodies:
        return Refusal("control flow")
    kernel = kernels.find(node.domain, node.op, node.since)
    if kernel is None:
        known = kernels.versions(node.domain, node.op)
        have = f"only for version {', '.join(str(k.since) for k in known)}" if known else "at all"
        return Refusal(f"no kernel for {node.title}-{node.since}" if known else f"no kernel for {node.title} {have}")
    reason = _mismatch(node, kernel)
    if reason is None and kernel.refuse is not None:
        reason = kernel.refuse(node)
    return Refusal(reason) if reason else Claim(kernel.host, kernel.const, kernel.host_outputs)


def _mismatch(node: Node, kernel: Kernel) -> str | None:
    extra = node.attrs.keys() - kernel.attributes
    if extra:
        return f"its kernel does not take attribute {sorted(extra)[0]!r}"
    for i in kernel.const:
        v = node.input(i)
        if v is not None and v.const is None:
            return f"input {i} must be a constant"
    return _types(node, kernel) if kernel.types else None


def _types(node: Node, kernel: Kernel) -> str | None:
    assert kernel.types is not None
    known = schema(node.domain, node.op, node.since)
    for values, formal in ((node.inputs, known.input if known else None), (node.outputs, known.output if known else None)):
        for i, v in enumerate(values):
            variable = formal(i) if formal is not None else None
            allowed = kernel.types.get(variable.type if variable is not None else "T")
            if v is None or allowed is None:
                continue
            if v.dtype is None:
                return f"the dtype of {v.name!r} is unknown"
            if v.dtype not in allowed:
                return f"{v.name!r} is {dtype_name(v.dtype)}; its kernel takes {', '.join(dtype_name(t) for t in allowed)}"
    return None

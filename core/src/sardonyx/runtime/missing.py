"""What to say of a tensor that was asked for by name and is not there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sardonyx.errors import InvalidInput, SardonyxError, did_you_mean

__all__ = ["no_tensor"]


def no_tensor(name: str, source: Any, known: Iterable[str], outputs: Sequence[str]) -> InvalidInput:
    """The error for a tensor `name` that the loaded model lacks: where the file (`source`: path, bytes or ModelProto; a list of such
    is not looked into) has it, and names that are like it."""
    hint = "" if isinstance(source, list) else _in_file(name, source)
    like = "" if hint else did_you_mean(name, known)
    return InvalidInput(f"the model has no tensor {name!r}{hint}; its outputs are {list(outputs)}{like}")


def _in_file(name: str, source: Any) -> str:
    from sardonyx.tools.original import skeleton

    try:
        graph = skeleton(source).graph
    except SardonyxError:
        return ""
    stack: list[tuple[Any, str]] = [(graph, "")]
    while stack:
        inside, owner = stack.pop()
        for node in inside.node:
            who = f"node {node.name!r} ({node.op_type})" if node.name else f"a node {node.op_type}"
            if name in node.output:
                return _where(list(node.output).index(name), who, owner)
            for a in node.attribute:
                stack += [(g, who) for g in ((a.g,) if a.HasField("g") else a.graphs)]
    return ""


def _where(index: int, who: str, owner: str) -> str:
    if owner:
        return f": it is of {who} in a body of {owner}, and only tensors of the main graph can be asked for"
    if index:
        return (
            f" once it is loaded: in the file it is output {index} of {who}, an optional one that nothing reads and that the newest form "
            "of the operator does not give, so loading left it out. Make it an output of the model to have it kept"
        )
    return f" once it is loaded: in the file it is an output of {who}, which loading replaced by other nodes"

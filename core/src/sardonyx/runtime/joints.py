"""Which output feeds which input of a pipeline: by name, or as a mapping says."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx.errors import InvalidInput
from sardonyx.ir.chain import Joint

__all__ = ["Place", "find_joints"]

# (stage, its inputs, its outputs)
Place = tuple[str, list[str], list[str]]


def find_joints(places: list[Place], mapping: Mapping[str, str | None]) -> list[Joint]:
    """The joints between stages in order. InvalidInput where a name of the mapping is unknown, ambiguous or against the order,
    where several earlier stages have an output of the name, and where a stage takes nothing from those before it."""
    order = [name for name, *_ in places]
    inputs = {(stage, i): None for stage, names, _ in places for i in names}
    outputs = {(stage, o): None for stage, _, names in places for o in names}
    told: dict[tuple[str, str], tuple[str, str] | None] = {}
    for key, value in mapping.items():
        target = _resolve(key, list(inputs), "input")
        source = (
            None
            if value is None
            else _resolve(value, [o for o in outputs if order.index(o[0]) < order.index(target[0])], "output", target[0])
        )
        told[target] = source
    joints: list[Joint] = []
    for position, (stage, names, _) in enumerate(places):
        earlier = [o for o in outputs if order.index(o[0]) < position]
        mine = [Joint(stage, i, *source) for i in names if (source := _feeds((stage, i), told, earlier)) is not None]
        if position and not mine and not any((stage, i) in told for i in names):
            have = ", ".join(".".join(o) for o in earlier) or "none"
            example = f'{{"{stage}.{names[0] if names else "input"}": "{".".join(earlier[-1]) if earlier else "stage.output"}"}}'
            raise InvalidInput(
                f"stage {stage!r} takes nothing from the stages before it: its inputs are {names}, their outputs are {have}; "
                f"say which feeds which, e.g. mapping={example}"
            )
        joints += mine
    return joints


def _feeds(
    target: tuple[str, str], told: dict[tuple[str, str], tuple[str, str] | None], earlier: list[tuple[str, str]]
) -> tuple[str, str] | None:
    if target in told:
        return told[target]
    found = [o for o in earlier if o[1] == target[1]]
    if len(found) > 1:
        stages = " and ".join(repr(stage) for stage, _ in found)
        choice = f'mapping={{"{".".join(target)}": "{".".join(found[-1])}"}}'
        raise InvalidInput(
            f"input {'.'.join(target)!r} could come from {stages}, which both have an output of that name; say which: {choice}"
        )
    return found[0] if found else None


def _resolve(text: str, places: list[tuple[str, str]], kind: str, before: str | None = None) -> tuple[str, str]:
    """The (stage, name) that a text of the mapping means."""
    found = [p for p in places if text in (".".join(p), p[1])]
    exact = [p for p in found if text == ".".join(p)]
    if len(exact) == 1 or len(found) == 1:
        return (exact or found)[0]
    where = f" before stage {before!r}" if before is not None else ""
    if found:
        raise InvalidInput(
            f"mapping: {text!r} is an {kind} of several stages{where}: write {' or '.join(repr('.'.join(p)) for p in found)}"
        )
    have = ", ".join(".".join(p) for p in places) or "none"
    raise InvalidInput(f"mapping: no stage{where} has an {kind} {text!r}; the {kind}s are: {have}")

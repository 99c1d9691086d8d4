"""Names that nothing else has."""

from __future__ import annotations

__all__ = ["fresh_name"]


def fresh_name(base: str, taken: set[str]) -> str:
    """`base`, or, where that is taken, `base` with a number from 2 on; the name is taken from then on."""
    name, count = base, 1
    while name in taken:
        count += 1
        name = f"{base}_{count}"
    taken.add(name)
    return name

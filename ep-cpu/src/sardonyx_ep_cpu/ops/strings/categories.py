"""Sets of characters by Unicode general category, as \\p{...} of RE2 names them: https://github.com/google/re2/wiki/Syntax"""

from __future__ import annotations

import unicodedata
from functools import cache

__all__ = ["is_category", "ranges_of_category"]

_MINORS = {"C": "cfos", "L": "lmotu", "M": "cen", "N": "dlo", "P": "cdefios", "S": "ckmo", "Z": "lps"}
_CATEGORIES = frozenset({"Any", *_MINORS, *(major + minor for major, minors in _MINORS.items() for minor in minors)})


def is_category(name: str) -> bool:
    """Whether RE2 has a general category of that name; what else \\p{...} may name there are scripts."""
    return name in _CATEGORIES


@cache
def ranges_of_category(name: str) -> str:
    """The first and last character of each range of that category, ascending, as one string. Unassigned characters are in Any only."""
    if name == "Any":
        return "\0\U0010ffff"
    bounds: list[str] = []
    inside = False
    for code, category in enumerate(_all_categories()):
        if (category.startswith(name) and category != "Cn") != inside:
            bounds.append(chr(code - inside))
            inside = not inside
    return "".join(bounds) + ("\U0010ffff" if inside else "")


@cache
def _all_categories() -> list[str]:
    return [unicodedata.category(chr(code)) for code in range(0x110000)]

"""Options that are checked where they are set, and the checks that only options need."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from sardonyx.errors import InvalidInput, InvalidType, did_you_mean
from sardonyx.runtime import arguments

__all__ = ["Check", "CheckedOptions", "add_entry", "assignments", "columns", "custom_ops", "one_of", "optional_path", "seed"]

Check = Callable[[str, Any], Any]


def one_of(kind: type[enum.IntEnum], what: str, value: Any) -> enum.IntEnum:
    """A member of an enumeration, or its number."""
    if isinstance(value, int) and not isinstance(value, bool) and value in set(map(int, kind)):
        return kind(value)
    have = ", ".join(str(member) for member in kind)
    raise InvalidType(f"{what} is one of {have}, not {arguments.shown(value)}")


def seed(what: str, value: Any) -> int | None:
    """A whole number, 0 or more, or None."""
    return None if value is None else arguments.whole(what, value, least=0, bits=64)


def assignments(what: str, value: Any) -> dict[str, str]:
    """A dict of names to names of providers."""
    form = "a dict of node, origin or operator name -> provider"
    arguments.instance(what, value, Mapping, form)
    return {arguments.text(f"each name in {what}", k): arguments.text(f"the provider of {k!r} in {what}", v) for k, v in value.items()}


def custom_ops(what: str, value: Any) -> list[Any]:
    """A list of custom operators."""
    from sardonyx.ep.custom_ops import CustomOp

    form = "a list of what @sardonyx.custom_op makes"
    return [arguments.instance(f"each of {what}", v, CustomOp, form) for v in arguments.instance(what, value, (list, tuple), form)]


def optional_path(what: str, value: Any) -> str:
    """The path of a file, or an empty text for none."""
    return "" if isinstance(value, str) and not value else arguments.path(what, value)


class CheckedOptions:
    """Options that are checked where they are set. `CHECKS` has for each its check; no other can be set."""

    CHECKS: ClassVar[dict[str, Check]]

    def __setattr__(self, name: str, value: Any) -> None:
        kind, check = type(self), self.CHECKS.get(name)
        if check is not None:
            value = check(f"{kind.__name__}.{name}", value)
        elif not name.startswith("_") and getattr(getattr(kind, name, None), "__set__", None) is None:
            raise AttributeError(f"{kind.__name__} has no option {name!r}{did_you_mean(name, self.CHECKS)}")
        super().__setattr__(name, value)


def add_entry(config: dict[str, str], of: str, key: Any, value: Any) -> None:
    """Put a configuration entry `of` a session or run into `config`."""
    if not arguments.text(f"the key of a {of} configuration entry", key):
        raise InvalidInput(f"the key of a {of} configuration entry is empty")
    config[key] = arguments.text(f"the value of {of} configuration entry {key!r}", value)


def columns(**columns: Any) -> list[tuple[Any, ...]]:
    """The rows of lists of one length."""
    for what, column in columns.items():
        arguments.instance(what, column, (list, tuple), "a list")
    if len({len(column) for column in columns.values()}) > 1:
        raise InvalidInput(f"{' and '.join(f'{len(column)} {what}' for what, column in columns.items())} were given: one of each is wanted")
    return list(zip(*columns.values(), strict=True))

"""Older versions of an operator whose attributes alone are others."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["older"]

NONE: Mapping[str, Any] = {}


def older(
    kernel: Callable[..., Any],
    *,
    without: tuple[str, ...] = (),
    ignored: Mapping[str, Any] = NONE,
    defaults: Mapping[str, Any] = NONE,
) -> Callable[..., Any]:
    """The kernel with the attributes of an older version: `without` some, some with other `defaults`, and with `ignored` ones
    (names with their defaults), which change nothing."""

    @functools.wraps(kernel)
    def version(*inputs: Any, **attributes: Any) -> Any:
        return kernel(*inputs, **{**defaults, **{name: value for name, value in attributes.items() if name not in ignored}})

    signature = inspect.signature(kernel)
    kept = [p.replace(default=defaults.get(p.name, p.default)) for p in signature.parameters.values() if p.name not in without]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value) for name, value in ignored.items()]
    version.__signature__ = signature.replace(parameters=kept + more)  # type: ignore[attr-defined]
    return version

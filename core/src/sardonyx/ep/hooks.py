"""The hooks of a plug-in: functions in the module that its entry point names. All are optional but the provider's.

An implementation is a module-level function marked with `hook`; it may take fewer arguments than the specification.
"""

from __future__ import annotations

from typing import Any

import pluggy

from sardonyx.ep.provider import ProviderInfo

__all__ = ["hook"]

specification = pluggy.HookspecMarker("sardonyx")
hook = pluggy.HookimplMarker("sardonyx")


class Hooks:
    """Specifications; see `hook`."""

    @specification
    def sardonyx_provider(self) -> ProviderInfo:  # type: ignore[empty-body]
        """The provider that this entry point stands for."""

    @specification
    def sardonyx_passes(self) -> list[Any]:  # type: ignore[empty-body]
        """Passes over the whole model that run after core's own."""

    @specification
    def sardonyx_cli(self, group: Any) -> None:
        """Add commands to the `sardonyx` command line (a click group)."""

    @specification
    def sardonyx_custom_ops(self) -> list[Any]:  # type: ignore[empty-body]
        """Custom operators, as `custom_op(..., register=False)` makes them."""

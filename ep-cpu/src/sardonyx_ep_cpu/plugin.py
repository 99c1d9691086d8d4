"""The entry point: hooks only; nothing here can fail."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import Provider, ProviderInfo, hook


def create(options: dict[str, Any]) -> Provider:
    """The provider; its kernels are imported here, when somebody uses it."""
    from sardonyx_ep_cpu.provider import CpuProvider

    return CpuProvider(options)


@hook
def sardonyx_provider() -> ProviderInfo:
    """The numpy provider."""
    return ProviderInfo(name="cpu", create=create, priority=0, description="every ONNX operator in numpy")

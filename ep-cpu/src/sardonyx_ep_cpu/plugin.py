"""The entry point: hooks only; nothing here can fail."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import Device, Provider, ProviderInfo, Unavailable, hook


def create(options: dict[str, Any]) -> Provider:
    """The provider."""
    from sardonyx_ep_cpu.provider import CpuProvider

    return CpuProvider(options)


def probe() -> list[Device] | Unavailable:
    """The host, where the kernels can be imported."""
    try:
        from sardonyx_ep_cpu import provider  # noqa: F401
    except ImportError as e:
        return Unavailable(f"its kernels cannot be imported ({e}); reinstall it: pip install --force-reinstall sardonyx-ep-cpu")
    return [Device("cpu", "host")]


@hook
def sardonyx_provider() -> ProviderInfo:
    """The numpy provider."""
    return ProviderInfo(name="cpu", create=create, priority=0, probe=probe, description="every ONNX operator in numpy")

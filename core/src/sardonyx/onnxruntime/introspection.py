"""Operators and kernels as onnxruntime's clients ask for them, and what compiled models say of devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sardonyx.ep.kernels import Kernel, KernelSet
from sardonyx.errors import SardonyxError
from sardonyx.ir.dtypes import dtype_name
from sardonyx.onnxruntime.devices import OrtEpDevice, OrtHardwareDevice
from sardonyx.onnxruntime.enums import OrtCompiledModelCompatibility, OrtDeviceEpIncompatibilityReason
from sardonyx.onnxruntime.errors import InvalidArgument, raises, status
from sardonyx.onnxruntime.providers import ort_name
from sardonyx.runtime import discovery

__all__ = [
    "KernelDef",
    "get_all_operator_schema",
    "get_all_opkernel_def",
    "get_compatibility_info_from_model",
    "get_compatibility_info_from_model_bytes",
    "get_hardware_device_ep_incompatibility_details",
    "get_model_compatibility_for_ep_devices",
    "get_registered_ep_kernel_defs",
]

OPEN_END = 2147483647


class KernelDef:
    """A kernel of a provider: `op_name`, `domain`, `provider`, `version_range` (first, last), `type_constraints` (type variable
    -> types)."""

    def __init__(self, op_name: str, domain: str, provider: str, versions: tuple[int, int], types: dict[str, list[str]]):
        self.op_name, self.domain, self.provider = op_name, domain, provider
        self.version_range, self.type_constraints = versions, types


def get_all_operator_schema() -> list[Any]:
    """The schemas of all versions of all operators, as onnx.defs has them."""
    from sardonyx.ir.schema import all_schemas

    return all_schemas()


def _kernels(state: discovery.ProviderStatus) -> list[KernelDef]:
    info = state.info
    if info is None or not state.usable:
        return []
    kernels = info.create(info.check_options({})).kernels
    name = ort_name(state)
    return [] if kernels is None else [KernelDef(k.op, k.domain, name, (k.since, _last(k, kernels)), _types(k)) for k in kernels]


def _last(kernel: Kernel, kernels: KernelSet) -> int:
    """The last version that a kernel is for: that before its `until`, or before the next kernel of the operator."""
    ends = [k.since for k in kernels.versions(kernel.domain, kernel.op) if k.since > kernel.since]
    return min((e for e in (*ends, kernel.until) if e is not None), default=OPEN_END + 1) - 1


def _types(kernel: Kernel) -> dict[str, list[str]]:
    return {name: [f"tensor({dtype_name(t)})" for t in types] for name, types in (kernel.types or {}).items()}


def get_all_opkernel_def() -> list[KernelDef]:
    """The kernels of the usable providers that have a table of kernels."""
    return [k for state in discovery.providers() for k in _kernels(state)]


def get_registered_ep_kernel_defs(ep_name: str) -> list[KernelDef]:
    """The kernels of one provider, by onnxruntime's name or its own. Raises InvalidArgument for an unknown one."""
    try:
        states = discovery.find(ep_name)
    except SardonyxError as e:
        raise status(InvalidArgument, str(e)) from e
    return [k for state in states for k in _kernels(state)]


def get_hardware_device_ep_incompatibility_details(ep_name: str, device: OrtHardwareDevice) -> dict[str, Any]:
    """Why a provider cannot use a device: a dict of `reasons_bitmask` (0: it can), `notes` and `error_code`. Raises
    InvalidArgument for a provider that is not installed."""
    states = [s for s in discovery.providers() if ep_name in (s.name, ort_name(s))]
    if not states:
        raise status(InvalidArgument, f"no provider {ep_name!r} is installed")
    if any(s.usable for s in states):
        return {"reasons_bitmask": 0, "notes": None, "error_code": 0}
    reason = OrtDeviceEpIncompatibilityReason.MISSING_DEPENDENCY
    return {"reasons_bitmask": int(reason), "notes": "; ".join(s.reason for s in states), "error_code": 0}


def get_model_compatibility_for_ep_devices(ep_devices: Sequence[OrtEpDevice], compatibility_info: str) -> OrtCompiledModelCompatibility:
    """Whether a compiled model suits devices: no provider here makes models that only some devices can run."""
    return OrtCompiledModelCompatibility.EP_NOT_APPLICABLE


@raises()
def get_compatibility_info_from_model(model_path: str, ep_type: str) -> str | None:
    """What a compiled model says of a provider's devices, None if nothing. Raises as a session does for a broken model."""
    from sardonyx.ir.load import load

    return load(model_path).metadata.get(f"ep_compatibility_info.{ep_type}")


@raises()
def get_compatibility_info_from_model_bytes(model_bytes: bytes, ep_type: str) -> str | None:
    """The same for the bytes of a model."""
    from sardonyx.ir.load import load

    return load(model_bytes).metadata.get(f"ep_compatibility_info.{ep_type}")

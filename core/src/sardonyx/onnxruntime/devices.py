"""Devices and memory as onnxruntime speaks of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sardonyx
from sardonyx.errors import InvalidInput, InvalidType
from sardonyx.onnxruntime.enums import (
    ArenaExtendStrategy,
    OrtAllocatorType,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfoDeviceType,
    OrtMemType,
)
from sardonyx.onnxruntime.providers import ort_name
from sardonyx.runtime import arguments, discovery

__all__ = [
    "OrtArenaCfg",
    "OrtDevice",
    "OrtEpDevice",
    "OrtHardwareDevice",
    "OrtMemoryInfo",
    "OrtSyncStream",
    "choose",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
    "device_of",
    "get_ep_devices",
    "get_hardware_devices",
]

# Name -> (type, PCI number of the maker)
KINDS = {
    "cpu": (0, 0),
    "cuda": (1, OrtDeviceVendorId.NVIDIA),
    "gpu": (1, 0),
    "webgpu": (1, 0),
    "fpga": (2, 0),
    "cann": (3, OrtDeviceVendorId.HUAWEI),
    "npu": (3, 0),
    "dml": (4, OrtDeviceVendorId.MICROSOFT),
}
MAKERS = {"AuthenticAMD": ("AMD", 0x1022), "GenuineIntel": ("Intel", 0x8086)}


class OrtDevice:
    """A place for memory. `OrtDevice.make("cuda", 0)`, or `OrtDevice(type, memory[, vendor], id)`, or `OrtDevice(device)`."""

    _type: int
    _memory: int
    _vendor: int
    _id: int

    def __init__(self, *of: Any):
        if len(of) == 1 and isinstance(of[0], OrtDevice):
            self._type, self._memory, self._vendor, self._id = of[0]._type, of[0]._memory, of[0]._vendor, of[0]._id
        elif len(of) in (3, 4) and all(isinstance(x, int) for x in of):
            self._type, self._memory, self._id = int(of[0]), int(of[1]), int(of[-1])
            self._vendor = int(of[2]) if len(of) == 4 else 0
        else:
            raise ValueError(f"an OrtDevice is made by OrtDevice.make(name, id), not from {of!r}")

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """The device of a name such as "cpu" or "cuda"; Exception for a name onnxruntime does not know."""
        arguments.whole("device_id", device_id)
        if arguments.text("the name of a device", ort_device_name) not in KINDS:
            raise Exception(f"Unsupported device type: {ort_device_name}")
        kind, maker = KINDS[ort_device_name]
        return OrtDevice(kind, 0, int(maker if vendor_id < 0 else vendor_id), device_id)

    def _get_c_device(self) -> OrtDevice:
        return self

    def name(self) -> str:
        """The first name of its type."""
        same = [n for n, (kind, maker) in KINDS.items() if kind == self._type and maker in (0, self._vendor)]
        return next((n for n in same if KINDS[n][1] == self._vendor), same[0] if same else "unknown")

    def device_id(self) -> int:
        """Its number among devices of its type."""
        return self._id

    def device_type(self) -> int:
        """Its type as a number."""
        return self._type

    def device_mem_type(self) -> int:
        """Its kind of memory as a number."""
        return self._memory

    def device_vendor_id(self) -> int:
        """PCI number of its maker, 0 if unknown."""
        return self._vendor

    mem_type, vendor_id = device_mem_type, device_vendor_id

    @staticmethod
    def default_memory() -> int:
        """The number of a device's own memory."""
        return 0


def _number(kind: int, name: str) -> Any:
    def number() -> int:
        return kind

    number.__name__, number.__doc__ = name, f"The number of type {name}."
    return staticmethod(number)


for _name, (_kind, _) in KINDS.items():
    setattr(OrtDevice, _name, _number(_kind, _name))


def device_of(device: str | OrtDevice, device_id: int = 0) -> tuple[str, int]:
    """(name, number) of a device or of its name; Exception for a name onnxruntime does not know."""
    made = device if isinstance(device, OrtDevice) else OrtDevice.make(device, device_id)
    return (device if isinstance(device, str) else made.name()), made.device_id()


class OrtMemoryInfo:
    """Which memory: a name of the caller's, an allocator, a device and a purpose."""

    def __init__(self, name: str, allocator_type: OrtAllocatorType, device_id: int, mem_type: OrtMemType):
        self.name, self.allocator_type = str(name), OrtAllocatorType(allocator_type)
        self.device_id, self.mem_type = int(device_id), OrtMemType(mem_type)
        self.device_mem_type, self.device_vendor_id = OrtDeviceMemoryType.DEFAULT, 0

    @staticmethod
    def create_v2(
        name: str,
        device_type: OrtMemoryInfoDeviceType,
        vendor_id: int,
        device_id: int,
        device_mem_type: OrtDeviceMemoryType,
        alignment: int,
        allocator_type: OrtAllocatorType,
    ) -> OrtMemoryInfo:
        """The same with the kind and maker of the device."""
        OrtMemoryInfoDeviceType(device_type), int(alignment)
        made = OrtMemoryInfo(name, allocator_type, device_id, OrtMemType.DEFAULT)
        made.device_mem_type, made.device_vendor_id = OrtDeviceMemoryType(device_mem_type), int(vendor_id)
        return made


class OrtArenaCfg:
    """Sizes of an arena: `OrtArenaCfg(max_mem, extend strategy, first chunk, dead bytes)` or a dict; -1 or 0: default."""

    def __init__(self, *of: Any):
        self.max_mem = 0
        self.arena_extend_strategy = self.initial_chunk_size_bytes = self.max_dead_bytes_per_chunk = -1
        self.initial_growth_chunk_size_bytes = self.max_power_of_two_extend_bytes = -1
        if len(of) == 1 and isinstance(of[0], Mapping):
            for key, value in of[0].items():
                if key not in self.__dict__:
                    raise RuntimeError(f"an arena has no option {key!r}; its options are {', '.join(self.__dict__)}")
                setattr(self, key, int(ArenaExtendStrategy(value)) if key == "arena_extend_strategy" and value != -1 else int(value))
        elif len(of) == 4:
            self.max_mem, self.arena_extend_strategy, self.initial_chunk_size_bytes, self.max_dead_bytes_per_chunk = map(int, of)
        else:
            raise InvalidType("OrtArenaCfg takes a dict, or four numbers: max_mem, strategy, first chunk, dead bytes per chunk")


def create_and_register_allocator(mem_info: OrtMemoryInfo, arena_cfg: OrtArenaCfg | None) -> None:
    """Checks its arguments. There is nothing to register: sessions of one model share their weights, and every provider keeps
    the memory of its device for all sessions."""
    if not isinstance(mem_info, OrtMemoryInfo) or not isinstance(arena_cfg, (OrtArenaCfg, type(None))):
        raise InvalidType("an allocator is described by an OrtMemoryInfo and an OrtArenaCfg or None")


def create_and_register_allocator_v2(
    provider_type: str, mem_info: OrtMemoryInfo, options: Mapping[str, str], arena_cfg: OrtArenaCfg | None
) -> None:
    """As create_and_register_allocator, for a provider by name; InvalidInput if there is no such provider."""
    discovery.find(provider_type)
    create_and_register_allocator(mem_info, arena_cfg)


class OrtSyncStream:
    """An order of work on a device. On the host, work is done when the call returns."""

    def get_handle(self) -> int:
        """The device's own number of the stream; 0: its default."""
        return 0


class OrtHardwareDevice:
    """A device: `type`, `vendor`, `vendor_id`, `device_id`, `metadata`."""

    def __init__(self, type: OrtHardwareDeviceType, vendor: str, vendor_id: int, device_id: int, metadata: dict[str, str]):
        self.type, self.vendor, self.vendor_id = type, vendor, vendor_id
        self.device_id, self.metadata = device_id, metadata


class OrtEpDevice:
    """A device that a provider can use: `ep_name`, `ep_vendor`, `ep_metadata`, `ep_options`, `device`."""

    def __init__(self, ep_name: str, ep_vendor: str, version: str, device: OrtHardwareDevice, memory: str):
        self.ep_name, self.ep_vendor, self.device, self._memory = ep_name, ep_vendor, device, memory
        self.ep_metadata = {"version": version}
        self.ep_options: dict[str, str] = {}

    def memory_info(self, memory_type: OrtDeviceMemoryType) -> OrtMemoryInfo | None:
        """The memory of the device; None where it is the host's."""
        if self._memory == "host":
            return None
        made = OrtMemoryInfo(self._memory, OrtAllocatorType.ORT_DEVICE_ALLOCATOR, self.device.device_id, OrtMemType.DEFAULT)
        made.device_mem_type, made.device_vendor_id = OrtDeviceMemoryType(memory_type), self.device.vendor_id
        return made

    def create_sync_stream(self) -> OrtSyncStream:
        """A stream of the device; RuntimeError on the host, whose work is never under way."""
        if self._memory == "host":
            raise RuntimeError(f"{self.ep_name} works in host memory and has no streams")
        return OrtSyncStream()


def _maker() -> tuple[str, int]:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as f:
            line = next((line for line in f if line.startswith("vendor_id")), "")
    except OSError:
        line = ""
    return MAKERS.get(line.partition(":")[2].strip(), ("", 0))


def get_ep_devices() -> list[OrtEpDevice]:
    """Each device of each usable provider; the providers that work in host memory count as one."""
    found: dict[tuple[str, int], OrtEpDevice] = {}
    for state in discovery.providers():
        for d in state.devices if state.usable else ():
            vendor, vendor_id = _maker() if d.kind == "cpu" else (d.name.partition(" ")[0], 0)
            kind = {"cpu": OrtHardwareDeviceType.CPU, "npu": OrtHardwareDeviceType.NPU}.get(d.kind, OrtHardwareDeviceType.GPU)
            hardware = OrtHardwareDevice(kind, vendor, vendor_id, d.id, {"name": d.name})
            name = ort_name(state)
            memory = state.info.memory if state.info is not None else "host"
            found.setdefault((name, d.id), OrtEpDevice(name, "Sardonyx", state.version or sardonyx.__version__, hardware, memory))
    return list(found.values())


def get_hardware_devices() -> list[OrtHardwareDevice]:
    """The devices that the usable providers find."""
    found: dict[tuple[int, str, int], OrtHardwareDevice] = {}
    for d in get_ep_devices():
        found.setdefault((int(d.device.type), d.device.vendor, d.device.device_id), d.device)
    return list(found.values())


def choose(policy: OrtExecutionProviderDevicePolicy) -> list[OrtEpDevice]:
    """The devices that a policy prefers, most wanted first; those of other kinds are left out, but for the host's."""
    policies = OrtExecutionProviderDevicePolicy
    kinds = OrtHardwareDeviceType
    order = {
        policies.PREFER_CPU: [kinds.CPU],
        policies.PREFER_NPU: [kinds.NPU, kinds.CPU],
        policies.PREFER_GPU: [kinds.GPU, kinds.CPU],
        policies.MAX_PERFORMANCE: [kinds.GPU, kinds.NPU, kinds.CPU],
        policies.MAX_EFFICIENCY: [kinds.NPU, kinds.CPU],
        policies.MIN_OVERALL_POWER: [kinds.NPU, kinds.CPU],
    }.get(policy, [kinds.CPU])
    devices = get_ep_devices()
    if not devices:
        raise InvalidInput("no provider is installed: pip install sardonyx-ep-cpu")
    return [d for kind in order for d in devices if d.device.type == kind]

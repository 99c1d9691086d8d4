"""onnxruntime's names of providers, and what they mean here.

A plug-in goes by the alias that ends in ExecutionProvider; those that work in host memory and have none are together
CPUExecutionProvider. The plug-ins' own names are taken too.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sardonyx.errors import InvalidType, SardonyxError
from sardonyx.runtime import discovery

__all__ = [
    "CPU",
    "KNOWN",
    "check_and_normalize_provider_args",
    "expand",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "names_of",
    "ort_name",
]

CPU = "CPUExecutionProvider"
KNOWN = (
    "TensorrtExecutionProvider",
    "NvTensorRTRTXExecutionProvider",
    "CUDAExecutionProvider",
    "MIGraphXExecutionProvider",
    "ROCMExecutionProvider",
    "OpenVINOExecutionProvider",
    "DnnlExecutionProvider",
    "VitisAIExecutionProvider",
    "QNNExecutionProvider",
    "NnapiExecutionProvider",
    "VSINPUExecutionProvider",
    "JsExecutionProvider",
    "CoreMLExecutionProvider",
    "ArmNNExecutionProvider",
    "ACLExecutionProvider",
    "DmlExecutionProvider",
    "RknpuExecutionProvider",
    "WebNNExecutionProvider",
    "WebGpuExecutionProvider",
    "XnnpackExecutionProvider",
    "CANNExecutionProvider",
    "AzureExecutionProvider",
    CPU,
)


def ort_name(state: discovery.ProviderStatus) -> str:
    """onnxruntime's name of a plug-in (its own name, where it has a memory of its own and onnxruntime knows none)."""
    info = state.info
    if info is None:
        return state.name
    alias = next((a for a in info.aliases if a.endswith("ExecutionProvider")), None)
    return alias or (CPU if info.memory == "host" else state.name)


def get_available_providers() -> list[str]:
    """onnxruntime's names of the providers that can be used, by priority, CPUExecutionProvider last."""
    names = dict.fromkeys(ort_name(s) for s in discovery.providers() if s.usable)
    return [n for n in names if n != CPU] + [n for n in names if n == CPU]


def get_all_providers() -> list[str]:
    """The names of all providers that onnxruntime has, and of those that are installed here."""
    return list(dict.fromkeys([*KNOWN[:-1], *(ort_name(s) for s in discovery.providers()), CPU]))


def get_device() -> str:
    """ "GPU" where a usable provider has one, else "CPU"."""
    kinds = {d.kind for s in discovery.providers() if s.usable for d in s.devices}
    return "GPU" if "gpu" in kinds else "CPU"


def check_and_normalize_provider_args(
    providers: Sequence[str | tuple[str, Mapping[Any, Any]]] | None,
    provider_options: Sequence[Mapping[Any, Any]] | None,
    available_provider_names: Sequence[str],
) -> tuple[list[str], list[dict[str, str]]]:
    """Names and options of the providers asked for, options as text. Names that are not available or come twice are warned
    of; the second is left out. Raises ValueError for arguments of the wrong form."""
    if providers is None:
        return [], []
    if not isinstance(providers, Iterable):
        raise InvalidType(f"'providers' should be a sequence, not {type(providers).__name__}")
    if not isinstance(providers, Sequence):
        raise ValueError(f"'providers' should be a sequence, not {type(providers).__name__}")
    if provider_options is None:
        pairs = [(p, {}) if isinstance(p, str) else p for p in providers]
        fits = (isinstance(p, tuple) and len(p) == 2 and isinstance(p[0], str) and isinstance(p[1], Mapping) for p in pairs)
        if not all(fits):
            raise ValueError(f"'providers' values must be names or tuples of a name and a dict of options, not {providers!r}")
    else:
        if not isinstance(provider_options, Sequence) or len(provider_options) != len(providers):
            raise ValueError("'provider_options' should be a sequence with a dict for each of 'providers'")
        if not all(isinstance(p, str) for p in providers):
            raise ValueError("'providers' should be names where 'provider_options' are given")
        if not all(isinstance(o, Mapping) for o in provider_options):
            raise ValueError("'provider_options' values must be dicts")
        pairs = [(str(p), o) for p, o in zip(providers, provider_options, strict=True)]
    found: dict[str, dict[str, str]] = {}
    for name, options in pairs:
        if name not in available_provider_names and not _own(name):
            have = ", ".join(available_provider_names)
            warnings.warn(f"Specified provider '{name}' is not in available provider names: {have}", stacklevel=4)
        if name in found:
            warnings.warn(f"Duplicate provider '{name}' encountered, ignoring.", stacklevel=4)
            continue
        found[name] = {str(k): str(v) for k, v in options.items()}
    return list(found), list(found.values())


def _own(name: str) -> bool:
    return any(s.name == name and s.usable for s in discovery.providers())


def expand(names: Sequence[str], options: Sequence[Mapping[str, str]], strict: bool) -> list[tuple[str, dict[str, str]]]:
    """The plug-ins behind names, each with those of the options that it has; then, unless `strict`, all that work in host
    memory. Names of onnxruntime that nobody provides here are left out. Raises RuntimeError for any other name."""
    usable = [s for s in discovery.providers() if s.usable]
    found: dict[str, dict[str, str]] = {}
    for name, given in zip(names, options, strict=True):
        states = [s for s in usable if s.name == name] or [s for s in usable if ort_name(s) == name]
        if not states and name not in KNOWN:
            raise RuntimeError(f"Unknown Provider Type: {name}{_reason(name)}")
        for s in states:
            if not (strict and name == CPU):
                found.setdefault(s.name, {k: v for k, v in given.items() if s.info is not None and k in s.info.options})
    if not strict:
        discovery.warn_of_mistakes()
        for s in usable:
            if ort_name(s) == CPU:
                found.setdefault(s.name, {})
    return list(found.items())


def _reason(name: str) -> str:
    try:
        discovery.find(name)
    except SardonyxError as e:
        return f" ({e})"
    return ""


def names_of(own: Sequence[str], asked: Sequence[str]) -> list[str]:
    """What get_providers() says for the plug-ins of a session: onnxruntime's names, or a plug-in's own where it was asked for
    by that."""
    states = {s.name: s for s in discovery.providers()}
    return list(dict.fromkeys(n if n in asked or n not in states else ort_name(states[n]) for n in own))

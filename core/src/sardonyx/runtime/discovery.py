"""Finding providers: the entry points of group `sardonyx.providers`, loaded by name, their faults kept as reasons."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from sardonyx.ep.provider import API_VERSION, Device, ProviderInfo, Unavailable
from sardonyx.errors import InvalidInput, ProviderError
from sardonyx.ir.fork import ForkLock
from sardonyx.runtime.log import warn_once

__all__ = [
    "GROUP",
    "HOST_ALIAS",
    "ProviderStatus",
    "available",
    "find",
    "passes",
    "plugin_manager",
    "providers",
    "register",
    "unregister",
    "warn_of_mistakes",
]

GROUP = "sardonyx.providers"
HOST_ALIAS = "CPUExecutionProvider"


@dataclass
class ProviderStatus:
    """One installed plug-in: what it is, or why it cannot be used. `reason` is empty where it can; `mistake`: a wrong setting of
    the user's is the reason. A plug-in that has other hooks but no provider (custom operators, passes, commands) is not
    `is_provider`."""

    name: str
    distribution: str = ""
    version: str = ""
    info: ProviderInfo | None = None
    module: ModuleType | None = None
    devices: list[Device] = field(default_factory=list)
    reason: str = ""
    mistake: bool = False
    is_provider: bool = True
    cause: BaseException | None = None

    @property
    def usable(self) -> bool:
        """Whether the plug-in loads and finds a device."""
        return not self.reason

    def to_dict(self) -> dict[str, Any]:
        """For --json."""
        info = self.info
        return {
            "name": self.name,
            "distribution": self.distribution,
            "version": self.version,
            "usable": self.usable,
            "reason": self.reason,
            "description": info.description if info else "",
            "aliases": list(info.aliases) if info else [],
            "priority": info.priority if info else None,
            "devices": [{"kind": d.kind, "name": d.name, "memory": d.memory, "id": d.id} for d in self.devices],
            "options": {k: {"type": o.type.__name__, "default": o.default, "help": o.help} for k, o in info.options.items()}
            if info
            else {},
        }


_lock = ForkLock()
_local: dict[str, ModuleType] = {}


def register(name: str, module: Any) -> None:
    """Register a plug-in module of this process under `name`, as an entry point would (for tests and notebooks)."""
    with _lock:
        _local[name] = module
        _load.cache_clear()
        _entry_points.cache_clear()


def unregister(name: str) -> None:
    """Undo register()."""
    with _lock:
        if _local.pop(name, None) is not None and plugin_manager().has_plugin(name):
            plugin_manager().unregister(name=name)
        _load.cache_clear()
        _entry_points.cache_clear()


@functools.lru_cache(maxsize=1)
def _entry_points() -> dict[str, list[importlib.metadata.EntryPoint]]:
    found: dict[str, list[importlib.metadata.EntryPoint]] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        same = found.setdefault(point.name, [])
        if all(p.value != point.value or _distribution(p) != _distribution(point) for p in same):
            same.append(point)
    return found


def _distribution(point: importlib.metadata.EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "?"


def providers() -> list[ProviderStatus]:
    """Every installed plug-in that is a provider, usable ones by priority first."""
    with _lock:
        states = [_load(name) for name in {**_local, **_entry_points()}]
    return sorted((s for s in states if s.is_provider), key=lambda s: (not s.usable, -(s.info.priority if s.info else 0), s.name))


def available() -> list[str]:
    """Names of the usable providers, by priority."""
    return [s.name for s in providers() if s.usable]


def warn_of_mistakes() -> None:
    """Warn, once, of each provider that is left out because of a wrong setting of the user's."""
    for state in providers():
        if state.mistake:
            warn_once(f"provider {state.name!r} is left out: {state.reason}")


@functools.cache
def _load(name: str) -> ProviderStatus:
    state = ProviderStatus(name)
    if name in _local:
        state.distribution = "(this process)"
        _fill(state, _local[name])
        return state
    points = _entry_points()[name]
    if len(points) > 1:
        owners = " and ".join(sorted(_distribution(p) for p in points))
        state.reason = f"two packages provide {name!r}: {owners}; uninstall one of them"
        return state
    point = points[0]
    state.distribution = _distribution(point)
    state.version = point.dist.version if point.dist is not None else ""
    try:
        module = importlib.import_module(point.module)
    except BaseException as e:
        if isinstance(e, KeyboardInterrupt):
            raise
        state.reason, state.cause = f"its module {point.module} cannot be imported: {type(e).__name__}: {e}", e
        return state
    _fill(state, module)
    return state


def _fill(state: ProviderStatus, module: Any) -> None:
    state.module = module
    try:
        manager = plugin_manager()
        plugin = manager.get_plugin(state.name)
        if plugin is not None and plugin is not module:
            manager.unregister(plugin)
        if plugin is not module:
            manager.register(module, state.name)
        callers = manager.subset_hook_caller("sardonyx_provider", [p for p in manager.get_plugins() if p is not module])
        infos = callers()
        if not infos and (hooks := manager.get_hookcallers(module)):
            state.is_provider = False
            state.reason = f"it has no provider, only {', '.join(sorted(c.name for c in hooks))}"
            return
        if len(infos) != 1 or not isinstance(infos[0], ProviderInfo):
            state.reason = f"{getattr(module, '__name__', module)!s} has no sardonyx_provider hook that returns a ProviderInfo"
            return
        info = state.info = infos[0]
        if info.api_version != API_VERSION:
            who = f"upgrade {state.distribution}" if info.api_version < API_VERSION else "upgrade sardonyx"
            state.reason = f"it speaks version {info.api_version} of the provider interface, sardonyx speaks {API_VERSION}: {who}"
            return
        found = info.probe()
        if isinstance(found, Unavailable):
            state.reason, state.mistake = found.reason, found.mistake
        else:
            state.devices = list(found)
            if not state.devices:
                state.reason = "it finds no device"
    except Exception as e:
        state.reason, state.cause = f"{type(e).__name__}: {e}", e


@functools.lru_cache(maxsize=1)
def plugin_manager() -> Any:
    """The pluggy manager that holds every loaded plug-in module."""
    import pluggy

    from sardonyx.ep.hooks import Hooks

    manager = pluggy.PluginManager("sardonyx")
    manager.add_hookspecs(Hooks)
    return manager


def passes() -> list[Any]:
    """The passes of the plug-ins that are loaded."""
    return [p for given in plugin_manager().hook.sardonyx_passes() for p in given]


def find(name: str) -> list[ProviderStatus]:
    """The plug-ins a user means by `name`: an entry point's name, an alias, or CPUExecutionProvider (all host providers).

    Raises InvalidInput for a name nobody installed, ProviderError (the cause chained) for one that cannot be used.
    """
    with _lock:
        if name in _local or name in _entry_points():
            return [_usable(_load(name))]
    states = providers()
    if name == HOST_ALIAS:
        host = [s for s in states if s.usable and s.info is not None and s.info.memory == "host"]
        if host:
            return host
    for state in states:
        if state.info is not None and name in state.info.aliases:
            return [_usable(state)]
    have = ", ".join(s.name for s in states) or "none: pip install sardonyx-ep-cpu"
    raise InvalidInput(f"no provider is called {name!r}; installed: {have}")


def _usable(state: ProviderStatus) -> ProviderStatus:
    if state.reason:
        raise ProviderError(f"provider {state.name!r} cannot be used: {state.reason}") from state.cause
    return state

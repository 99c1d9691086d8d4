"""SessionOptions and RunOptions with all of onnxruntime's members."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sardonyx.errors import InvalidInput
from sardonyx.onnxruntime import environment
from sardonyx.onnxruntime.enums import OrtExecutionProviderDevicePolicy
from sardonyx.onnxruntime.errors import Fail, InvalidArgument, raises, status
from sardonyx.onnxruntime.plugins import run_file
from sardonyx.onnxruntime.providers import CPU, KNOWN, get_available_providers
from sardonyx.onnxruntime.values import OrtValue, ortvalue_of
from sardonyx.runtime import arguments, discovery, options
from sardonyx.runtime.checked_options import one_of

if TYPE_CHECKING:
    from sardonyx.onnxruntime.devices import OrtEpDevice
    from sardonyx.onnxruntime.lora import LoraAdapter

__all__ = ["RunOptions", "SessionOptions"]

logger = logging.getLogger("sardonyx")

Class = TypeVar("Class", bound=type)
Delegate = Callable[[Sequence["OrtEpDevice"], Mapping[str, str], Mapping[str, str], int], Sequence["OrtEpDevice"]]


def _names_on_class(options: Class) -> Class:
    """The class with its instances' attributes: programs look there for the options that there are."""
    for name, value in vars(options()).items():
        if not name.startswith("_"):
            setattr(options, name, value)
    return options


@_names_on_class
class SessionOptions(options.SessionOptions):
    """onnxruntime's session options, and Sardonyx's (`strict`, `assign`, `disabled_optimizers`).

    An unknown attribute raises AttributeError. Configuration entries that mean nothing here are kept and change nothing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.log_severity_level = -1
        self.profile_file_prefix = "onnxruntime_profile_"
        self._providers: list[tuple[str, dict[str, str]]] = []
        self._policy: OrtExecutionProviderDevicePolicy | Delegate | None = None
        self._cancelled = False
        self._read_context: tuple[Callable[..., None], int] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name.endswith("_op_num_threads"):
            # A negative number asks for the default there.
            value = max(0, arguments.whole(f"SessionOptions.{name}", value))
        super().__setattr__(name, value)

    @property
    def threads(self) -> int:
        """Threads for one operator: as set, or the global pool's where the session shares it, or the processors at hand."""
        shared = 0 if self.use_per_session_threads else environment.global_threads()
        return shared or super().threads

    @raises(RuntimeError)
    def get_session_config_entry(self, key: str) -> str:
        """A configuration entry; RuntimeError if it was not set."""
        return super().get_session_config_entry(key)

    @raises(RuntimeError)
    def add_session_config_entry(self, key: str, value: str) -> None:
        """Set a configuration entry; RuntimeError for an empty key."""
        super().add_session_config_entry(key, value)

    def add_free_dimension_override_by_name(self, name: str, value: int) -> None:
        """Fix the symbolic dimension `name` of the inputs. A negative size leaves it free, with a warning."""
        if not _left_free(name, value):
            super().add_free_dimension_override_by_name(name, value)

    def add_free_dimension_override_by_denotation(self, denotation: str, value: int) -> None:
        """Fix the dimensions of the inputs that carry this denotation. A negative size leaves them free, with a warning."""
        if not _left_free(denotation, value):
            super().add_free_dimension_override_by_denotation(denotation, value)

    @raises(RuntimeError)
    def add_external_initializers(self, names: list[str], values: list[Any]) -> None:
        """Replace several initializers that the model keeps outside its file by OrtValues."""
        for value in arguments.instance("values", values, (list, tuple), "a list of OrtValues"):
            ortvalue_of("an initializer", value)
        super().add_external_initializers(names, values)

    @raises(RuntimeError)
    def add_external_initializers_from_files_in_memory(self, names: list[str], buffers: list[Any], lengths: list[int]) -> None:
        """Give the contents of external data files: location -> the first `length` bytes of a buffer."""
        super().add_external_initializers_from_files_in_memory(names, buffers, lengths)

    def add_initializer(self, name: str, value: OrtValue) -> None:
        """Replace an initializer of the model by an OrtValue of the same dtype and shape; RuntimeError for another object."""
        if not isinstance(value, OrtValue):
            raise RuntimeError(f"initializer {name!r}: give an OrtValue, not {type(value).__name__}")
        super().add_initializer(name, value)

    @raises()
    def register_custom_ops_library(self, path: Any) -> None:
        """The operators that a Python file, or a module by its name, defines with sardonyx.custom_op.

        Raises Fail where there is no file or it cannot be run, InvalidArgument where it has none, NotImplementedError for a
        shared library: those are built for onnxruntime's C API.
        """
        name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else ""
        is_file = name.endswith((".py", ".so", ".dll", ".dylib")) or os.path.sep in name
        if is_file and not os.path.exists(name):
            raise status(Fail, f"there is no custom operator library {name}")
        if is_file and not name.endswith(".py"):
            raise NotImplementedError(
                f"{name} is built for onnxruntime's C API, which Sardonyx does not have: write the operators as Python functions "
                "with @sardonyx.custom_op(domain, name), in a package or in a .py file that you register here"
            )
        source = run_file(name, f"sardonyx_operators_{os.path.basename(name)[:-3]}") if is_file else path
        try:
            self.register_custom_ops(source)
        except InvalidInput as e:
            if e.__cause__ is None:
                raise
            raise status(Fail, str(e)) from e

    def add_provider(self, name: str, provider_options: Mapping[str, str]) -> None:
        """Add a provider to those that run the model. Raises InvalidArgument for one that is not available here, RuntimeError
        for an unknown name."""
        arguments.text("the name of a provider", name)
        given = arguments.instance("provider_options", provider_options, Mapping, "a dict of option -> value, both text")
        options = {arguments.text("an option of a provider", k): arguments.text(f"the value of option {k!r}", v) for k, v in given.items()}
        if name not in get_available_providers() and name not in discovery.available():
            if name not in KNOWN:
                raise RuntimeError(f"Unknown Provider Type: {name}")
            raise status(InvalidArgument, f"provider {name!r} is not available here; available: {', '.join(get_available_providers())}")
        self._providers.append((name, options))

    def add_provider_for_devices(self, ep_devices: Sequence[OrtEpDevice], provider_options: Mapping[str, str]) -> None:
        """Add the provider of some of get_ep_devices(), which must all be of one provider."""
        from sardonyx.onnxruntime.devices import OrtEpDevice

        form = "a list of what get_ep_devices() gives"
        devices = arguments.instance("ep_devices", ep_devices, (list, tuple), form)
        names = {arguments.instance("each of ep_devices", d, OrtEpDevice, form).ep_name for d in devices}
        if len(names) != 1:
            raise status(InvalidArgument, f"give devices of one provider, not of {sorted(names) or 'none'}")
        self.add_provider(names.pop(), provider_options)

    def has_providers(self) -> bool:
        """Whether providers or a policy were set here."""
        return bool(self._providers) or self._policy is not None

    def set_provider_selection_policy(self, policy: OrtExecutionProviderDevicePolicy) -> None:
        """Choose providers by the kind of their devices where the session names none."""
        self._policy = OrtExecutionProviderDevicePolicy(one_of(OrtExecutionProviderDevicePolicy, "policy", policy))

    def set_provider_selection_policy_delegate(self, delegate: Delegate) -> None:
        """Choose providers by a function: (devices, model metadata, runtime metadata, most devices) -> devices."""
        self._policy = delegate

    def set_load_cancellation_flag(self, cancel: bool) -> None:
        """Whether making a session with these options is to be cancelled."""
        self._cancelled = bool(cancel)

    def set_ep_context_data_read_func(self, read_func: Callable[..., None], max_data_size: int) -> None:
        """Keep a function that gives external data of EPContext nodes, for providers that have such nodes."""
        self._read_context = (read_func, int(max_data_size))

    def clear_ep_context_data_read_func(self) -> None:
        """Forget that function."""
        self._read_context = None

    def chosen_providers(self) -> list[tuple[str, dict[str, str]]] | None:
        """The providers that add_provider or a policy set; None where neither did."""
        if self._providers:
            return list(self._providers)
        if self._policy is None:
            return None
        from sardonyx.onnxruntime.devices import choose, get_ep_devices

        if isinstance(self._policy, OrtExecutionProviderDevicePolicy):
            devices = choose(self._policy)
        else:
            devices = list(self._policy(get_ep_devices(), {}, {}, 8))
        return [(n, {}) for n in dict.fromkeys([*(d.ep_name for d in devices), CPU])]


def _left_free(name: str, value: Any) -> bool:
    """Whether the size given for a free dimension is negative, which onnxruntime takes; that is warned of."""
    if arguments.whole(f"the size of free dimension {name!r}", value, bits=64) >= 0:
        return False
    logger.warning("the free dimension override of %r has no effect: its size is %d", name, value)
    return True


@_names_on_class
class RunOptions(options.RunOptions):
    """onnxruntime's options of one run."""

    def __init__(self) -> None:
        super().__init__()
        self.log_severity_level = -1
        self._adapters: list[LoraAdapter] = []

    @raises(RuntimeError)
    def add_run_config_entry(self, key: str, value: str) -> None:
        """Set a configuration entry of the run; RuntimeError for an empty key."""
        super().add_run_config_entry(key, value)

    @raises(RuntimeError)
    def get_run_config_entry(self, key: str) -> str:
        """A configuration entry; RuntimeError if it was not set."""
        return super().get_run_config_entry(key)

    def add_active_adapter(self, adapter: LoraAdapter) -> None:
        """Feed an adapter's parameters to the inputs that have their names."""
        self._adapters.append(adapter)

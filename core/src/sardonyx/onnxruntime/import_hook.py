"""Making `import onnxruntime` give sardonyx.onnxruntime.

`onnxruntime.X` is `sardonyx.onnxruntime.X`, the same module object. onnxruntime's tools (quantization, transformers, tools,
datasets) are Python programs over this interface: where onnxruntime is installed, its own are taken, and run on Sardonyx;
its extension module is never loaded.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterable, Sequence
from multiprocessing import spawn
from pathlib import Path
from types import ModuleType
from typing import Any

from sardonyx.onnxruntime.environment import API_VERSION

__all__ = ["MissingModule", "install", "tool", "uninstall"]

OURS = "sardonyx.onnxruntime"
THEIRS = "onnxruntime"
TOOLS = ("quantization", "transformers", "tools", "datasets")


class MissingModule(ModuleNotFoundError, NotImplementedError):
    """A module of onnxruntime that is not here; the message names the alternative."""


class _Alias(importlib.abc.Loader):
    """Gives a module of ours under a name of theirs, itself unchanged."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        self.module = importlib.import_module(OURS + spec.name.removeprefix(THEIRS))
        self.spec = self.module.__spec__
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


class _Missing(importlib.abc.Loader):
    """Says why a module of onnxruntime's tools is not here."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        raise MissingModule(
            f"{spec.name} is not part of Sardonyx: install onnxruntime, whose Python tools then run on Sardonyx", name=spec.name
        )

    def exec_module(self, module: ModuleType) -> None:
        """Never reached."""


class _Finder(importlib.abc.MetaPathFinder):
    """Finds onnxruntime and all below it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        head, _, rest = fullname.partition(".")
        if head != THEIRS:
            return None
        if rest.partition(".")[0] in TOOLS:
            spec = _installed(rest)
            if spec is not None:
                return spec
        ours = _ours(rest)
        if ours is None:
            missing = rest.partition(".")[0] in TOOLS
            return importlib.machinery.ModuleSpec(fullname, _Missing()) if missing else None
        spec = importlib.machinery.ModuleSpec(fullname, _Alias(), is_package=ours.submodule_search_locations is not None)
        spec.origin = ours.origin
        return spec

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterable[importlib.metadata.Distribution]:
        """A distribution `onnxruntime`, for programs that ask whether it is installed, where it is not."""
        name = getattr(context, "name", None)
        if name not in (None, THEIRS) or _folder() is not None:
            return []
        return [_Distribution()]


class _Distribution(importlib.metadata.Distribution):
    """What the package metadata of onnxruntime says here."""

    def read_text(self, filename: str) -> str | None:
        texts = {"METADATA": f"Metadata-Version: 2.1\nName: {THEIRS}\nVersion: {API_VERSION}\n", "top_level.txt": f"{THEIRS}\n"}
        return texts.get(filename)

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(__file__).parent / os.fspath(path)


def _ours(rest: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(f"{OURS}.{rest}" if rest else OURS)
    except ModuleNotFoundError:
        return None


def _folder() -> str | None:
    """Where onnxruntime itself is installed."""
    spec = importlib.machinery.PathFinder.find_spec(THEIRS, sys.path)
    return os.path.dirname(spec.origin) if spec is not None and spec.origin else None


def _installed(rest: str) -> importlib.machinery.ModuleSpec | None:
    """onnxruntime's own module below one of TOOLS, or None where it is not installed or has no such module."""
    folder = _folder()
    if folder is None:
        return None
    *parents, _ = rest.split(".")
    return importlib.machinery.PathFinder.find_spec(f"{THEIRS}.{rest}", [os.path.join(folder, *parents)])


def tool(name: str) -> ModuleType | None:
    """After install(), the module of onnxruntime's tools of that name where onnxruntime is installed."""
    if name not in TOOLS or _finder not in sys.meta_path or _folder() is None:
        return None
    return importlib.import_module(f"{THEIRS}.{name}")


class _Name(str):
    """The name of a worker process, which installs where it is unpickled: that is before the worker imports the program."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _name_in_worker, (str(self),)


def _name_in_worker(name: str) -> str:
    install()
    return name


def _preparation_data(name: str) -> dict[str, Any]:
    data = _original_preparation_data(name)
    return {**data, "name": _Name(data["name"])}


_original_preparation_data = spawn.get_preparation_data
_finder = _Finder()


def install() -> None:
    """Make `import onnxruntime`, and all imports below it, give this package from now on in this process.

    Call it before anything imports onnxruntime. Workers of multiprocessing are included, however they are started; another
    program that is started needs its own call. RuntimeError if onnxruntime itself was imported already.
    """
    ours = importlib.import_module(OURS)
    present = sys.modules.get(THEIRS)
    if present is ours:
        return
    if present is not None:
        raise RuntimeError("onnxruntime was imported before install(): call sardonyx.onnxruntime.install() first")
    spawn.get_preparation_data = _preparation_data
    sys.meta_path.insert(0, _finder)
    sys.modules[THEIRS] = ours


def uninstall() -> None:
    """Undo install(); modules that were imported keep what they have."""
    if _finder in sys.meta_path:
        spawn.get_preparation_data = _original_preparation_data
        sys.meta_path.remove(_finder)
        for name in [n for n in sys.modules if n == THEIRS or n.startswith(THEIRS + ".")]:
            del sys.modules[name]

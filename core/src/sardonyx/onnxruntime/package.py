"""ModelPackage: writing and changing model packages."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from sardonyx.ir.replacing import replacing
from sardonyx.onnxruntime import package_manifest as files
from sardonyx.onnxruntime.enums import ModelPackageWriteMode

__all__ = ["ModelPackage"]

LAYOUTS = ("portable", "installed")
VERSION = re.compile(r"\.[0-9a-f]{16}$")


class ModelPackage:
    """A package in memory: new, or `ModelPackage.open(folder)`; `commit` writes it. JSON is given and returned as text.

    Raises ValueError for JSON of a wrong form, FileNotFoundError for a component, variant, asset or folder that is not there,
    RuntimeError for a commit that has nowhere to go.
    """

    def __init__(self) -> None:
        self._root: Path | None = None
        self._manifest: dict[str, Any] = {"schema_version": "1.0", "layout": LAYOUTS[0], "components": {}}
        self._files: dict[str, Path] = {}
        self._assets: dict[str, tuple[Path, bool]] = {}
        self._closed = False

    @staticmethod
    def open(
        package_root: str, allow_external_paths: bool = False, follow_symlinks: bool = True, strict_unknown_fields: bool = True
    ) -> ModelPackage:
        """The package of a folder. OSError where there is none."""
        made = ModelPackage()
        root = Path(package_root).absolute()
        made._manifest, made._files = files.load_manifest(root, strict_unknown_fields)
        made._root = root
        for folder in sorted((root / files.ASSETS).glob("sha256-*")):
            made._assets[folder.name.replace("-", ":", 1)] = (folder, True)
        return made

    def close(self) -> None:
        """Forget everything; further calls raise ValueError."""
        self._closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _data(self) -> dict[str, Any]:
        if self._closed:
            raise ValueError("this model package is closed")
        return self._manifest

    def _component(self, name: str) -> dict[str, Any]:
        found = self._data()["components"].get(name)
        if found is None:
            raise FileNotFoundError(f"component {name!r} not found")
        return found  # type: ignore[no-any-return]

    def _variant(self, component: str, name: str) -> dict[str, Any]:
        found = self._component(component)["variants"].get(name)
        if found is None:
            raise FileNotFoundError(f"variant {name!r} not found in component {component!r}")
        return found  # type: ignore[no-any-return]

    def set_metadata(self, name: str | None = None, version: str | None = None, description: str | None = None) -> None:
        """Set what the package is called; None: as it was."""
        given = {"package_name": name, "package_version": version, "description": description}
        self._data().update({k: v for k, v in given.items() if v is not None})

    def set_layout(self, layout: str) -> None:
        """ "portable": all paths lie within; "installed": they may lead out."""
        if layout not in LAYOUTS:
            raise ValueError(f"layout must be 'portable' or 'installed', not {layout!r}")
        self._data()["layout"] = layout

    def set_component_inline(self, name: str, component_json: str) -> None:
        """Set a component, kept in the manifest."""
        self._data()["components"][name] = files.checked_component(name, json.loads(component_json))
        self._files.pop(name, None)

    def set_component_external(self, name: str, path: str) -> None:
        """Set a component, kept in a file of its own, which is there already. RuntimeError before the package has a folder."""
        if self._root is None:
            raise RuntimeError("a component in a file of its own needs a package with a folder: open or commit it first")
        where = self.resolve_string_ref(path, must_exist=True)
        self._data()["components"][name] = files.checked_component(name, json.loads(Path(where).read_text("utf-8")))
        self._files[name] = Path(where)

    def remove_component(self, name: str) -> None:
        """Remove a component, if there is one."""
        self._data()["components"].pop(name, None)
        self._files.pop(name, None)

    def set_variant(self, component_name: str, variant_name: str, variant_json: str) -> None:
        """Set a variant of a component."""
        component, variant = self._component(component_name), json.loads(variant_json)
        files.checked_component(component_name, {"variants": {variant_name: variant}})
        if "variant_directory" in variant:
            self.resolve_string_ref(variant["variant_directory"], must_exist=True)
        component["variants"][variant_name] = variant

    def remove_variant(self, component_name: str, variant_name: str) -> None:
        """Remove a variant, if there is one."""
        self._component(component_name)["variants"].pop(variant_name, None)

    def set_variant_executor_info_inline(self, component_name: str, variant_name: str, namespace_key: str, info_json: str) -> None:
        """Set what a runtime needs to know of a variant; `namespace_key` is the runtime: "ort"."""
        self._variant(component_name, variant_name).setdefault("executor_info", {})[namespace_key] = json.loads(info_json)

    def set_variant_executor_info_external(self, component_name: str, variant_name: str, namespace_key: str, path: str) -> None:
        """The same, as the path of a JSON file."""
        self._variant(component_name, variant_name).setdefault("executor_info", {})[namespace_key] = path

    def remove_variant_executor_info(self, component_name: str, variant_name: str, namespace_key: str) -> None:
        """Remove what a runtime needs to know, if it is there."""
        self._variant(component_name, variant_name).get("executor_info", {}).pop(namespace_key, None)

    def set_additional_metadata_json(
        self, scope: str, component_name: str | None = None, variant_name: str | None = None, json: str | None = None
    ) -> None:
        """Set data of the caller's own on the "manifest", a "component" or a "variant"; None removes it."""
        targets: dict[str, Callable[[], dict[str, Any]]] = {
            "manifest": self._data,
            "component": lambda: self._component(component_name or ""),
            "variant": lambda: self._variant(component_name or "", variant_name or ""),
        }
        if scope not in targets:
            raise ValueError(f"scope must be 'manifest', 'component' or 'variant', not {scope!r}")
        target = targets[scope]()
        target.pop("additional_metadata", None)
        if json is not None:
            target["additional_metadata"] = _parsed(json)

    def add_shared_asset(self, source_dir: str, expected_uri: str | None = None, copy_in: bool = True) -> str:
        """Add a folder that variants share; its name, sha256:DIGEST. RuntimeError where that is not `expected_uri`."""
        uri = files.directory_hash(source_dir)
        if expected_uri not in (None, uri):
            raise RuntimeError(f"the digest of {source_dir} is {uri}, not {expected_uri}")
        self._data()
        self._assets[uri] = (Path(source_dir).absolute(), copy_in)
        return uri

    def remove_shared_asset(self, uri: str) -> None:
        """Remove a shared folder from the package, if it is there."""
        self._data()
        self._assets.pop(uri, None)

    def resolve_asset_uri(self, uri: str) -> str:
        """Where a shared folder lies."""
        self._data()
        if uri not in self._assets:
            raise FileNotFoundError(f"this package has no shared asset {uri!r}")
        return str(self._assets[uri][0])

    def resolve_string_ref(self, string_ref: str, base_dir: str | None = None, must_exist: bool = False) -> str:
        """The path that text in the manifest means."""
        uri, _, rest = string_ref.partition("/")
        if uri in self._assets:
            return str(self._assets[uri][0] / rest) if rest else str(self._assets[uri][0])
        root = self._root or Path.cwd()
        portable = self._data()["layout"] == LAYOUTS[0]
        return str(files.resolved(string_ref, Path(base_dir) if base_dir else root, root, portable=portable, must_exist=must_exist))

    @staticmethod
    def compute_directory_hash(source_dir: str) -> str:
        """sha256:DIGEST of a folder's contents."""
        return files.directory_hash(source_dir)

    def get_component_json(self, component_name: str) -> str:
        """A component."""
        return _text(self._component(component_name))

    def get_variant_json(self, component_name: str, variant_name: str) -> str:
        """A variant."""
        return _text(self._variant(component_name, variant_name))

    def get_info(self) -> dict[str, Any]:
        """Everything: metadata, components with their variants, shared assets."""
        data = self._data()
        major, _, minor = str(data["schema_version"]).partition(".")
        return {
            "schema_version_major": int(major),
            "schema_version_minor": int(minor or 0),
            **{k: data.get(k) for k in ("package_name", "package_version", "description", "layout")},
            "additional_metadata_json": _additional(data),
            "components": [
                {
                    "name": name,
                    "additional_metadata_json": _additional(component),
                    "variants": [_variant_info(n, v) for n, v in component["variants"].items()],
                }
                for name, component in data["components"].items()
            ],
            "shared_assets": [{"uri": uri, "resolved_path": str(path)} for uri, (path, _) in self._assets.items()],
        }

    def commit(self, dest_root: str | None = None, mode: ModelPackageWriteMode = ModelPackageWriteMode.PRESERVE) -> None:
        """Write the package where it is, or to an empty folder, with its files (DENSE: only manifest and shared assets).

        An interrupted commit leaves the package as it was: the manifest comes last, and what an old one refers to stays until
        then. So a component that has changed, and has a file of its own, goes to a new one, whose name says its contents.
        """
        data = self._data()
        root = Path(dest_root).absolute() if dest_root is not None else self._root
        if root is None:
            raise RuntimeError("a new package has no folder yet: give dest_root")
        if dest_root is not None and root != self._root:
            if root.exists() and any(root.iterdir()):
                raise RuntimeError(f"the folder {root} is not empty")
            root.mkdir(parents=True, exist_ok=True)
            if self._root is not None and mode == ModelPackageWriteMode.PRESERVE:
                shutil.copytree(self._root, root, ignore=_manifest_of(self._root), dirs_exist_ok=True)
            self._files = {n: root / p.relative_to(self._root) for n, p in self._files.items() if self._root is not None}
        for uri, (source, copied) in list(self._assets.items()):
            target = files.asset_folder(root, uri)
            if copied:
                if not target.exists():
                    partial = target.with_name(f".{target.name}")
                    shutil.rmtree(partial, ignore_errors=True)
                    shutil.copytree(source, partial)
                    partial.rename(target)
                self._assets[uri] = (target, True)
        replaced = [p for n in list(self._files) if (p := self._write_component(n, root)) is not None]
        components = {n: c if n not in self._files else self._files[n].relative_to(root).as_posix() for n, c in data["components"].items()}
        _write(root / files.MANIFEST, _json({**data, "components": components}))
        for path in set(replaced) - set(self._files.values()):
            path.unlink()
        self._root = root

    def _write_component(self, name: str, root: Path) -> Path | None:
        """Write the file of a component; the one that it takes the place of once the manifest says so, if there is one."""
        path, component = self._files[name], self._data()["components"][name]
        text = _json(component)
        stands = path.exists() and (root / files.MANIFEST).exists()
        if stands and _parsed(path.read_text("utf-8")) == component:
            return None
        if stands:
            self._files[name] = path.with_stem(f"{VERSION.sub('', path.stem)}.{hashlib.sha256(text).hexdigest()[:16]}")
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(self._files[name], text)
        return path if stands else None

    def prune(self) -> None:
        """Delete folders of shared assets that the package does not have any more."""
        self._data()
        if self._root is not None:
            kept = {files.asset_folder(self._root, uri) for uri in self._assets}
            for folder in (self._root / files.ASSETS).glob("sha256-*"):
                if folder not in kept:
                    shutil.rmtree(folder)


def _parsed(text: str) -> Any:
    return json.loads(text)


def _text(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))


def _additional(owner: dict[str, Any]) -> str | None:
    return _text(owner["additional_metadata"]) if "additional_metadata" in owner else None


def _variant_info(name: str, variant: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        **{k: variant.get(k) for k in files.VARIANT_TEXTS},
        "additional_metadata_json": _additional(variant),
        "executor_info": {k: v if isinstance(v, str) else _text(v) for k, v in variant.get("executor_info", {}).items()},
    }


def _json(data: Any) -> bytes:
    return (json.dumps(data, indent=2) + "\n").encode()


def _write(path: Path, text: bytes) -> None:
    with replacing(path) as f:
        f.write(text)


def _manifest_of(root: Path) -> Callable[[str, list[str]], list[str]]:
    """For copytree: leave out the manifest of a package."""
    return lambda folder, names: [n for n in names if n == files.MANIFEST and Path(folder) == root]

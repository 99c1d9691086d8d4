"""The manifest of a model package, and paths within one.

A package is a folder with manifest.json: components, each with variants of one model for different providers. A variant says
its `ep`, and under `executor_info` `ort` the `model_file`. Folders below shared_assets are named by the digest of their contents,
and are referred to as sha256:DIGEST/path.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

__all__ = ["ASSETS", "MANIFEST", "asset_folder", "checked_component", "directory_hash", "load_manifest", "resolved"]

MANIFEST = "manifest.json"
ASSETS = "shared_assets"
DIGEST = "sha256:"
VARIANT_TEXTS = ("ep", "device", "compatibility_string", "variant_directory")
MANIFEST_FIELDS = ("schema_version", "layout", "components", "package_name", "package_version", "description", "additional_metadata")


def directory_hash(folder: str | os.PathLike[str]) -> str:
    """sha256:DIGEST of a folder: of a line `digest  path` for each file, in the order of the paths."""
    root = Path(folder)
    if not root.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder")
    paths = sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
    lines = (f"{hashlib.sha256((root / p).read_bytes()).hexdigest()}  {p}\n" for p in paths)
    return DIGEST + hashlib.sha256("".join(lines).encode()).hexdigest()


def asset_folder(root: Path, uri: str) -> Path:
    """Where the shared asset of a digest lies in a package."""
    return root / ASSETS / uri.replace(":", "-")


def checked_component(name: str, component: Any, strict: bool = True) -> dict[str, Any]:
    """A component, if it has the right form; ValueError if not."""
    if not isinstance(component, dict) or not isinstance(component.get("variants"), dict):
        raise ValueError(f"component {name!r} is an object with an object 'variants'")
    for variant_name, variant in component["variants"].items():
        _check_variant(variant_name, variant, strict)
    return component


def _check_variant(name: str, variant: Any, strict: bool) -> None:
    if not isinstance(variant, dict):
        raise ValueError(f"variant {name!r} is an object")
    for key, value in variant.items():
        if key in VARIANT_TEXTS and not isinstance(value, str):
            raise ValueError(f"variant {name!r}: {key!r} must be a string")
        if key == "executor_info" and not (isinstance(value, dict) and all(isinstance(v, (str, dict)) for v in value.values())):
            raise ValueError(f"variant {name!r}: executor_info is an object of paths (text) or objects")
        if strict and key not in (*VARIANT_TEXTS, "executor_info", "additional_metadata"):
            raise ValueError(f"variant {name!r}: unknown field {key!r}")


def load_manifest(root: Path, strict: bool = True) -> tuple[dict[str, Any], dict[str, Path]]:
    """The manifest with all components in it, and where those lie that have a file of their own. OSError where there is no
    package, ValueError for a broken one."""
    if not root.is_dir():
        raise OSError(f"package_root {str(root)!r} is not a directory")
    manifest = _json(root / MANIFEST)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("components"), dict):
        raise ValueError(f"{root / MANIFEST} is an object with an object 'components'")
    if str(manifest.get("schema_version", "")).partition(".")[0] != "1":
        raise ValueError(f"{root / MANIFEST}: schema_version {manifest.get('schema_version')!r} is not supported; 1.x is")
    unknown = [k for k in manifest if k not in MANIFEST_FIELDS]
    if strict and unknown:
        raise ValueError(f"{root / MANIFEST}: unknown field {unknown[0]!r}")
    files = {}
    for name, component in manifest["components"].items():
        if isinstance(component, str):
            files[name] = resolved(component, root, root, portable=manifest.get("layout") != "installed")
            component = _json(files[name])
        manifest["components"][name] = checked_component(name, component, strict)
    return manifest, files


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as e:
        raise ValueError(f"{path} is not JSON: {e}") from e


def resolved(ref: str, base: Path, root: Path, *, portable: bool = True, must_exist: bool = False) -> Path:
    """The path of a reference within a package. ValueError for one that leads out of a portable package, FileNotFoundError for
    what `must_exist`."""
    if ref.startswith(DIGEST):
        uri, _, rest = ref.partition("/")
        path = asset_folder(root, uri) / rest if rest else asset_folder(root, uri)
        inside = ".." not in Path(rest).parts
    else:
        path = base / ref
        inside = not os.path.isabs(ref) and ".." not in Path(ref).parts and path.is_relative_to(root)
    if portable and not inside:
        raise ValueError(f"{ref!r} leads out of the package {root}, whose layout is portable")
    if must_exist and not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    return path

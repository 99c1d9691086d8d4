"""Reading model packages: choosing the variant that suits the providers here, and making its session."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sardonyx.onnxruntime.errors import Fail, status
from sardonyx.onnxruntime.options import SessionOptions
from sardonyx.onnxruntime.package_manifest import load_manifest, resolved
from sardonyx.onnxruntime.providers import get_available_providers
from sardonyx.onnxruntime.session import InferenceSession

__all__ = ["ModelPackageComponentContext", "ModelPackageContext", "ModelPackageOptions"]


class ModelPackageOptions:
    """The session options by whose providers a variant is chosen."""

    def __init__(self, sess_options: SessionOptions):
        self.sess_options = sess_options

    def providers(self) -> list[str]:
        """The names of the providers wanted, the most wanted first."""
        chosen = self.sess_options.chosen_providers()
        return get_available_providers() if chosen is None else [name for name, _ in chosen]


class ModelPackageContext:
    """An existing package. Errors are RuntimeError."""

    def __init__(self, package_root: str):
        self._root = Path(package_root).absolute()
        self._manifest, _ = self._try(lambda: load_manifest(self._root))

    @staticmethod
    def _try(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (OSError, ValueError) as e:
            raise RuntimeError(f"model package: {e}") from e

    def _variants(self, component_name: str) -> dict[str, dict[str, Any]]:
        component = self._manifest["components"].get(component_name)
        if component is None:
            raise RuntimeError(f"the model package has no component {component_name!r}; it has {self.get_component_names()}")
        return component["variants"]  # type: ignore[no-any-return]

    def get_schema_version(self) -> int:
        """The number of the format."""
        return int(str(self._manifest["schema_version"]).partition(".")[0])

    def get_component_count(self) -> int:
        """How many components there are."""
        return len(self._manifest["components"])

    def get_component_names(self) -> list[str]:
        """Their names."""
        return list(self._manifest["components"])

    def get_variant_count(self, component_name: str) -> int:
        """How many variants a component has."""
        return len(self._variants(component_name))

    def get_variant_names(self, component_name: str) -> list[str]:
        """Their names."""
        return list(self._variants(component_name))

    def get_variant_ep_name(self, component_name: str, variant_name: str) -> str | None:
        """The provider that a variant is for, None for any."""
        variants = self._variants(component_name)
        if variant_name not in variants:
            raise RuntimeError(f"component {component_name!r} has no variant {variant_name!r}; it has {list(variants)}")
        return variants[variant_name].get("ep")

    def resolve_string_ref(self, string_ref: str, base_dir: str | None = None, must_exist: bool = False) -> str:
        """The path that text in the manifest means."""
        base = Path(base_dir) if base_dir else self._root
        portable = self._manifest.get("layout") != "installed"
        return str(self._try(lambda: resolved(string_ref, base, self._root, portable=portable, must_exist=must_exist)))

    def select_component(self, component_name: str, options: ModelPackageOptions) -> ModelPackageComponentContext:
        """The variant of a component for the first of the wanted providers that has one; else one for any provider."""
        variants = self._variants(component_name)
        for ep in (*options.providers(), None):
            for name, variant in variants.items():
                if variant.get("ep") == ep:
                    return ModelPackageComponentContext(self, component_name, name, variant, options)
        raise RuntimeError(f"component {component_name!r} has no variant for the providers {options.providers()}")


class ModelPackageComponentContext:
    """A chosen variant of a component."""

    def __init__(self, package: ModelPackageContext, component: str, name: str, variant: dict[str, Any], options: ModelPackageOptions):
        self._package, self._component, self._name = package, component, name
        self._variant, self._options = variant, options

    def get_selected_variant_name(self) -> str:
        """Its name."""
        return self._name

    def get_selected_variant_folder_path(self) -> str:
        """Its folder; "" if it has none of its own."""
        folder = self._variant.get("variant_directory")
        return self._package.resolve_string_ref(folder) if folder else ""

    def _path(self, ref: str) -> str:
        """A path within the folder of the variant, else within the package."""
        folder = self.get_selected_variant_folder_path()
        if folder and (Path(folder) / ref).exists():
            return self._package.resolve_string_ref(ref, folder)
        return self._package.resolve_string_ref(ref)

    def _info(self) -> dict[str, Any]:
        info = self._variant.get("executor_info", {}).get("ort", {})
        if isinstance(info, str):
            path = self._path(info)
            info = self._package._try(lambda: json.loads(Path(path).read_text("utf-8")))
        return info if isinstance(info, dict) else {}

    def create_session(self, sess_options: SessionOptions | None = None) -> InferenceSession:
        """A session of the variant's model. Raises Fail where the variant names no file."""
        file = self._info().get("model_file")
        if not isinstance(file, str):
            raise status(Fail, f"variant {self._name!r} of component {self._component!r} has no model_file in its executor_info for 'ort'")
        return InferenceSession(self._path(file), sess_options if sess_options is not None else self._options.sess_options)

"""onnxruntime's model packages: folders with a model in several variants. They are not read here."""

from __future__ import annotations

from typing import Any

__all__ = ["ModelPackage", "ModelPackageComponentContext", "ModelPackageContext", "ModelPackageOptions"]


class _Missing:
    """A class that is not here."""

    def __init__(self, *_: Any, **__: Any):
        raise NotImplementedError(
            f"{type(self).__name__}: Sardonyx does not read or write model packages; make a session of the .onnx file of a variant"
        )


class ModelPackage(_Missing):
    """Writes model packages; NotImplementedError."""


class ModelPackageContext(_Missing):
    """Reads model packages; NotImplementedError."""


class ModelPackageComponentContext(_Missing):
    """A component of a model package; NotImplementedError."""


class ModelPackageOptions(_Missing):
    """Options for choosing a variant; NotImplementedError."""

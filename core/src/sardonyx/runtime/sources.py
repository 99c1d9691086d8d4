"""What a session keeps of its model, to read it again."""

from __future__ import annotations

import os
from typing import Any

from sardonyx.runtime import arguments

__all__ = ["portable", "source_of"]


def source_of(model: Any) -> Any:
    """What a session keeps of a model: an absolute path, bytes, or the ModelProto. Raises InvalidInput for what is no path."""
    if isinstance(model, (str, os.PathLike)):
        return os.path.abspath(arguments.path("the path of the model", model))
    return bytes(model) if isinstance(model, bytearray) else model


def portable(source: Any) -> Any:
    """A model's source as pickle takes it."""
    if isinstance(source, (str, bytes)):
        return source
    return source.SerializeToString() if hasattr(source, "SerializeToString") else bytes(source)

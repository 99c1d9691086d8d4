"""onnxruntime's exceptions, and which of them stands for which error of Sardonyx.

As in onnxruntime they derive from Exception alone, and a message begins with the status code and its name. The error of
Sardonyx is the cause. Where onnxruntime raises TypeError, AttributeError or MemoryError, Sardonyx's error is one as well and is
raised itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from sardonyx import errors

__all__ = [
    "STATUS",
    "DeviceReset",
    "EPFail",
    "EngineError",
    "Fail",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "ModelLoadCanceled",
    "ModelLoaded",
    "ModelRequiresCompilation",
    "NoModel",
    "NoSuchFile",
    "NotFound",
    "NotImplemented",
    "RuntimeException",
    "WrongObject",
    "raises",
    "status",
    "translated",
]

F = TypeVar("F", bound=Callable[..., Any])


class Fail(Exception):
    """Whatever has no status of its own: a node that fails, a run that was ended, an unknown domain."""


class InvalidArgument(Exception):
    """A wrong feed, name or option."""


class NoSuchFile(Exception):
    """There is no model file at this path."""


class NoModel(Exception):
    """There is no model."""


class EngineError(Exception):
    """A fault of the engine of a provider."""


class RuntimeException(Exception):
    """A fault of the runtime itself."""


class InvalidProtobuf(Exception):
    """The file or bytes are no ONNX model, or a truncated one."""


class ModelLoaded(Exception):
    """The session has a model already."""


class NotImplemented(Exception):
    """The model is right, but no provider has a kernel for one of its nodes."""


class InvalidGraph(Exception):
    """The model is against the ONNX specification."""


class EPFail(Exception):
    """A provider failed."""


class ModelLoadCanceled(Exception):
    """The making of the session was cancelled."""


class ModelRequiresCompilation(Exception):
    """The model must be compiled before this provider can run it."""


class NotFound(Exception):
    """Something that was asked for by name is not there."""


class DeviceReset(Exception):
    """The device was reset while it was in use."""


class WrongObject(errors.InvalidInput, AttributeError):
    """An object that lacks what belongs there, where onnxruntime fails because an attribute is missing."""


STATUS: dict[type[Exception], tuple[int, str]] = {
    Fail: (1, "FAIL"),
    InvalidArgument: (2, "INVALID_ARGUMENT"),
    NoSuchFile: (3, "NO_SUCHFILE"),
    NoModel: (4, "NO_MODEL"),
    EngineError: (5, "ENGINE_ERROR"),
    RuntimeException: (6, "RUNTIME_EXCEPTION"),
    InvalidProtobuf: (7, "INVALID_PROTOBUF"),
    ModelLoaded: (8, "MODEL_LOADED"),
    NotImplemented: (9, "NOT_IMPLEMENTED"),
    InvalidGraph: (10, "INVALID_GRAPH"),
    EPFail: (11, "EP_FAIL"),
    ModelLoadCanceled: (12, "MODEL_LOAD_CANCELED"),
    ModelRequiresCompilation: (13, "MODEL_REQUIRES_COMPILATION"),
    NotFound: (14, "NOT_FOUND"),
    DeviceReset: (15, "DEVICE_RESET"),
}

# The first entry that fits an error counts.
_KINDS: tuple[tuple[type[Exception], type[Exception]], ...] = (
    (errors.UnreadableModel, InvalidProtobuf),
    (errors.InvalidModel, InvalidGraph),
    (errors.NotSupported, NotImplemented),
    (errors.InvalidInput, InvalidArgument),
    (errors.NodeError, Fail),
    (errors.RunCancelled, Fail),
    (errors.ProviderError, EPFail),
    (errors.SardonyxError, RuntimeException),
)


def status(kind: type[Exception], text: str) -> Exception:
    """An exception of onnxruntime with its prefix."""
    code, name = STATUS[kind]
    return kind(f"[ONNXRuntimeError] : {code} : {name} : {text}")


def translated(error: errors.SardonyxError) -> Exception:
    """The exception that onnxruntime raises where Sardonyx raises `error`."""
    kind = _unknown_operator(error) or next(ort for ours, ort in _KINDS if isinstance(error, ours))
    return status(kind, str(error))


def _unknown_operator(error: errors.SardonyxError) -> type[Exception] | None:
    """An operator that ONNX does not have is a fault of the model, one of a domain that nobody knows a failure."""
    from sardonyx.ir.schema import KNOWN, schema

    for domain, op, since in getattr(error, "operators", {}).values():
        if domain not in KNOWN:
            return Fail
        if schema(domain, op, since) is None:
            return InvalidGraph
    return None


def raises(kind: Callable[[errors.SardonyxError], Exception] = translated) -> Callable[[F], F]:
    """A decorator: errors of Sardonyx leave the function as `kind` makes them (an exception type: with their message), but for
    those that are TypeError, AttributeError or, outside of runs, MemoryError already."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except errors.SardonyxError as e:
                if isinstance(e, (errors.InvalidType, WrongObject)) or (kind is RuntimeError and isinstance(e, errors.OutOfMemory)):
                    raise
                raise (kind(str(e)) if isinstance(kind, type) else kind(e)) from e

        return wrapped  # type: ignore[return-value]

    return decorate

"""The errors of Sardonyx: one root, four kinds.

A message says what went wrong, where (node, operator, opset, EP, dtypes, shapes, producer), why, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "CompileRefused",
    "InternalError",
    "InvalidInput",
    "InvalidModel",
    "InvalidType",
    "NodeError",
    "NotSupported",
    "OutOfMemory",
    "ProviderError",
    "RunCancelled",
    "RunTimeout",
    "SardonyxError",
    "UnreadableModel",
    "UnwritableFile",
    "did_you_mean",
    "foreign",
]


class SardonyxError(Exception):
    """Root of every error that Sardonyx raises on purpose."""


class InvalidInput(SardonyxError, ValueError):
    """The caller did something wrong: a wrong path, feed name, dtype, rank, option."""


class InvalidType(InvalidInput, TypeError):
    """An argument is not of a type that is taken there."""


class UnwritableFile(InvalidInput, OSError):
    """A file cannot be written: no such folder, no right, no space. `filename` is the file, `errno` and `strerror` the system's."""

    def __init__(self, message: str, filename: str | None = None, error: OSError | None = None):
        super().__init__(message)
        self.message, self.filename = message, filename
        if error is not None:
            self.errno, self.strerror = error.errno, error.strerror

    def __str__(self) -> str:
        return self.message


class OutOfMemory(SardonyxError, MemoryError):
    """The system gives no more memory."""


class InvalidModel(SardonyxError):
    """The model is wrong: truncated, cyclic, ill-typed, against the ONNX specification."""


class UnreadableModel(InvalidModel):
    """The file or bytes are no ONNX model, or a truncated one."""


class NotSupported(SardonyxError, NotImplementedError):
    """The model is right, but nothing installed can run this part of it.

    `nodes` maps the name of each node that nobody takes to the providers' reasons, `operators` to its operator as
    (domain, operator, version).
    """

    def __init__(
        self, message: str, nodes: dict[str, dict[str, str]] | None = None, operators: dict[str, tuple[str, str, int]] | None = None
    ):
        super().__init__(message)
        self.nodes, self.operators = nodes or {}, operators or {}


class ProviderError(SardonyxError):
    """A provider cannot be loaded, has no device, or failed while compiling or running."""


class NodeError(SardonyxError):
    """A node failed while running: its inputs' values or shapes do not fit the operator.

    `node` is the node's name, `op` its operator, `origins` the names of the nodes in the user's model.
    """

    def __init__(self, message: str, *, node: str = "", op: str = "", origins: tuple[str, ...] = ()):
        super().__init__(message)
        self.node, self.op, self.origins = node, op, origins


class RunCancelled(SardonyxError):
    """The run was ended by RunOptions.terminate, a timeout, or a cancelled task."""


class RunTimeout(RunCancelled, TimeoutError):
    """The run was ended because it took longer than the timeout given."""


class InternalError(SardonyxError):
    """A fault in Sardonyx itself: please report it."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: names that are like it, or nothing."""
    from difflib import get_close_matches

    near = get_close_matches(name, [k for k in known if k], 3)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def foreign(what: str, error: Exception, kind: type[SardonyxError] = InternalError) -> SardonyxError:
    """The error to raise from an exception that is not one of Sardonyx's: `what` failed, with that reason. Memory that ran out
    is nobody's fault."""
    reason = f"{type(error).__name__}: {error}".rstrip(": ")
    if isinstance(error, MemoryError):
        return OutOfMemory(f"{what} ran out of memory: {reason}")
    text = f"{what} failed: {reason}"
    return kind(f"{text}. This is a fault in Sardonyx: please report it" if kind is InternalError else text)


class CompileRefused(SardonyxError):
    """Raised by a provider's compile(): these nodes cannot be run after all.

    `reasons` maps a node's name to the reason; the nodes become refusals and partitioning repeats.
    """

    def __init__(self, reasons: dict[str, str]):
        super().__init__("; ".join(f"{node}: {reason}" for node, reason in reasons.items()))
        self.reasons = dict(reasons)

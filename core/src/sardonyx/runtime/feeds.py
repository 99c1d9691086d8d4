"""Checking what the caller feeds, and making what he gets his own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput, InvalidType
from sardonyx.ir.dtypes import STRING, dtype_name, is_float
from sardonyx.ir.graph import Value
from sardonyx.ir.types import MapType, OptionalType, SequenceType, TensorType, ValueType, type_string
from sardonyx.runtime.dlpack import from_dlpack

__all__ = ["Feed", "SharedSymbols", "check_feeds", "lent", "own", "shape_string", "sizes_of"]


class Feed:
    """One input of the session: its name, type and default. `check` returns the value as the plan takes it."""

    __slots__ = ("default", "dtype", "dynamic", "name", "optional", "shape", "type")

    def __init__(self, value: Value, default: np.ndarray | None):
        self.name, self.type, self.default = value.name, value.type, default
        tensor = isinstance(value.type, TensorType)
        self.dtype = value.dtype if tensor else None
        shape = value.shape if tensor else None
        self.shape: tuple[Any, ...] | None = shape
        self.dynamic = shape is None or not all(isinstance(d, int) for d in shape)
        self.optional = isinstance(value.type, OptionalType) or default is not None

    def dims(self) -> tuple[int | None, ...] | None:
        """The declared shape with None for every free dimension."""
        return None if self.shape is None else tuple(d if isinstance(d, int) else None for d in self.shape)

    def check(self, x: Any) -> Any:
        """`x` as the plan takes it (a tensor: an ndarray of the declared dtype); InvalidInput if it does not fit."""
        if self.dtype is None:
            return self._check_other(x, self.type)
        if type(x) is not np.ndarray or x.dtype != self.dtype:
            x = self._convert(x)
        if self.dynamic:
            if self.shape is not None:
                self._check_dims(x)
        elif x.shape != self.shape:
            self._check_dims(x)
        return x

    def _check_dims(self, x: np.ndarray) -> None:
        assert self.shape is not None
        if len(x.shape) != len(self.shape):
            raise InvalidInput(f"input {self.name!r} has shape {list(x.shape)} (rank {x.ndim}); the model wants {shape_string(self.shape)}")
        for i, (have, want) in enumerate(zip(x.shape, self.shape, strict=True)):
            if type(want) is int and have != want:
                want_all = shape_string(self.shape)
                raise InvalidInput(
                    f"input {self.name!r} has shape {list(x.shape)}; the model wants {want_all} (dimension {i} is {have}, not {want})"
                )

    def _convert(self, x: Any) -> np.ndarray:
        assert self.dtype is not None
        if hasattr(x, "numpy") and not isinstance(x, np.ndarray) and hasattr(x, "is_tensor"):
            x = x.numpy()
        if self.dtype == STRING:
            return self._strings(x)
        if isinstance(x, np.ndarray):
            if x.dtype.newbyteorder("=") == self.dtype:
                return np.asarray(x, self.dtype)
            raise self._wrong_dtype(x)
        if isinstance(x, (bool, int, float, complex, np.generic, list, tuple)):
            try:
                array = np.asarray(x)
            except ValueError as e:
                raise InvalidInput(f"input {self.name!r}: the nested list is not a tensor: {e}") from None
            if isinstance(x, np.generic) and array.dtype != self.dtype:
                raise self._wrong_dtype(array)
            same_kind = array.dtype.kind == self.dtype.kind or (array.dtype.kind in "iu" and self.dtype.kind in "iu")
            if array.size == 0 or same_kind or (array.dtype.kind in "iuf" and is_float(self.dtype)):
                return self._cast_list(array)
            raise self._wrong_dtype(array)
        if hasattr(x, "__array__") or hasattr(x, "__dlpack__"):
            return self._convert(self._array_of(x))
        raise InvalidInput(f"input {self.name!r}: {type(x).__name__} is not a tensor; give a numpy array of {dtype_name(self.dtype)}")

    def _array_of(self, x: Any) -> np.ndarray:
        """The array that another library's tensor gives; InvalidInput if it gives none, as one of torch's that requires a gradient."""
        try:
            return _array(x)
        except Exception as e:
            raise InvalidInput(f"input {self.name!r}: the {type(x).__name__} does not become a numpy array: {e}") from e

    def _cast_list(self, array: np.ndarray) -> np.ndarray:
        assert self.dtype is not None
        if array.dtype.kind in "iu" and self.dtype.kind in "iu" and array.size:
            limits = np.iinfo(self.dtype)
            if array.min() < limits.min or array.max() > limits.max:
                raise InvalidInput(f"input {self.name!r}: a value does not fit {dtype_name(self.dtype)}")
        with np.errstate(over="ignore"):
            cast = array.astype(self.dtype)
        if self.dtype.kind == "f" and np.isinf(cast).sum() > np.isinf(array).sum():
            raise InvalidInput(f"input {self.name!r}: a value does not fit {dtype_name(self.dtype)}")
        return cast

    def _strings(self, x: Any) -> np.ndarray:
        array = self._array_of(x) if not isinstance(x, (list, tuple)) else np.asarray(x, dtype=STRING)
        if array.dtype.kind == "U":
            return array.astype(STRING)
        if array.dtype.kind == "S":
            return np.char.decode(array, "utf-8", "surrogateescape").astype(STRING)
        if array.dtype == STRING:
            if all(type(s) is str for s in array.flat):
                return array
            flat = [s.decode("utf-8", "surrogateescape") if isinstance(s, bytes) else s for s in array.flat]
            if all(isinstance(s, str) for s in flat):
                out = np.empty(array.shape, STRING)
                out.reshape(-1)[:] = flat
                return out
            raise InvalidInput(f"input {self.name!r}: an element is not a string")
        raise self._wrong_dtype(array)

    def _wrong_dtype(self, x: np.ndarray) -> InvalidInput:
        have, want = dtype_name(x.dtype), dtype_name(self.dtype)
        return InvalidInput(
            f"input {self.name!r} is tensor({have}); the model wants tensor({want}): convert it, e.g. x.astype({str(self.dtype)!r})"
        )

    def _check_other(self, x: Any, t: ValueType) -> Any:
        if isinstance(t, OptionalType):
            return None if x is None else self._check_other(x, t.elem)
        if isinstance(t, SequenceType):
            if not isinstance(x, (list, tuple)):
                raise InvalidInput(f"input {self.name!r}: the model wants {type_string(t)}, a list, not {type(x).__name__}")
            return [self._check_other(e, t.elem) for e in x]
        if isinstance(t, MapType):
            if not isinstance(x, Mapping):
                raise InvalidInput(f"input {self.name!r}: the model wants {type_string(t)}, a dict, not {type(x).__name__}")
            return dict(x)
        if isinstance(t, TensorType) and t.dtype is not None:
            probe = Feed(Value(self.name, t), None)
            return probe.check(x)
        return np.asarray(x) if not isinstance(x, (list, dict)) and x is not None else x


def sizes_of(feeds: list[Feed], values: list[Any]) -> dict[str, int]:
    """The sizes that checked feeds give the symbolic dimensions of the inputs."""
    found: dict[str, int] = {}
    for f, value in zip(feeds, values, strict=True):
        for d, size in zip(f.shape or (), np.shape(value) if isinstance(value, np.ndarray) else (), strict=False):
            if isinstance(d, str):
                found[d] = size
    return found


def check_feeds(inputs: list[Feed], given: Mapping[str, Any]) -> list[Any]:
    """The values for a session's inputs, in order, checked and with defaults. InvalidInput for missing and unknown names."""
    try:
        feeds = [f.check(given[f.name]) for f in inputs]
        if len(given) == len(feeds):
            return feeds
    except KeyError:
        feeds = _with_defaults(inputs, given)
    except TypeError:
        if not isinstance(given, Mapping):
            raise InvalidType(f"feeds are a dict of input name -> array, not {type(given).__name__}") from None
        raise
    unknown = [n for n in given if n not in {f.name for f in inputs}]
    if unknown:
        kind = InvalidInput if isinstance(unknown[0], str) else InvalidType
        raise kind(f"the model has no input {unknown[0]!r}; its inputs are {[f.name for f in inputs]}")
    return feeds


def _array(x: Any) -> np.ndarray:
    """What exports an array or DLPack as an array: torch's bfloat16 tensors have only the latter."""
    if not hasattr(x, "__dlpack__"):
        return np.asarray(x)
    try:
        return np.asarray(x) if hasattr(x, "__array__") else from_dlpack(x)
    except TypeError:
        return from_dlpack(x)


def _with_defaults(inputs: list[Feed], given: Mapping[str, Any]) -> list[Any]:
    missing = [f.name for f in inputs if f.name not in given and not f.optional]
    if missing:
        raise InvalidInput(f"Required inputs ({missing}) are missing from input feed ({list(given)}).")
    return [f.check(given[f.name]) if f.name in given else f.default for f in inputs]


class SharedSymbols:
    """Where the inputs share a symbolic dimension. Passes take one symbol for one size; a file may use it for two."""

    def __init__(self, feeds: list[Feed]):
        places: dict[str, list[tuple[int, str, int]]] = {}
        for i, f in enumerate(feeds):
            for axis, d in enumerate(f.shape or ()):
                if isinstance(d, str):
                    places.setdefault(d, []).append((i, f.name, axis))
        self.groups = [p for p in places.values() if len(p) > 1]

    def agree(self, values: list[Any]) -> bool:
        """Whether each symbol has one size in checked feeds."""
        for (i, _, axis), *rest in self.groups:
            size = values[i].shape[axis]
            for j, _, other in rest:
                if values[j].shape[other] != size:
                    return False
        return True

    def guard(self, entry: Callable[[Any], list[Any] | None]) -> Callable[[Any], list[Any] | None]:
        """`entry`, but None for feeds whose symbols do not agree (or that are not arrays of the declared ranks)."""

        def guarded(given: Any) -> list[Any] | None:
            try:
                for (_, name, axis), *rest in self.groups:
                    size = given[name].shape[axis]
                    for _, name_b, axis_b in rest:
                        if given[name_b].shape[axis_b] != size:
                            return None
            except (KeyError, AttributeError, IndexError, TypeError):
                return None
            return entry(given)

        return guarded if self.groups else entry


def shape_string(shape: tuple[Any, ...]) -> str:
    """A shape for messages: [batch, 3, 224, 224]."""
    return "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"


def lent(feeds: list[Any]) -> set[int]:
    """The ids of the buffers of the arrays in the sequences among checked feeds: what `own` is to have seen."""
    arrays = [e for x in feeds if type(x) is list for e in x if type(e) is np.ndarray]
    return {id(e if e.base is None else e.base) for e in arrays}


def own(y: Any, feeds: list[Any], seen: set[int]) -> Any:
    """The value as the caller's own: a writable, contiguous ndarray that shares no memory with a feed, a constant or an
    output given before (`seen` holds the ids of their buffers)."""
    if type(y) is np.ndarray:
        flags = y.flags
        if flags.c_contiguous and flags.writeable and flags.aligned:
            root = y if y.base is None else y.base
            if id(root) not in seen and all(x is not root and getattr(x, "base", None) is not root for x in feeds):
                seen.add(id(root))
                return y
        return y.copy(order="C")
    if y is None or isinstance(y, (str, bytes)):
        return y
    if isinstance(y, list):
        return [own(e, feeds, seen) for e in y]
    if isinstance(y, dict):
        return dict(y)
    return np.array(y)

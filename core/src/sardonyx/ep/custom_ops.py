"""Custom operators: Python functions over numpy arrays that stand for operators ONNX does not define."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from sardonyx.errors import InvalidInput, InvalidModel, InvalidType, NodeError
from sardonyx.ir.dtypes import STRING
from sardonyx.ir.graph import Node
from sardonyx.ir.schema import KNOWN
from sardonyx.ir.types import TensorType, ValueType

__all__ = ["CustomOp", "custom_op", "registered"]

Parameter = inspect.Parameter
_registered: dict[tuple[str, str], dict[int, CustomOp]] = {}


class CustomOp:
    """A custom operator; calling it calls its function. `custom_op` makes them.

    `domain`, `name` and `since` say which nodes it runs, `dtypes` and `shape` what it gives. Its function's positional
    parameters are the inputs (`least` to `most` of them), its keyword-only ones the attributes, True where required.
    """

    def __init__(
        self, function: Callable[..., Any], domain: str, name: str, since: int, dtypes: Sequence[Any], shape: Callable[..., Any] | None
    ):
        functools.update_wrapper(self, function)
        self.where = f"{function.__module__}.{function.__qualname__}"
        self.function, self.domain, self.name, self.since, self.shape = function, domain, name, since, shape
        if isinstance(dtypes, (str, type, np.dtype, int)) or not isinstance(dtypes, Iterable):
            raise InvalidType(f"{self.title}: dtypes is a list, one for each output, e.g. [np.float32], or [0] for that of input 0")
        self.dtypes = tuple(_dtype(d, self.title) for d in dtypes)
        if not self.dtypes:
            raise InvalidInput(f"{self.title}: dtypes is empty; it names the dtype of each output")
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError as e:
            raise InvalidInput(f"{self.title}: its function does not say what it takes: {e}; wrap it in one of Python") from e
        if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
            raise InvalidInput(f"{self.title}: its attributes are keyword-only parameters, each by its name; ** is not possible")
        self.attributes = {p.name: p.default is Parameter.empty for p in parameters if p.kind is Parameter.KEYWORD_ONLY}
        inputs = [p for p in parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
        many = any(p.kind is Parameter.VAR_POSITIONAL for p in parameters)
        self.least, self.most = sum(p.default is Parameter.empty for p in inputs), None if many else len(inputs)
        wrong = [d for d in self.dtypes if isinstance(d, int) and (d < 0 or (self.most is not None and d >= self.most))]
        if wrong:
            raise InvalidInput(f"{self.title}: dtypes names input {wrong[0]}, but its function has {self.most} inputs")

    @property
    def title(self) -> str:
        """`domain::Name-since`, for messages."""
        return f"{self.domain}::{self.name}-{self.since}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<custom operator {self.title}: {self.where}>"

    def __reduce__(self) -> str:
        return str(self.function.__qualname__)

    def unregister(self) -> None:
        """Undo the registration with the process; sessions that were made keep it."""
        versions = _registered.get((self.domain, self.name), {})
        if versions.get(self.since) is self:
            del versions[self.since]

    def refusal(self, node: Node) -> str | None:
        """Why the function cannot run a node of its operator, or None."""
        given, most = len(node.inputs), self.most
        if given < self.least or (most is not None and given > most):
            takes = f"at least {self.least}" if most is None else str(most) if most == self.least else f"{self.least} to {most}"
            return f"the node has {given} inputs, its function takes {takes}"
        if len(node.outputs) > len(self.dtypes):
            return f"the node has {len(node.outputs)} outputs, its function gives {len(self.dtypes)}"
        unknown = sorted(node.attrs.keys() - self.attributes.keys())
        if unknown:
            return f"its function has no attribute {unknown[0]!r} (a keyword-only parameter); it has {sorted(self.attributes) or 'none'}"
        missing = sorted(name for name, required in self.attributes.items() if required and name not in node.attrs)
        if missing:
            return f"the node lacks attribute {missing[0]!r}, which its function requires"
        if node.bodies:
            return "a custom operator cannot have graphs as attributes"
        for v, d in zip(node.outputs, self._dtypes(node), strict=False):
            if v is not None and v.dtype is not None and d is not None and v.dtype != d:
                return f"the model declares {v.name!r} as {v.dtype}, its function gives {d}"
        return None

    def _dtypes(self, node: Node) -> list[np.dtype | None]:
        inputs = [None if v is None else v.dtype for v in node.inputs]
        return [d if isinstance(d, np.dtype) else inputs[d] if d < len(inputs) else None for d in self.dtypes]

    def types(self, node: Node) -> list[ValueType]:
        """The types of a node's outputs. InvalidModel where the shape function fails on shapes that are known."""
        shapes = None
        given = [None if v is None else v.shape for v in node.inputs]
        if self.shape is not None and all(v is None or s is not None for v, s in zip(node.inputs, given, strict=True)):
            named = [None if s is None else tuple(Symbol(d) if isinstance(d, str) else d for d in s) for s in given]
            try:
                shapes = self._shapes(named, node.attrs)
            except Exception as e:
                if all(s is None or all(isinstance(d, int) for d in s) for s in given):
                    what = f"node {node.name!r}: the shape function of {self.title} fails for {given}"
                    raise InvalidModel(f"{what}: {type(e).__name__}: {e}") from e
        known = self._dtypes(node)
        return [TensorType(d, None if shapes is None else shapes[i]) for i, d in enumerate(known)]

    def _shapes(self, given: Sequence[Any], attrs: dict[str, Any]) -> list[tuple[Any, ...]]:
        assert self.shape is not None
        shapes = self.shape(*given, **attrs)
        shapes = [shapes] if len(self.dtypes) == 1 and not (shapes and isinstance(shapes[0], (tuple, list))) else list(shapes)
        if len(shapes) != len(self.dtypes):
            raise ValueError(f"it gives {len(shapes)} shapes for {len(self.dtypes)} outputs")
        return [tuple(str(d) if isinstance(d, str) else None if d is None else int(d) for d in s) for s in shapes]

    def run(self, xp: Any, *inputs: Any, **attrs: Any) -> tuple[Any, ...]:
        """Call the function as a kernel: inputs are read-only, and outputs are checked against what is declared."""
        result = self.function(*map(_read_only, inputs), **attrs)
        results = result if isinstance(result, tuple) else (result,)
        if len(results) != len(self.dtypes):
            raise NodeError(f"{self.title} declares {len(self.dtypes)} outputs, its function returned {len(results)}")
        arrays = [self._checked(i, y, inputs) for i, y in enumerate(results)]
        if self.shape is not None and all(x is None or isinstance(x, np.ndarray) for x in inputs):
            for i, (y, s) in enumerate(zip(arrays, self._shapes([None if x is None else x.shape for x in inputs], attrs), strict=True)):
                if len(s) != y.ndim or any(d is not None and d != n for d, n in zip(s, y.shape, strict=True)):
                    raise NodeError(f"{self.title}: output {i} has shape {list(y.shape)}, but its shape function says {list(s)}")
        return tuple(arrays)

    def _checked(self, index: int, y: Any, inputs: Sequence[Any]) -> np.ndarray:
        d = self.dtypes[index]
        want = d if isinstance(d, np.dtype) else inputs[d].dtype
        if isinstance(y, (bool, int, float, complex, str)):
            return np.asarray(y, want)
        if not isinstance(y, (np.ndarray, np.generic)):
            raise NodeError(f"{self.title}: output {index} is {type(y).__name__}, not a numpy array")
        array = np.asarray(y)
        if want == STRING and array.dtype.kind == "U":
            return array.astype(STRING)
        if array.dtype != want:
            raise NodeError(f"{self.title}: output {index} is {array.dtype}, declared is {want}: convert it, e.g. y.astype({str(want)!r})")
        return array


class Symbol(str):
    """A symbolic dim in a shape function: it can be passed on, and arithmetic with it is an error, not a string."""

    __slots__ = ()
    __add__ = __mul__ = __rmul__ = __mod__ = None  # type: ignore[assignment]


def _dtype(d: Any, title: str) -> np.dtype | int:
    if isinstance(d, int) and not isinstance(d, bool):
        return d
    try:
        dtype = np.dtype(getattr(ml_dtypes, d, d) if isinstance(d, str) else d)
    except TypeError:
        raise InvalidInput(f"{title}: {d!r} is not a dtype; dtypes has a numpy dtype for each output, or the index of an input") from None
    return STRING if dtype.kind in "US" else dtype


def _read_only(x: Any) -> Any:
    if not isinstance(x, np.ndarray):
        return x
    view = x.view()
    view.flags.writeable = False
    return view


def custom_op(
    domain: str, name: str, *, dtypes: Sequence[Any], shape: Callable[..., Any] | None = None, since: int = 1, register: bool = True
) -> Callable[[Callable[..., Any]], CustomOp]:
    """Let the decorated function run the nodes of operator `name` of `domain`, from version `since` of the domain on.

    The function takes a node's inputs as read-only numpy arrays (None: absent) and its attributes as keyword-only arguments;
    it returns an array, or a tuple of them. `dtypes` has for each output a numpy dtype, or the index of the input whose
    dtype it has. `shape(*shapes, **attributes)`, if given, returns the output's shape (several outputs: a list of shapes);
    dims are ints, symbols (str) or None. `register=False` leaves it to SessionOptions.register_custom_ops, or to the hook
    sardonyx_custom_ops, to make it known. Raises InvalidInput for what cannot be declared, and where another function is
    registered for the same operator and version; defining the same function again replaces it.
    """
    for what, text in (("domain", domain), ("name", name)):
        if not isinstance(text, str):
            raise InvalidType(f"custom_op: the {what} of an operator is text (str), not {type(text).__name__} {text!r}")
    if not name:
        raise InvalidInput(f"custom_op: the name of an operator of {domain!r} is empty")
    if shape is not None and not callable(shape):
        raise InvalidType(f"{domain}::{name}: shape is a function of the inputs' shapes, or None, not {type(shape).__name__} {shape!r}")
    if domain in ("ai.onnx", *KNOWN):
        raise InvalidInput(f"{domain or 'ai.onnx'!r} is ONNX's own domain: its operators cannot be replaced; use a domain of your own")
    if not isinstance(since, int) or since < 1:
        raise InvalidInput(f"{domain}::{name}: since is the first version of the domain that has it, 1 or more, not {since!r}")

    def decorate(function: Callable[..., Any]) -> CustomOp:
        if not callable(function) or not hasattr(function, "__qualname__"):
            raise InvalidType(f"{domain}::{name}: custom_op decorates a function, not {type(function).__name__} {function!r}")
        op = CustomOp(function, domain, name, since, dtypes, shape)
        if register:
            versions = _registered.setdefault((domain, name), {})
            other = versions.get(since)
            if other is not None and other.where != op.where:
                raise InvalidInput(f"{op.title} is registered already, by {other.where}; unregister() that first")
            versions[since] = op
        return op

    return decorate


def registered(domain: str, name: str) -> dict[int, CustomOp]:
    """The versions of an operator that are registered with the process, by `since`."""
    return dict(_registered.get((domain, name), {}))

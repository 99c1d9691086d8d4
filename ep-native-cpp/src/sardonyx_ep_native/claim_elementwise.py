"""What the engine takes of elementwise operators: float32, float16 and bfloat16 everywhere, other types where listed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx.ir.dtypes import FROM_ONNX
from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import DTYPES, INTS, add, dtypes, named_dtype, one_of

_FLOATS = (DTYPES[0], DTYPES[2], DTYPES[3])
_DOUBLE = (*_FLOATS, DTYPES[1])
_NUMBERS = (*_DOUBLE, *INTS)
_SIGNED = (*_DOUBLE, *(t for t in INTS if t.kind == "i"))
_BOOL = (np.dtype("?"),)
_MOST_INPUTS = 12

# Operator: version from which on, and element types of all inputs. Binary operators broadcast from version 7 on.
_TYPES: dict[str, tuple[int, tuple[np.dtype, ...]]] = {
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), (7, _NUMBERS)),
    **dict.fromkeys(("Greater", "Less", "GreaterOrEqual", "LessOrEqual"), (7, _NUMBERS)),
    **dict.fromkeys(("And", "Or", "Xor"), (7, _BOOL)),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"), (18, INTS)),
    **dict.fromkeys(("Exp", "Log", "Sqrt", "Reciprocal", "Floor", "Ceil", "Round", "IsNaN"), (1, _DOUBLE)),
    **dict.fromkeys(("Sigmoid", "Tanh", "Erf", "Sin", "Cos"), (1, _DOUBLE)),
    **dict.fromkeys(("Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"), (1, _FLOATS)),
    **dict.fromkeys(("LeakyRelu", "Elu", "HardSigmoid", "HardSwish", "ThresholdedRelu", "Shrink"), (1, _FLOATS)),
    **dict.fromkeys(("Softplus", "Softsign", "Mish", "Swish", "SwiGLU"), (1, _FLOATS)),
    "Equal": (7, (*_NUMBERS, *_BOOL)),
    "Not": (1, _BOOL),
    "Neg": (1, _SIGNED),
    "Abs": (1, _NUMBERS),
    "Sign": (1, _NUMBERS),
    "Relu": (1, _SIGNED),
    "Selu": (6, _FLOATS),
    "IsInf": (10, _DOUBLE),
    "Mod": (10, _NUMBERS),
    "PRelu": (7, _NUMBERS),
}


def _check(allowed: tuple[np.dtype, ...]) -> Callable[[Node], str | None]:
    def check(node: Node) -> str | None:
        return dtypes(node, allowed, tuple(range(len(node.inputs)))) or _ranks(node)

    return check


def _ranks(node: Node) -> str | None:
    rank = max((v.rank or 0 for v in node.inputs if v is not None), default=0)
    return None if rank <= 8 else f"a tensor of {rank} dimensions; the engine takes 8"


for _op, (_since, _allowed) in _TYPES.items():
    add(_op, _since)(_check(_allowed))


@add("Min", since=6)
@add("Max", since=6)
def extreme(node: Node) -> str | None:
    """Any numbers."""
    return _variadic(node, _NUMBERS)


@add("Sum", since=6)
@add("Mean", since=6)
def total(node: Node) -> str | None:
    """Floats."""
    return _variadic(node, _DOUBLE if node.op == "Sum" else _FLOATS)


def _variadic(node: Node, allowed: tuple[np.dtype, ...]) -> str | None:
    if len(node.inputs) > _MOST_INPUTS:
        return f"{len(node.inputs)} inputs; the engine's {node.op} takes {_MOST_INPUTS}"
    return _check(allowed)(node)


@add("Clip", since=11)
def clip(node: Node) -> str | None:
    """Any numbers, with bounds that are constants or not."""
    return _check(_NUMBERS)(node)


@add("Pow", since=7)
def power(node: Node) -> str | None:
    """Any two types of numbers."""
    return _check(_NUMBERS)(node)


@add("BitShift", since=11)
def bit_shift(node: Node) -> str | None:
    """Either direction."""
    return _check(INTS)(node) or (None if node.attrs.get("direction") in ("LEFT", "RIGHT") else "its direction is neither LEFT nor RIGHT")


@add("Where", since=9)
def where(node: Node) -> str | None:
    """Any type that the engine holds."""
    return _ranks(node)


@add("Celu", since=12)
def celu(node: Node) -> str | None:
    """Of no negative width, for which the exponent would be positive."""
    return _check(_FLOATS)(node) or (f"its attribute alpha={node.attrs['alpha']} is negative" if node.attrs.get("alpha", 1.0) < 0 else None)


@add("Gelu", since=20)
def gelu(node: Node) -> str | None:
    """Both forms."""
    return _check(_FLOATS)(node) or one_of(node, "approximate", "none", ("none", "tanh"))


@add("Cast", since=6)
@add("CastLike", since=15)
def cast(node: Node) -> str | None:
    """Between any two types that the engine holds."""
    target = node.outputs[0]
    if node.op == "Cast" and target is not None and FROM_ONNX.get(node.attrs.get("to", 0)) != target.dtype:
        return f"its attribute to={node.attrs.get('to')} is not the type of its output, {target.dtype}"
    return _ranks(node)


@add("BitCast", since=26)
def bit_cast(node: Node) -> str | None:
    """Between types of one width, bool excepted."""
    source, target = node.inputs[0], node.outputs[0]
    if source is None or target is None or source.dtype is None or target.dtype is None:
        return "the dtype of its input or output is unknown"
    if reason := named_dtype(node, "to", (target.dtype,)):
        return reason
    if source.dtype.itemsize != target.dtype.itemsize or target.dtype.kind == "b":
        return "the types differ in width, or its result is bool"
    return _ranks(node)

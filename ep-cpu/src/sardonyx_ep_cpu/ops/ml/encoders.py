"""Categories to numbers and back: CategoryMapper, LabelEncoder, OneHotEncoder."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.ops.ml.inputs import parallel
from sardonyx_ep_cpu.ops.ml.lookup import Lookup, string_array

ops = KernelSet("ai.onnx.ml")

Table = tuple[Lookup, np.ndarray]


def _mapping(keys: np.ndarray | list, values: np.ndarray | list, default: Any) -> Table:
    """Keys, and their values followed by the default, so that position -1 is the default."""
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUS":
        return Lookup(keys), np.append(values, np.asarray(default, values.dtype))
    return Lookup(keys), string_array([*values, default])


def _apply(xp: Any, table: Table, x: np.ndarray) -> np.ndarray:
    lookup, values = table
    return np.asarray(values[lookup(xp, x)], values.dtype)


def _prepare_category_mapper(xp: Any, inputs: list, attrs: dict[str, Any]) -> tuple[Table, Table]:
    ints, strings = attrs.get("cats_int64s") or [], attrs.get("cats_strings") or []
    parallel(cats_int64s=ints, cats_strings=strings)
    numbers = np.asarray(ints, np.int64)
    return (
        _mapping(strings, numbers, attrs.get("default_int64", -1)),
        _mapping(numbers, strings, attrs.get("default_string", "_Unused")),
    )


@ops.add("CategoryMapper", since=1, prepare=_prepare_category_mapper)
def category_mapper(
    xp, x, *, cats_int64s=None, cats_strings=None, default_int64=-1, default_string="_Unused", prepared: tuple[Table, Table]
) -> np.ndarray:
    """Strings to int64 or int64 to strings, elementwise, by two parallel lists; the last of equal keys counts."""
    return _apply(xp, prepared[x.dtype != object], x)


def _prepare_label_encoder_1(xp: Any, inputs: list, attrs: dict[str, Any]) -> tuple[Table, Table]:
    classes = attrs.get("classes_strings") or []
    numbers = np.arange(len(classes), dtype=np.int64)
    return (
        _mapping(classes, numbers, attrs.get("default_int64", -1)),
        _mapping(numbers, classes, attrs.get("default_string", "_Unused")),
    )


@ops.add("LabelEncoder", since=1, prepare=_prepare_label_encoder_1)
def label_encoder_1(
    xp, x, *, classes_strings=None, default_int64=-1, default_string="_Unused", prepared: tuple[Table, Table]
) -> np.ndarray:
    """Strings to their index in the list (the last, if repeated), or int64 indices to strings."""
    return _apply(xp, prepared[x.dtype != object], x)


def _one_of(attrs: dict[str, Any], prefix: str) -> np.ndarray | list:
    """The one attribute of prefix_int64s, _floats, _strings, _tensor that is given, as an array or a list of strings."""
    given = {}
    for suffix, dtype in (("int64s", np.int64), ("floats", np.float32), ("strings", None), ("tensor", None)):
        value = attrs.get(f"{prefix}_{suffix}")
        if value is not None and len(value):
            given[f"{prefix}_{suffix}"] = value if dtype is None else np.asarray(value, dtype)
    if len(given) != 1:
        raise InvalidInput(f"LabelEncoder needs exactly one {prefix}_* attribute, but has {', '.join(given) or 'none'}")
    (value,) = given.values()
    return value.ravel() if isinstance(value, np.ndarray) else value


def _prepare_label_encoder_2(xp: Any, inputs: list, attrs: dict[str, Any]) -> Table:
    keys, values = _one_of(attrs, "keys"), _one_of(attrs, "values")
    parallel(keys=keys, values=values)
    default = attrs.get("default_tensor")
    if default is not None:
        default = default.ravel()[0]
    elif isinstance(values, list) or values.dtype.kind in "OUS":
        default = attrs.get("default_string", "_Unused")
    elif values.dtype.kind == "f":
        default = attrs.get("default_float", -0.0)
    else:
        default = attrs.get("default_int64", -1)
    return _mapping(keys, values, default)


@ops.add("LabelEncoder", since=2, prepare=_prepare_label_encoder_2)
def label_encoder_2(
    xp,
    x,
    *,
    keys_strings=None,
    keys_int64s=None,
    keys_floats=None,
    values_strings=None,
    values_int64s=None,
    values_floats=None,
    default_string="_Unused",
    default_int64=-1,
    default_float=-0.0,
    prepared: Table,
) -> np.ndarray:
    """Map each element by two parallel lists; the default of the values' type where it is no key.

    A NaN key matches every NaN, and -0.0 matches 0.0. Of equal keys the last counts, as LabelEncoder-4 demands.
    """
    return _apply(xp, prepared, x)


@ops.add("LabelEncoder", since=4, prepare=_prepare_label_encoder_2)
def label_encoder_4(
    xp,
    x,
    *,
    keys_tensor=None,
    keys_strings=None,
    keys_int64s=None,
    keys_floats=None,
    values_tensor=None,
    values_strings=None,
    values_int64s=None,
    values_floats=None,
    default_string="_Unused",
    default_int64=-1,
    default_float=-0.0,
    default_tensor=None,
    prepared: Table,
) -> np.ndarray:
    """LabelEncoder-2, with keys, values and default also as tensors of any of the six types."""
    return _apply(xp, prepared, x)


def _prepare_one_hot(xp: Any, inputs: list, attrs: dict[str, Any]) -> Lookup:
    ints, strings = attrs.get("cats_int64s") or [], attrs.get("cats_strings") or []
    if bool(ints) == bool(strings):
        raise InvalidInput("OneHotEncoder needs exactly one of cats_int64s and cats_strings")
    return Lookup(strings or np.asarray(ints, np.int64))


@ops.add("OneHotEncoder", since=1, prepare=_prepare_one_hot)
def one_hot_encoder(xp, x, *, cats_int64s=None, cats_strings=None, zeros=1, prepared: Lookup) -> np.ndarray:
    """x [...] -> float32 [..., categories]; floats are truncated to integers first.

    The last of equal categories counts. Where an element is no category: zeros, or InvalidInput if `zeros` is 0.
    """
    if x.dtype.kind == "f":
        x = xp.trunc(x)
    position = prepared(xp, x)
    known = position >= 0
    if not zeros and not known.all():
        raise InvalidInput(f"OneHotEncoder: {x[~known][0]!r} is no category, and the attribute zeros is 0")
    out = xp.zeros((x.size, prepared.size), xp.float32)
    rows = xp.flatnonzero(known)
    out[rows, position.ravel()[rows]] = 1
    return out.reshape(*x.shape, prepared.size)

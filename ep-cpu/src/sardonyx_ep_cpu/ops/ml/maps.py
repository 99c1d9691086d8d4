"""Maps (Python dicts) to tensors and back: CastMap, DictVectorizer, ZipMap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.ops.ml.inputs import label_array

ops = KernelSet("ai.onnx.ml")


def _string(value: Any) -> str:
    """A map's value as a string; numbers with six decimals, as onnxruntime writes them."""
    return value if isinstance(value, str) else f"{value:f}"


# element type, conversion, and what stands where a sparse map has no key
_CASTS: dict[str, tuple[Any, Callable[[Any], Any], Any]] = {
    "TO_FLOAT": (np.float32, float, 0.0),
    "TO_INT64": (np.int64, int, 0),
    "TO_STRING": (object, _string, "0.f"),
}


@ops.add("CastMap", since=1)
def cast_map(xp, x, *, cast_to="TO_FLOAT", map_form="DENSE", max_map=1) -> np.ndarray:
    """A map with int64 keys -> tensor [1, n] of its values in order of the keys.

    DENSE: n is the number of entries. SPARSE: n is `max_map`, the key is the column, and what no key names is 0 (the
    string "0.f", onnxruntime's choice where ONNX says nothing). InvalidInput for a key outside [0, max_map).
    """
    if cast_to not in _CASTS:
        raise InvalidInput(f"cast_to is {cast_to!r}, but must be one of {', '.join(_CASTS)}")
    dtype, cast, pad = _CASTS[cast_to]
    if map_form == "DENSE":
        keys = sorted(x)
        out = np.empty((1, len(keys)), dtype)
        out[0, :] = [cast(x[key]) for key in keys]
        return out
    if map_form != "SPARSE":
        raise InvalidInput(f"map_form is {map_form!r}, but must be DENSE or SPARSE")
    out = np.full((1, max_map), pad, dtype)
    for key, value in x.items():
        if not 0 <= key < max_map:
            raise InvalidInput(f"the map's key {key} lies outside [0, {max_map}), the range that max_map allows")
        out[0, key] = cast(value)
    return out


def _value_dtype(maps: list[dict]) -> np.dtype:
    """The element type of maps of Python or numpy values; a Python float is ONNX's float."""
    value = next((v for row in maps for v in row.values()), 0.0)
    if isinstance(value, np.generic):
        return value.dtype if value.dtype.kind not in "US" else np.dtype(object)
    return np.dtype({str: object, int: np.int64}.get(type(value), np.float32))


def _prepare_vocabulary(xp: Any, inputs: list, attrs: dict[str, Any]) -> dict:
    ints, strings = attrs.get("int64_vocabulary"), attrs.get("string_vocabulary")
    if bool(ints) == bool(strings):
        raise InvalidInput("DictVectorizer needs exactly one of int64_vocabulary and string_vocabulary")
    return {key: column for column, key in enumerate(ints or strings or [])}


@ops.add("DictVectorizer", since=1, prepare=_prepare_vocabulary)
def dict_vectorizer(xp, x, *, int64_vocabulary=None, string_vocabulary=None, prepared: dict) -> np.ndarray:
    """A map -> tensor [1, n], n the size of the vocabulary: the value of each of its keys, 0 (or "") where absent.

    ONNX's text says 1-D, but the converters' models are made for onnxruntime's [1, n]. A list of maps gives one row
    per map. Keys outside the vocabulary are left out, as in scikit-learn.
    """
    maps = x if isinstance(x, list) else [x]
    dtype = _value_dtype(maps)
    out = np.full((len(maps), len(prepared)), "" if dtype.kind == "O" else 0, dtype)
    for row, entries in zip(out, maps, strict=True):
        for key, value in entries.items():
            column = prepared.get(key)
            if column is not None:
                row[column] = value
    return out


@ops.add("ZipMap", since=1)
def zip_map(xp, x, *, classlabels_int64s=None, classlabels_strings=None) -> list[dict]:
    """Rows [N, K] (or one row [K]) -> a list of N maps from the K labels to Python floats."""
    labels = label_array(classlabels_int64s, classlabels_strings).tolist()
    rows = x[None] if x.ndim == 1 else x
    if rows.ndim != 2 or rows.shape[1] != len(labels):
        raise InvalidInput(f"ZipMap has {len(labels)} labels, but its input of shape {x.shape} has not as many columns")
    return [dict(zip(labels, row, strict=True)) for row in rows.tolist()]

"""Outputs to npz and npy files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput
from sardonyx.ir.replacing import writing
from sardonyx.tools.npz import write_npz

__all__ = ["save_values"]


def save_values(path: str, values: dict[str, Any]) -> None:
    """Write the values: .npz holds them by name (elements of a sequence as NAME.0, NAME.1, ...), .npy holds a single one.

    Strings are written as numpy text; bfloat16 and the like as raw elements, which `sardonyx run` reads back. Raises
    InvalidInput for another ending and for maps, UnwritableFile where the file cannot be written.
    """
    arrays: dict[str, np.ndarray] = {}
    for name, value in values.items():
        if isinstance(value, list) and all(isinstance(v, np.ndarray) for v in value):
            arrays |= {f"{name}.{i}": _plain(v) for i, v in enumerate(value)}
        elif isinstance(value, np.ndarray):
            arrays[name] = _plain(value)
        else:
            raise InvalidInput(f"--save: output {name!r} is a {type(value).__name__}, which numpy's files cannot hold; use --json")
    kind = Path(path).suffix.lower()
    if kind not in (".npz", ".npy"):
        raise InvalidInput(f"--save {path}: the file's name must end in .npz or .npy")
    if kind == ".npy" and len(arrays) != 1:
        raise InvalidInput(f"--save {path}: an .npy file holds one array, these are {len(arrays)}: use .npz")
    with writing(path, "--save") as f:
        if kind == ".npy":
            np.save(f, next(iter(arrays.values())), allow_pickle=False)
        else:
            write_npz(f, arrays)


def _plain(x: np.ndarray) -> np.ndarray:
    return x.astype(np.str_) if x.dtype == object else x

"""Arrays in an .npz file, under whatever names."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

__all__ = ["write_npz"]


def write_npz(file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    """As numpy.savez, which takes no array called `file`, nor one called `allow_pickle`. Raises ValueError for arrays of objects."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)

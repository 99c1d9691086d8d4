import mmap

import numpy as np

from sardonyx.ep import held_by


def test_arrays_of_one_memory_are_one_part(tmp_path):
    (tmp_path / "f").write_bytes(bytes(64))
    own, given = np.zeros(8), bytes(64)
    with open(tmp_path / "f", "rb") as f:
        file = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    mapped = [np.frombuffer(file, np.float32, 4, at) for at in (0, 16, 16)]
    held = held_by([own, own[2:], own.reshape(2, 4), *mapped, np.frombuffer(given, np.int8)[:8]])
    assert list(held["weights"].values()) == [64]
    assert sorted(held["mapped"].values()) == [8, 16, 16]
    assert held_by([own[::2]], "packed")["packed"] == held["weights"]


def test_memory_that_is_neither_counts_as_its_kind():
    (part,) = held_by([np.frombuffer(bytearray(8), np.int8)])["weights"].values()
    assert part == 8

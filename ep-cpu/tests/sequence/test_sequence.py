import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.sequence import optionals as o
from sardonyx_ep_cpu.ops.sequence import sequences as s

A, B, C = (np.float32([i]) for i in range(3))


def test_construct_insert_erase_at_length():
    ab = s.sequence_construct(np, A, B)
    assert s.sequence_insert(np, ab, C) == [A, B, C]
    assert s.sequence_insert(np, ab, C, np.array(-1)) == [A, C, B]
    assert s.sequence_insert(np, ab, C, np.array(-2)) == [C, A, B]
    assert s.sequence_insert(np, s.sequence_empty(np), C, np.array(0)) == [C]
    assert s.sequence_erase(np, ab) == [A]
    assert s.sequence_erase(np, ab, np.array(-2, np.int32)) == [B]
    assert s.sequence_at(np, ab, np.array(-1)) is B
    assert (s.sequence_length(np, ab), s.sequence_length(np, ab).shape) == (2, ())
    assert ab == [A, B]


def test_positions_out_of_range_and_mixed_types_raise():
    ab = [A, B]
    for call in (
        lambda: s.sequence_insert(np, ab, C, np.array(3)),
        lambda: s.sequence_insert(np, ab, C, np.array(-3)),
        lambda: s.sequence_erase(np, ab, np.array(2)),
        lambda: s.sequence_erase(np, []),
        lambda: s.sequence_at(np, ab, np.array(2)),
        lambda: s.sequence_at(np, ab, np.array(-3)),
        lambda: s.sequence_construct(np, A, np.array([1])),
        lambda: s.sequence_insert(np, ab, np.array([1])),
        lambda: s.concat_from_sequence(np, [], axis=0),
    ):
        with pytest.raises(NodeError):
            call()


def test_split_and_concat():
    x = np.arange(10).reshape(2, 5)

    def shapes(parts):
        return [part.shape for part in parts]

    assert shapes(s.split_to_sequence(np, x, axis=-1)) == [(2, 1)] * 5
    assert shapes(s.split_to_sequence(np, x, axis=1, keepdims=0)) == [(2,)] * 5
    assert shapes(s.split_to_sequence(np, x, np.array(2), axis=1, keepdims=0)) == [(2, 2), (2, 2), (2, 1)]
    assert shapes(s.split_to_sequence(np, x, np.array([1, 0, 4]), axis=1)) == [(2, 1), (2, 0), (2, 4)]
    assert s.split_to_sequence(np, x[:0]) == []
    parts = s.split_to_sequence(np, x, np.array([1, 4]), axis=1)
    np.testing.assert_array_equal(s.concat_from_sequence(np, parts, axis=1), x)
    assert s.concat_from_sequence(np, [x, x], axis=-1, new_axis=1).shape == (2, 5, 2)
    for split in (np.array([1, 5]), np.array(0), np.array([-1, 6])):
        with pytest.raises(NodeError):
            s.split_to_sequence(np, x, split, axis=1)


def test_optionals():
    assert o.optional(np, A) is A
    assert o.optional(np, type="seq(tensor(float))") is None
    assert o.optional_get_element(np, [A]) == [A]
    assert o.optional_has_element(np, A)
    assert not o.optional_has_element(np)
    assert o.optional_has_element(np, []).dtype == np.bool_
    with pytest.raises(NodeError, match="empty"):
        o.optional_get_element(np, None)

"""Sequences of tensors, which are Python lists. No operator changes a list it was given."""

from __future__ import annotations

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import normalize_axis, split_sizes
from sardonyx.errors import NodeError

__all__ = ["ops"]

ops = KernelSet()


def _position(position, lowest, highest):
    """The integer in the scalar tensor `position`; NodeError outside [lowest, highest]."""
    index = int(position.item())
    if not lowest <= index <= highest:
        raise NodeError(f"position {index} is outside [{lowest}, {highest}]")
    return index


@ops.add("SequenceConstruct", since=11)
def sequence_construct(xp, *inputs):
    """A sequence of the inputs, which have one dtype."""
    if any(x.dtype != inputs[0].dtype for x in inputs):
        raise NodeError(f"the tensors of a sequence must have one dtype, not {', '.join(str(x.dtype) for x in inputs)}")
    return list(inputs)


@ops.add("SequenceEmpty", since=11)
def sequence_empty(xp, *, dtype=None):
    """A sequence without elements."""
    return []


@ops.add("SequenceInsert", since=11, host=(2,))
def sequence_insert(xp, input_sequence, tensor, position=None):
    """The sequence with `tensor` before `position` in [-n, n], at the end by default."""
    if input_sequence and input_sequence[0].dtype != tensor.dtype:
        raise NodeError(f"cannot insert a tensor of {tensor.dtype} into a sequence of {input_sequence[0].dtype}")
    count = len(input_sequence)
    index = count if position is None else _position(position, -count, count)
    result = list(input_sequence)
    result.insert(index, tensor)
    return result


@ops.add("SequenceAt", since=11, host=(1,))
def sequence_at(xp, input_sequence, position):
    """The element at `position` in [-n, n - 1]."""
    count = len(input_sequence)
    return input_sequence[_position(position, -count, count - 1)]


@ops.add("SequenceErase", since=11, host=(1,))
def sequence_erase(xp, input_sequence, position=None):
    """The sequence without the element at `position` in [-n, n - 1], the last by default."""
    count = len(input_sequence)
    if not count:
        raise NodeError("cannot erase an element of an empty sequence")
    result = list(input_sequence)
    del result[-1 if position is None else _position(position, -count, count - 1)]
    return result


@ops.add("SequenceLength", since=11, host_outputs=(0,))
def sequence_length(xp, input_sequence):
    """The number of elements, an int64 scalar."""
    return np.array(len(input_sequence), np.int64)


@ops.add("SplitToSequence", since=11, host=(1,))
def split_to_sequence(xp, input, split=None, *, axis=0, keepdims=1):
    """Pieces along `axis`: of the sizes in a rank-1 `split`, or of one size (the last smaller), 1 by default.

    Without `split` and with `keepdims` 0 the pieces lose the axis.
    """
    axis = normalize_axis(axis, input.ndim)
    size = input.shape[axis]
    before = (slice(None),) * axis
    if split is None and not keepdims:
        return [input[(*before, i, ...)] for i in range(size)]
    if split is not None and split.ndim:
        sizes = split_sizes(size, split.tolist())
    else:
        chunk = 1 if split is None else int(split.item())
        if chunk <= 0:
            raise NodeError(f"split {chunk} must be positive")
        sizes = [min(chunk, size - start) for start in range(0, size, chunk)]
    ends = np.cumsum(sizes, dtype=np.int64).tolist()
    return [input[(*before, slice(end - n, end))] for n, end in zip(sizes, ends, strict=True)]


@ops.add("ConcatFromSequence", since=11)
def concat_from_sequence(xp, input_sequence, *, axis, new_axis=0):
    """The elements one after another along `axis`, or stacked along a new one."""
    if not input_sequence:
        raise NodeError("cannot concatenate an empty sequence")
    return xp.stack(input_sequence, axis) if new_axis else xp.concatenate(input_sequence, axis)

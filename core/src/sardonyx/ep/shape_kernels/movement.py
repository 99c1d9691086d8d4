"""Operators that move or relabel elements: Reshape, Transpose, Slice, Concat, Split, ..."""

from __future__ import annotations

import functools
from math import prod

from sardonyx.ep.kernels import KernelSet
from sardonyx.ep.shapes import (
    broadcast_shape,
    check_size,
    even_split,
    normalize_axes,
    normalize_axis,
    reshape_shape,
    slice_index,
    split_sizes,
)
from sardonyx.errors import NodeError

__all__ = ["ops"]

ops = KernelSet()

_ALL = slice(None)
# Up to this many elements copying is cheaper than making a broadcast view.
_SMALL = 4096
# From an input of so many bytes on, a look at the memory that is free costs nothing beside the copying.
_LARGE = 1 << 26


def _reshape(data, target, allowzero=0):
    least = min(target) if target else 1
    if least > 0 or (least == -1 and 0 not in target):
        return data.reshape(target)
    return data.reshape(reshape_shape(data.shape, target, allowzero))


@ops.add("Reshape", since=1)
def reshape_1(xp, data, *, consumed_inputs=None, shape=None):
    """`shape` as an attribute; 0 copies the input's dim, -1 is inferred."""
    return _reshape(data, list(shape or ()))


@ops.add("Reshape", since=5, host=(1,))
def reshape_5(xp, data, shape):
    """`shape` (rank 1, int64): 0 copies the input's dim, -1 is inferred."""
    return _reshape(data, shape.ravel().tolist())


@ops.add("Reshape", since=14, host=(1,))
def reshape_14(xp, data, shape, *, allowzero=0):
    """As Reshape-5; with `allowzero` a 0 stands for itself."""
    return _reshape(data, shape.ravel().tolist(), allowzero)


@ops.add("Flatten")
def flatten(xp, input, *, axis=1):
    """A matrix (product of dims before `axis`, product of the rest); `axis` in [-r, r]."""
    shape = input.shape
    if axis != len(shape):
        axis = normalize_axis(axis, len(shape))
    return input.reshape((prod(shape[:axis]), prod(shape[axis:])))


@functools.lru_cache(4096)
def _order(perm, rank):
    """`perm` with axes in [0, rank): numpy cuts numbers to 32 bits. Cached, for the check takes longer than to move a small tensor."""
    if len(perm) != rank:
        raise NodeError(f"perm {list(perm)} must name each of {rank} axes once")
    return normalize_axes(perm, rank)


@ops.add("Transpose")
def transpose(xp, data, *, perm=None):
    """A view with dims in the order `perm`, reversed by default."""
    return data.transpose(None if perm is None else _order(tuple(perm), data.ndim))


def _unsqueeze(data, axes):
    shape = list(data.shape)
    if len(axes) == 1:
        shape.insert(normalize_axis(axes[0], len(shape) + 1), 1)
        return data.reshape(shape)
    for axis in sorted(normalize_axes(axes, len(shape) + len(axes))):
        shape.insert(axis, 1)
    return data.reshape(shape)


@ops.add("Unsqueeze", since=1)
def unsqueeze_1(xp, data, *, axes):
    """Dims of size 1 at `axes`, which count in the output."""
    return _unsqueeze(data, axes)


@ops.add("Unsqueeze", since=13, host=(1,))
def unsqueeze_13(xp, data, axes):
    """Dims of size 1 at `axes` (int64, rank 1 or 0), which count in the output."""
    return _unsqueeze(data, axes.ravel().tolist())


def _squeeze(data, axes):
    if axes is None:
        return data.squeeze()
    axes = normalize_axes(axes, data.ndim)
    for axis in axes:
        if data.shape[axis] != 1:
            raise NodeError(f"axis {axis} of shape {list(data.shape)} is not of size 1: only such axes can be squeezed")
    return data.squeeze(axes)


@ops.add("Squeeze", since=1)
def squeeze_1(xp, data, *, axes=None):
    """Without the dims `axes`, each of size 1; by default all dims of size 1."""
    return _squeeze(data, axes)


@ops.add("Squeeze", since=13, host=(1,))
def squeeze_13(xp, data, axes=None):
    """As Squeeze-1 with `axes` as a tensor; an empty one names no dim."""
    return _squeeze(data, axes if axes is None else axes.reshape(-1).tolist())


def _broadcast(xp, data, shape):
    if prod(shape) > _SMALL:
        # A view needs no memory, but what reads it does.
        check_size(shape, data.itemsize)
        return xp.broadcast_to(data, shape)
    output = xp.empty(shape, data.dtype)
    output[...] = data
    return output


@ops.add("Expand", since=8, host=(1,))
def expand(xp, input, shape):
    """`input` broadcast together with `shape` (both ways: a 1 in `shape` keeps the input's dim)."""
    target = tuple(shape.ravel().tolist())
    if target == input.shape:
        return input
    if len(target) >= input.ndim:
        try:
            return _broadcast(xp, input, target)
        except ValueError:
            pass
    target = broadcast_shape(input.shape, target)
    return input if target == input.shape else _broadcast(xp, input, target)


def _tile(xp, data, repeats):
    if len(repeats) != data.ndim or min(repeats, default=0) < 0:
        raise NodeError(f"repeats {repeats} must hold one non-negative count for each dim of shape {data.shape}")
    shape = data.shape
    if all(count == 1 for count in repeats):
        return data
    interleaved = [n for pair in zip(repeats, shape, strict=True) for n in pair]
    check_size(interleaved, data.itemsize)
    output = xp.empty(interleaved, data.dtype)
    output[...] = data.reshape([n for dim in shape for n in (1, dim)])
    return output.reshape([count * dim for count, dim in zip(repeats, shape, strict=True)])


@ops.add("Tile", since=1, host=(1, 2))
def tile_1(xp, input, tiles, axis):
    """`tiles` copies along the one `axis`; both are scalars of the input's type."""
    repeats = [1] * input.ndim
    repeats[normalize_axis(int(axis.item()), input.ndim)] = int(tiles.item())
    return _tile(xp, input, repeats)


@ops.add("Tile", since=6, host=(1,))
def tile_6(xp, input, repeats):
    """`repeats` (rank 1, int64) copies along each dim."""
    return _tile(xp, input, repeats.ravel().tolist())


@ops.add("Concat", since=1)
def concat_1(xp, *inputs, axis=None):
    """As Concat-4 with axis 1 by default."""
    return concat_4(xp, *inputs, axis=1 if axis is None else axis)


@ops.add("Concat", since=4)
def concat_4(xp, *inputs, axis):
    """The inputs one after another along `axis`; all other dims must agree."""
    first = inputs[0]
    axis = normalize_axis(axis, first.ndim)
    if first.nbytes > _LARGE:
        check_size((sum(x.size for x in inputs),), first.itemsize)
    return xp.concatenate(inputs, axis)


@ops.add("Slice", since=1)
def slice_1(xp, data, *, ends, starts, axes=None):
    """Slices with step 1; any integer is legal and clamped to the dim."""
    index = slice_index(data.shape, starts, ends, axes)
    return data[index] if index else data


@ops.add("Slice", since=10, host=(1, 2, 3, 4))
def slice_10(xp, data, starts, ends, axes=None, steps=None):
    """A view; starts and ends (int32 or int64) may be any integers and are clamped, steps any but 0."""
    index = slice_index(
        data.shape,
        starts.ravel().tolist(),
        ends.ravel().tolist(),
        None if axes is None else axes.ravel().tolist(),
        None if steps is None else steps.ravel().tolist(),
    )
    return data[index] if index else data


def _split(data, axis, sizes, n_outputs):
    if len(sizes) < n_outputs:
        raise NodeError(f"Split gives {len(sizes)} pieces, but the node has {n_outputs} outputs")
    pieces = []
    before = (_ALL,) * axis
    stop = 0
    for size in sizes:
        start, stop = stop, stop + size
        pieces.append(data[(*before, slice(start, stop))])
    return tuple(pieces)


def _split_2(data, axis, sizes, n_outputs):
    axis = normalize_axis(axis, data.ndim)
    dim = data.shape[axis]
    return _split(data, axis, even_split(dim, n_outputs, exact=True) if sizes is None else split_sizes(dim, sizes), n_outputs)


@ops.add("Split", since=1, host=(1,))
def split_1(xp, input, sizes=None, *, split=None, axis=None, n_outputs=1):
    """Sizes from the attribute `split`, or the second input, or equal; axis 0 by default."""
    if split is None and sizes is not None:
        split = [int(size) for size in sizes.tolist()]
    return _split_2(input, axis or 0, split, n_outputs)


@ops.add("Split", since=2)
def split_2(xp, input, *, split=None, axis=0, n_outputs=1):
    """Sizes from the attribute `split`, or equal."""
    return _split_2(input, axis, split, n_outputs)


@ops.add("Split", since=13, host=(1,))
def split_13(xp, input, split=None, *, axis=0, n_outputs=1):
    """Sizes from the input `split`, or equal."""
    return _split_2(input, axis, None if split is None else split.ravel().tolist(), n_outputs)


@ops.add("Split", since=18, host=(1,))
def split_18(xp, input, split=None, *, axis=0, num_outputs=None, n_outputs=1):
    """Sizes from the input `split`, or `num_outputs` pieces of ceil(dim / num_outputs), the last ones smaller."""
    axis = normalize_axis(axis, input.ndim)
    dim = input.shape[axis]
    if split is None:
        return _split(input, axis, even_split(dim, num_outputs or n_outputs, first=n_outputs), n_outputs)
    if num_outputs is not None:
        raise NodeError("Split takes the input `split` or the attribute `num_outputs`, not both")
    return _split(input, axis, split_sizes(dim, split.ravel().tolist()), n_outputs)

"""CenterCropPad."""

from __future__ import annotations

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import check_size, normalize_axes
from sardonyx.errors import NodeError

__all__ = ["center_crop_pad", "ops"]

ops = KernelSet()


@ops.add("CenterCropPad", since=18, host=(1,))
def center_crop_pad(xp, input_data, shape, *, axes=None):
    """Input cropped or padded with zeros around its centre to `shape` on `axes`; an odd rest is cropped or padded at the end."""
    chosen = normalize_axes(list(range(input_data.ndim)) if axes is None else axes, input_data.ndim)
    wanted = shape.tolist()
    if len(wanted) != len(chosen) or any(n < 0 for n in wanted):
        raise NodeError(f"CenterCropPad got shape {wanted} for axes {list(chosen)} of an input of shape {input_data.shape}")
    out = list(input_data.shape)
    source, target = [slice(None)] * input_data.ndim, [slice(None)] * input_data.ndim
    for axis, new in zip(chosen, wanted, strict=True):
        old = out[axis]
        out[axis] = new
        if new < old:
            source[axis] = slice((old - new) // 2, (old - new) // 2 + new)
        elif new > old:
            target[axis] = slice((new - old) // 2, (new - old) // 2 + old)
    if all(s == slice(None) for s in target):
        return input_data[tuple(source)]
    check_size(out, input_data.itemsize)
    y = xp.zeros(out, input_data.dtype)
    if y.dtype == object:
        y.fill("")
    y[tuple(target)] = input_data[tuple(source)]
    return y

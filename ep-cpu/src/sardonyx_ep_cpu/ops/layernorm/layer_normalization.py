"""LayerNormalization, RMSNormalization, SimplifiedLayerNormalization."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx_ep_cpu.ops.layernorm.standardize import layer_norm, rms_norm
from sardonyx_ep_cpu.precision import is_half, stash_dtype, widen

ops = KernelSet()


@ops.add("LayerNormalization", since=17)
def layer_normalization(
    xp: Any, x: Any, scale: Any, b: Any = None, *, axis: int = -1, epsilon: float = 9.999999747378752e-06, stash_type: int = 1
) -> tuple[Any, Any, Any]:
    """Standardise over the axes from `axis` on, then scale and shift; also the mean and 1 / standard deviation.

    x of any float dtype; scale and b broadcast to x. Statistics are computed in float32, or in float64 for a float64 x,
    and returned in the dtype `stash_type`.
    """
    if not is_half(x.dtype):
        y, mean, inverse = layer_norm(xp, x, scale, b, epsilon, axis)
    else:
        y, mean, inverse = layer_norm(xp, widen(x), widen(scale), widen(b), epsilon, axis)
        y = y.astype(x.dtype)
    if stash_type == 1 and mean.dtype == xp.float32:
        return y, mean, inverse
    stash = stash_dtype(stash_type)
    return y, mean.astype(stash), inverse.astype(stash)


@ops.add("RMSNormalization", since=23)
def rms_normalization(xp: Any, x: Any, scale: Any, *, axis: int = -1, epsilon: float = 9.999999747378752e-06, stash_type: int = 1) -> Any:
    """x / sqrt(mean(x²) + epsilon) * scale over the axes from `axis` on, in the dtype of `scale`.

    x and scale may be of any float dtype; float16 and bfloat16 are computed in float32.
    """
    stash_dtype(stash_type)
    if x.dtype == scale.dtype and not is_half(x.dtype):
        return rms_norm(xp, x, scale, epsilon, axis)[0]
    y = rms_norm(xp, widen(x), None, epsilon, axis)[0]
    return (y * widen(scale)).astype(scale.dtype)


@ops.add("SimplifiedLayerNormalization", since=1)
@ops.add("SimplifiedLayerNormalization", since=1, domain="com.microsoft")
def simplified_layer_normalization(
    xp: Any, x: Any, scale: Any, *, axis: int = -1, epsilon: float = 9.999999747378752e-06, stash_type: int = 1
) -> tuple[Any, Any]:
    """RMSNormalization, also returning the reciprocal root mean square (float32, or float64 for a float64 x)."""
    stash_dtype(stash_type)
    wide = widen(x)
    y, inverse = rms_norm(xp, wide, None, epsilon, axis)
    if y.dtype == scale.dtype:
        y *= scale
    else:
        y = (y * widen(scale)).astype(scale.dtype)
    return y, inverse

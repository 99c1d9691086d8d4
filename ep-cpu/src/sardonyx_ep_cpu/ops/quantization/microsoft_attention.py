"""QAttention of com.microsoft: multi-head attention whose projection is an 8-bit product."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.attention.microsoft import multi_head_attention
from sardonyx_ep_cpu.ops.quantization.integer_product import integer_product, prepare_right, right_factor
from sardonyx_ep_cpu.precision import widen

__all__ = ["ops"]

ops = KernelSet("com.microsoft")


def _refuse(node: Any) -> str | None:
    if node.attrs.get("do_rotary") or node.attrs.get("past_present_share_buffer"):
        return "QAttention with rotary embedding or a shared key-value buffer"
    return None


@ops.add("QAttention", prepare=prepare_right(1, 7), refuse=_refuse)
def qattention(
    xp,
    x,
    weight,
    bias,
    input_scale,
    weight_scale,
    mask_index=None,
    input_zero_point=None,
    weight_zero_point=None,
    past=None,
    *,
    do_rotary=None,
    mask_filter_value=None,
    num_heads,
    past_present_share_buffer=None,
    scale=None,
    unidirectional=0,
    prepared=None,
):
    """Attention over x (batch, sequence, size) projected by weight (size, 3 * hidden), both of 8 bits: (output, present).

    weight's scale and zero point are one number or one per column; masks are those of Attention. output is (batch,
    sequence, hidden) and present (2, batch, heads, past + sequence, head size), in the scales' dtype.
    """
    if do_rotary or past_present_share_buffer:
        raise NodeError("QAttention with do_rotary or past_present_share_buffer is not implemented")
    zero = None if input_zero_point is None else input_zero_point.reshape(())
    total = integer_product(xp, x, zero, right_factor(xp, weight, weight_zero_point, prepared))
    projected = total.astype(xp.float32, copy=False) * (widen(input_scale).reshape(()) * widen(weight_scale))
    projected += widen(bias)
    hidden = weight.shape[1] // 3
    query, key, value = (projected[..., start : start + hidden] for start in (0, hidden, 2 * hidden))
    past_key, past_value = (None, None) if past is None else (widen(past[0]), widen(past[1]))
    y, keys, values, _ = multi_head_attention(
        xp,
        query,
        key,
        value,
        None,
        mask_index,
        None,
        past_key,
        past_value,
        mask_filter_value=mask_filter_value,
        num_heads=num_heads,
        scale=scale,
        unidirectional=unidirectional,
        n_outputs=3,
    )
    return y.astype(bias.dtype, copy=False), xp.stack((keys, values)).astype(bias.dtype, copy=False)

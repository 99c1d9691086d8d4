"""CausalConvWithState."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.spatial.conv_nd import ConvWeights, conv_nd, prepare_weights
from sardonyx_ep_cpu.precision import widen

__all__ = ["causal_conv_with_state", "ops"]

ops = KernelSet()


def _prepare(xp: Any, inputs: list[Any], attrs: dict[str, Any]) -> ConvWeights | None:
    return None if inputs[1] is None else prepare_weights(xp, inputs[1], inputs[1].shape[0])


@ops.add("CausalConvWithState", since=27, prepare=_prepare)
def causal_conv_with_state(xp, input, weight, bias=None, past_state=None, *, activation="none", prepared=None):
    """Input [N, C, L] convolved channel by channel with weight [C, 1, k] over present and past -> ([N, C, L], [N, C, k - 1]).

    The second result is the last k - 1 elements of past_state (zeros if absent) followed by input. float16 and bfloat16
    are computed in float32.
    """
    if input.ndim != 3 or weight.ndim != 3 or weight.shape[:2] != (input.shape[1], 1):
        raise NodeError(f"CausalConvWithState takes input [N, C, L] and weight [C, 1, k], got {input.shape} and {weight.shape}")
    if activation not in ("none", "silu", "swish"):
        raise NodeError(f"activation {activation!r} of CausalConvWithState is none of none, silu, swish")
    state = (*input.shape[:2], weight.shape[2] - 1)
    if past_state is None:
        past_state = xp.zeros(state, input.dtype)
    elif past_state.shape != state:
        raise NodeError(f"past_state must have shape {state}, got {past_state.shape}")
    full = xp.concatenate([past_state, input], axis=2)
    present = full[:, :, input.shape[2] :]
    if input.size == 0:
        return input, present
    y = conv_nd(xp, widen(full), weight, bias, group=input.shape[1], prepared=prepared)
    if activation != "none":
        y /= 1 + xp.exp(-y)
    return y.astype(input.dtype, copy=False), present

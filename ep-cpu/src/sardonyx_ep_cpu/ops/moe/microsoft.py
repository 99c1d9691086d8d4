"""MoE and QMoE of com.microsoft."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.moe.experts import Layer, activation, mix
from sardonyx_ep_cpu.ops.quantization.bits import unpack_bits
from sardonyx_ep_cpu.ops.quantization.microsoft_nbits import block_weights
from sardonyx_ep_cpu.precision import widen

__all__ = ["ops"]

ops = KernelSet("com.microsoft")


def _refuse(node: Any) -> str | None:
    if node.attrs.get("use_sparse_mixer") or node.attrs.get("swiglu_limit_after_activation"):
        return f"{node.op} with use_sparse_mixer or swiglu_limit_after_activation"
    if node.attrs.get("quant_type", "int") != "int" or node.attrs.get("weights_prepacked", -1) == 1:
        return "QMoE with weights that are prepacked or of a float type"
    return None


@ops.add("MoE", refuse=_refuse)
def moe(
    xp,
    x,
    router_probs,
    fc1_experts_weights,
    fc1_experts_bias,
    fc2_experts_weights,
    fc2_experts_bias=None,
    fc3_experts_weights=None,
    fc3_experts_bias=None,
    *,
    activation_alpha=1.0,
    activation_beta=0.0,
    activation_type="relu",
    k=1,
    normalize_routing_weights=0,
    swiglu_fusion=0,
    swiglu_limit=None,
    swiglu_limit_after_activation=0,
    use_sparse_mixer=0,
):
    """A mixture of experts of x [..., hidden] (see `experts.mix`) with weights [experts, out, in] and biases [experts, out]."""
    _check(use_sparse_mixer, swiglu_limit_after_activation)

    def layer(weights: Any, bias: Any) -> Layer:
        return lambda expert: (widen(weights[expert]), None if bias is None else bias[expert])

    layers = (
        layer(fc1_experts_weights, fc1_experts_bias),
        layer(fc2_experts_weights, fc2_experts_bias),
        None if fc3_experts_weights is None else layer(fc3_experts_weights, fc3_experts_bias),
    )
    function = activation(xp, activation_type, swiglu_fusion, activation_alpha, activation_beta, swiglu_limit)
    return mix(xp, x, router_probs, None, k, normalize_routing_weights, layers, function)


@ops.add("QMoE", refuse=_refuse)
def qmoe(
    xp,
    x,
    router_probs,
    fc1_experts_weights,
    fc1_scales,
    fc1_experts_bias,
    fc2_experts_weights,
    fc2_scales=None,
    fc2_experts_bias=None,
    fc3_experts_weights=None,
    fc3_scales=None,
    fc3_experts_bias=None,
    fc1_zero_points=None,
    fc2_zero_points=None,
    fc3_zero_points=None,
    router_weights=None,
    fc1_global_scale=None,
    fc2_global_scale=None,
    fc1_act_scale=None,
    fc2_act_scale=None,
    fc1_act_block_scale=None,
    fc2_act_block_scale=None,
    *,
    accuracy_level=0,
    activation_alpha=1.0,
    activation_beta=0.0,
    activation_type="relu",
    block_size=None,
    expert_weight_bits=4,
    fc1_expert_weight_bits=None,
    fc2_expert_weight_bits=None,
    fc3_expert_weight_bits=None,
    k=1,
    normalize_routing_weights=0,
    quant_type="int",
    swiglu_fusion=0,
    swiglu_limit=None,
    swiglu_limit_after_activation=0,
    use_sparse_mixer=0,
    weights_prepacked=-1,
):
    """MoE whose weights are packed integers [experts, out, in * bits / 8] with a scale per row, or per block of a row.

    Scales are [experts, out] or [experts, out, in / block_size]; zero points are packed along their last axis and default
    to 2**(bits - 1). Computed in float32 whatever `accuracy_level` permits.
    """
    _check(use_sparse_mixer, swiglu_limit_after_activation)
    if quant_type != "int" or weights_prepacked == 1:
        raise NodeError(
            f"QMoE with quant_type={quant_type!r}, weights_prepacked={weights_prepacked} is not implemented; only raw integers are"
        )

    def layer(weights: Any, scales: Any, zeros: Any, bias: Any, bits: int | None) -> Layer:
        if scales is None:
            raise NodeError("QMoE with integer weights needs the scales of each layer")
        width = bits or expert_weight_bits
        return lambda e: (
            _dequantized(xp, weights[e], scales[e], None if zeros is None else zeros[e], width, block_size or 0),
            None if bias is None else bias[e],
        )

    layers = (
        layer(fc1_experts_weights, fc1_scales, fc1_zero_points, fc1_experts_bias, fc1_expert_weight_bits),
        layer(fc2_experts_weights, fc2_scales, fc2_zero_points, fc2_experts_bias, fc2_expert_weight_bits),
        None
        if fc3_experts_weights is None
        else layer(fc3_experts_weights, fc3_scales, fc3_zero_points, fc3_experts_bias, fc3_expert_weight_bits),
    )
    function = activation(xp, activation_type, swiglu_fusion, activation_alpha, activation_beta, swiglu_limit)
    return mix(xp, x, router_probs, router_weights, k, normalize_routing_weights, layers, function)


def _dequantized(xp: Any, weights: Any, scales: Any, zeros: Any, bits: int, block_size: int) -> Any:
    """One expert's weights [out, in] in float32."""
    rows, size = weights.shape
    length = size * 8 // bits
    if scales.ndim == 1 and zeros is not None:
        zeros = unpack_bits(xp, zeros, bits)[:rows].astype(xp.float32)
    block = block_size if scales.ndim == 2 else length
    if not block or length % block or scales.size != rows * (length // block):
        raise NodeError(f"scales of shape {scales.shape} do not fit {rows} rows of {length} weights with block_size={block_size}")
    return block_weights(xp, weights.reshape(rows, length // block, -1), scales, zeros, None, length, block, bits)


def _check(use_sparse_mixer: int, limit_after: int) -> None:
    if use_sparse_mixer or limit_after:
        raise NodeError("use_sparse_mixer and swiglu_limit_after_activation are not implemented")

"""The provider's own rewrites: fusions without an ONNX operator, and the blocked layout of convolution nets."""

from __future__ import annotations

from sardonyx.ep import CompileContext
from sardonyx.ep.rules import apply_rules
from sardonyx.ir.graph import Graph
from sardonyx_ep_native.rules.blocked_layout import block_layout
from sardonyx_ep_native.rules.blocked_weights import blocked_weights, nbits_bias
from sardonyx_ep_native.rules.channel_shuffle import absorb_channel_shuffle, channel_shuffle
from sardonyx_ep_native.rules.channels_first import CHANNELS_FIRST
from sardonyx_ep_native.rules.conv_epilogue import CONV_EPILOGUE
from sardonyx_ep_native.rules.elementwise_chains import fuse_elementwise_chains
from sardonyx_ep_native.rules.gated_residual import gated_residual
from sardonyx_ep_native.rules.half_precision import widen_half_precision
from sardonyx_ep_native.rules.matmul_epilogue import matmul_activation, matmul_bias, matmul_residual
from sardonyx_ep_native.rules.norm_residual import norm_residual
from sardonyx_ep_native.rules.upsampled_channels import upsampled_channels

__all__ = ["RULES", "prepare", "widen_half_precision"]

RULES = (
    *CHANNELS_FIRST,
    blocked_weights,
    nbits_bias,
    matmul_bias,
    matmul_residual,
    matmul_activation,
    channel_shuffle,
    upsampled_channels,
    gated_residual,
    *CONV_EPILOGUE,
)


def prepare(graph: Graph, context: CompileContext) -> None:
    """Rewrite the subgraph in place into what the engine runs fastest."""
    apply_rules(graph, RULES)
    # What the products and convolutions have not taken into their epilogues.
    apply_rules(graph, (norm_residual,))
    apply_rules(graph, (absorb_channel_shuffle,))
    block_layout(graph)
    fuse_elementwise_chains(graph)

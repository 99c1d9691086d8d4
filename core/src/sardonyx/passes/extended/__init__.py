"""Patterns that end in a standard operator, by the order they are tried in."""

from __future__ import annotations

from sardonyx.passes.extended.activations import ACTIVATION_RULES, SWIGLU
from sardonyx.passes.extended.attention import fuse_attention
from sardonyx.passes.extended.attention_heads import HEADS
from sardonyx.passes.extended.attention_masks import name_mask
from sardonyx.passes.extended.convolutions import CHANNELS, fold_into_normalization
from sardonyx.passes.extended.gelu import fuse_gelu
from sardonyx.passes.extended.gemm import GEMMS
from sardonyx.passes.extended.group_norm import fuse_group_norm
from sardonyx.passes.extended.layer_norms import LAYER_NORMS
from sardonyx.passes.extended.pads import fold_pad
from sardonyx.passes.extended.reductions import IMAGE_REDUCTIONS, REDUCTIONS
from sardonyx.passes.extended.rotary import ROTARY
from sardonyx.passes.extended.softmaxes import SOFTMAXES

__all__ = ["ACTIVATIONS", "ATTENTION", "CONVOLUTIONS", "NORMALIZATIONS", "OPERATORS"]

CONVOLUTIONS = (*CHANNELS, fold_pad)
ACTIVATIONS = (fuse_gelu, *ACTIVATION_RULES)
NORMALIZATIONS = (*REDUCTIONS, *LAYER_NORMS, fuse_group_norm, fold_into_normalization, *SOFTMAXES)
OPERATORS = (*IMAGE_REDUCTIONS, *GEMMS, *SWIGLU)
ATTENTION = (*ROTARY, fuse_attention, *HEADS, name_mask)

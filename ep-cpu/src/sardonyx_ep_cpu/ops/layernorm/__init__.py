"""Normalisations over the trailing axes, and the fused forms of transformers."""

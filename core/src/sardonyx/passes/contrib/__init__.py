"""com.microsoft operators that have a standard equivalent."""

from __future__ import annotations

from sardonyx.passes.contrib.activations import ACTIVATIONS
from sardonyx.passes.contrib.attention import ATTENTION
from sardonyx.passes.contrib.norms import NORMS
from sardonyx.passes.contrib.products import PRODUCTS
from sardonyx.passes.contrib.renamed import RENAMED

__all__ = ["CONTRIB"]

CONTRIB = (*ACTIVATIONS, *NORMS, *PRODUCTS, *ATTENTION, *RENAMED)

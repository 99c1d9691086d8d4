"""Host kernels of the operators that compute shapes, axes and indices.

Core's evaluator folds constants and runs shape nodes with them; a host provider may include the same set in its own
kernel table, so that each operator has one text.
"""

from __future__ import annotations

from sardonyx.ep.kernels import KernelSet
from sardonyx.ep.shape_kernels import arithmetic, cast, gather, generate, logic, movement, reduce, scatter, topk

__all__ = ["shape_kernels"]

shape_kernels = KernelSet()
shape_kernels.include(movement.ops, generate.ops, reduce.ops, gather.ops, scatter.ops, topk.ops)
shape_kernels.include(arithmetic.ops, logic.ops, cast.ops)

"""Gradient of ai.onnx.preview.training, expanded when a model is loaded.

The attributes of a Gradient node name tensors of the graph around it. The Builder looks them up where the names are known,
within a function's body too, and adds them to the node's inputs: first the given values of xs and zs, then the tensors xs
and zs themselves, then y. `expand_gradients` replaces the node by copies of what lies between, evaluated at the given
values, and the nodes that compute the derivatives backwards from y, by one rule per operator. What is given as itself is
not copied. Of a y with several elements, the sum is differentiated.

An operator without a rule is differentiated through its function body; where there is none (control flow, recurrent
layers, resampling), loading raises NotSupported naming the node.
"""

from sardonyx.ir.gradient import activations, arithmetic, convolution, matrix, movement, normalization, pool, reduction, selection
from sardonyx.ir.gradient.expand import expand_all
from sardonyx.ir.gradient.rules import Rules
from sardonyx.ir.graph import Graph

__all__ = ["expand_gradients", "rules"]

rules = Rules().include(
    activations.rules,
    arithmetic.rules,
    convolution.rules,
    matrix.rules,
    movement.rules,
    normalization.rules,
    pool.rules,
    reduction.rules,
    selection.rules,
)


def expand_gradients(graph: Graph) -> None:
    """Replace every Gradient node of a loaded and upgraded graph, in place. Raises NotSupported naming what cannot be
    differentiated, InvalidModel where the node itself is wrong."""
    expand_all(graph, rules)

"""BatchNormalization and Dropout: modes back to attributes."""

from __future__ import annotations

from sardonyx.ir.graph import Node
from sardonyx.ir.lower.engine import Lowering
from sardonyx.ir.upgrade.steps import is_used

__all__ = ["lowering"]

lowering = Lowering()


@lowering.undo("BatchNormalization", since=14)
def batch_normalization_14(node: Node) -> str | None:
    """Further outputs showed that it trains."""
    training = bool(node.attrs.get("training_mode", 0))
    if training != any(v is not None for v in node.outputs[1:]):
        return "whether it trains showed in its outputs"
    node.attrs.pop("training_mode", None)
    return None


@lowering.undo("BatchNormalization", since=7)
def batch_normalization_7(node: Node) -> str | None:
    """It trained unless `is_test`."""
    if len(node.outputs) == 1:
        node.attrs["is_test"] = 1
    return None


@lowering.undo("Dropout", since=12)
def dropout_12(node: Node) -> str | None:
    """The ratio becomes an attribute; it did not train."""
    ratio, training = node.const(1), node.const(2)
    if (ratio is None and node.input(1) is not None) or (training is None and node.input(2) is not None):
        return "its ratio or training mode is computed while running"
    if training is not None and training.reshape(())[()]:
        return "it trains"
    if ratio is not None:
        node.attrs["ratio"] = float(ratio.reshape(())[()])
    node.attrs.pop("seed", None)
    node.set_inputs(node.inputs[:1])
    return None


@lowering.undo("Dropout", since=10)
def dropout_10(node: Node) -> str | None:
    """The mask had the type of the data."""
    if len(node.outputs) > 1 and is_used(node.outputs[1]):
        return "its mask is a bool"
    node.outputs = node.outputs[:1]
    return None


@lowering.undo("Dropout", since=7)
def dropout_7(node: Node) -> str | None:
    """It trained unless `is_test`."""
    node.attrs["is_test"] = 1
    return None

"""BatchNormalization, GroupNormalization and Dropout: modes that were attributes, shapes that changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ir.graph import Node, Value
from sardonyx.ir.upgrade.steps import Steps, constant, int64s, is_used, new_node

__all__ = ["steps"]

steps = Steps()


@steps.add("BatchNormalization", to=14, whole=True)
def batch_normalization_14(node: Node) -> bool | list[Node]:
    """Training is an attribute: until 6 it is the opposite of `is_test`, until 9 the presence of further outputs shows it.
    Statistics per activation (`spatial` 0) are those of the flattened input. The saved statistics have no newer form."""
    attrs = dict(node.attrs)
    attrs.pop("consumed_inputs", None)
    is_test = attrs.pop("is_test", 0)
    spatial = attrs.pop("spatial", 1)
    training = not is_test if node.since < 7 else any(v is not None for v in node.outputs[1:])
    if any(is_used(v) for v in node.outputs[3 if training else 1 :]) or (training and not spatial):
        return False
    if training:
        attrs["training_mode"] = 1
    if not spatial:
        return _per_activation(node, attrs)
    node.attrs.clear()
    node.attrs.update(attrs)
    node.outputs = node.outputs[: 3 if training else 1]
    return True


def _per_activation(node: Node, attrs: dict[str, Any]) -> list[Node]:
    x = node.inputs[0]
    assert x is not None
    nodes = [new_node(node, "Flatten", [x], axis=1), new_node(node, "Shape", [x])]
    inputs: list[Value | None] = [nodes[0].outputs[0]]
    for i in range(1, 5):
        value, v = node.const(i), node.inputs[i]
        if value is not None and v is not None:
            inputs.append(constant(v.name, value.reshape(-1)))
        else:
            nodes.append(new_node(node, "Reshape", [v, int64s(f"{node.name}/shape", [-1])]))
            inputs.append(nodes[-1].outputs[0])
    normal = new_node(node, "BatchNormalization", inputs, **attrs)
    return [*nodes, normal, new_node(node, "Reshape", [normal.outputs[0], nodes[1].outputs[0]], node.outputs[:1], allowzero=1)]


@steps.add("Dropout", to=12, whole=True)
def dropout_12(node: Node) -> bool | list[Node]:
    """`ratio` and the training mode became inputs, and the mask a bool. Until 6 the operator trains unless `is_test`,
    and gives no mask if it does not."""
    x = node.inputs[0]
    training = node.since < 7 and not node.attrs.get("is_test", 0)
    mask = node.outputs[1] if len(node.outputs) > 1 else None
    masked = is_used(mask)
    if x is None or (masked and node.since < 7 and not training) or (masked and node.since < 10 and x.dtype is None):
        return False
    ratio = constant(f"{node.name}/ratio", np.array(node.attrs.get("ratio", 0.5), np.float32))
    mode = [constant(f"{node.name}/training_mode", np.array(True))] if training else []
    if masked and node.since < 10:
        bools = Value(f"{node.name}/mask")
        dropout = new_node(node, "Dropout", [x, ratio, *mode], [node.outputs[0], bools])
        dropout.name = node.name
        return [dropout, new_node(node, "CastLike", [bools, x], [mask])]
    node.attrs.clear()
    node.set_inputs([x, ratio, *mode])
    if not masked:
        node.outputs = node.outputs[:1]
    return True


@steps.add("GroupNormalization", to=21)
def group_normalization_21(node: Node) -> bool | list[Node]:
    """Scale and bias have one value for each channel; in 18 it was one for each group."""
    x, groups = node.inputs[0], node.attrs.get("num_groups", 0)
    if x is None or groups < 1:
        return False
    channels = x.shape[1] if x.rank is not None and x.rank > 1 and x.shape is not None else None
    nodes: list[Node] = []
    inputs: list[Value | None] = [x]
    each: Value | None = None
    for i in (1, 2):
        value, v = node.const(i), node.inputs[i]
        if value is not None and v is not None and isinstance(channels, int):
            if channels % groups or value.shape != (groups,):
                return False
            inputs.append(constant(v.name, np.repeat(value, channels // groups)))
            continue
        if each is None:
            nodes += _channels_per_group(node, x, groups)
            each = nodes[-1].outputs[0]
        column = new_node(node, "Unsqueeze", [v, int64s(f"{node.name}/axes", [1])])
        matrix = new_node(node, "Expand", [column.outputs[0], each])
        nodes += [column, matrix, new_node(node, "Reshape", [matrix.outputs[0], int64s(f"{node.name}/shape", [-1])])]
        inputs.append(nodes[-1].outputs[0])
    if not nodes:
        node.set_inputs(inputs)
        return True
    normal = new_node(node, node.op, inputs, node.outputs, **node.attrs)
    normal.name = node.name
    return [*nodes, normal]


def _channels_per_group(node: Node, x: Value, groups: int) -> list[Node]:
    """Nodes of which the last gives [1, channels / groups]."""
    channels = new_node(node, "Shape", [x], start=1, end=2)
    each = new_node(node, "Div", [channels.outputs[0], int64s(f"{node.name}/groups", [groups])])
    return [channels, each, new_node(node, "Concat", [int64s(f"{node.name}/one", [1]), each.outputs[0]], axis=0)]

"""The models that the build's variants are trained and timed on, with random weights: two networks, and a long chain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["write_models"]

CHAIN = 1000


class Net:
    """A convolution network for images of [1, 3, 224, 224] under construction. Batch normalizations are folded already."""

    def __init__(self, name: str):
        self.name = name
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.channels = {"x": 3}
        self.rng = np.random.default_rng(0)

    def add(self, op: str, inputs: list[str], channels: int, **attributes: Any) -> str:
        """A node; the name of its output."""
        out = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [out], **attributes))
        self.channels[out] = channels
        return out

    def weight(self, *shape: int, scale: float = 1.0) -> str:
        """A constant of normal values; its name."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array((self.rng.standard_normal(shape) * scale).astype(np.float32), name))
        return name

    def conv(self, x: str, channels: int, kernel: int = 1, stride: int = 1, group: int = 1) -> str:
        """A convolution with bias that keeps the variance."""
        inputs = self.channels[x] // group
        w = self.weight(channels, inputs, kernel, kernel, scale=(inputs * kernel * kernel) ** -0.5)
        return self.add(
            "Conv", [x, w, self.weight(channels, scale=0.1)], channels, group=group, strides=[stride] * 2, pads=[kernel // 2] * 4
        )

    def relu(self, x: str) -> str:
        return self.add("Relu", [x], self.channels[x])

    def relu6(self, x: str) -> str:
        for name, bound in (("low", 0.0), ("high", 6.0)):
            if all(w.name != name for w in self.weights):
                self.weights.append(numpy_helper.from_array(np.array(bound, np.float32), name))
        return self.add("Clip", [x, "low", "high"], self.channels[x])

    def head(self, x: str) -> onnx.ModelProto:
        """Mean, a linear layer of 1,000 classes, and the model."""
        flat = self.add("Flatten", [self.add("GlobalAveragePool", [x], self.channels[x])], self.channels[x])
        w = self.weight(self.channels[x], 1000, scale=self.channels[x] ** -0.5)
        y = self.add("Gemm", [flat, w, self.weight(1000)], 1000)
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 224, 224])
        made = helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, 1000])
        return _model(helper.make_graph(self.nodes, self.name, [given], [made], self.weights))


def resnet50() -> onnx.ModelProto:
    """ResNet-50 (He et al., arXiv 1512.03385), the stride in the 3x3 convolution."""
    net = Net("resnet50")
    x = net.relu(net.conv("x", 64, 7, 2))
    x = net.add("MaxPool", [x], 64, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            y = net.relu(net.conv(net.relu(net.conv(x, width)), width, 3, stride))
            y = net.conv(y, 4 * width)
            shortcut = x if block else net.conv(x, 4 * width, 1, stride)
            x = net.relu(net.add("Add", [y, shortcut], 4 * width))
    return net.head(x)


def mobilenetv2() -> onnx.ModelProto:
    """MobileNetV2 (Sandler et al., arXiv 1801.04381, table 2)."""
    net = Net("mobilenetv2")
    x = net.relu6(net.conv("x", 32, 3, 2))
    for expand, channels, repeats, first in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for repeat in range(repeats):
            stride, wide = (1 if repeat else first), net.channels[x] * expand
            y = net.relu6(net.conv(x, wide)) if expand > 1 else x
            y = net.conv(net.relu6(net.conv(y, wide, 3, stride, group=wide)), channels)
            x = net.add("Add", [x, y], channels) if repeat else y
    return net.head(net.relu6(net.conv(x, 1280)))


def chain(length: int) -> onnx.ModelProto:
    """So many tiny nodes that no rule fuses: CumSum and Transpose of [4, 4] in turn."""
    nodes = [
        helper.make_node("Transpose", [f"t{i}"], [f"t{i + 1}"], perm=[1, 0])
        if i % 2
        else helper.make_node("CumSum", [f"t{i}", "axis"], [f"t{i + 1}"], reverse=i // 2 % 2)
        for i in range(length)
    ]
    ends = [helper.make_tensor_value_info(f"t{i}", TensorProto.FLOAT, [4, 4]) for i in (0, length)]
    return _model(helper.make_graph(nodes, "chain", ends[:1], ends[1:], [numpy_helper.from_array(np.array(0), "axis")]))


def _model(graph: onnx.GraphProto) -> onnx.ModelProto:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write_models(folder: Path) -> list[Path]:
    """Write them there; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for model in (resnet50(), mobilenetv2(), chain(CHAIN)):
        paths.append(folder / f"{model.graph.name}.onnx")
        onnx.save(model, paths[-1])
    return paths

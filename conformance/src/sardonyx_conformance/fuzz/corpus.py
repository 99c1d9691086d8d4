"""The valid models that are mutated: a dozen small ones of every kind of construct, and onnx's own node cases."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from sardonyx_conformance.cases.build import model_of, value_info
from sardonyx_conformance.cases.case import determined

__all__ = ["Sample", "full", "read", "small", "write"]

F = np.float32
LARGEST = 20_000


@dataclass(frozen=True)
class Sample:
    """A valid model as bytes, feeds that it takes, and the files that must lie beside it. `random`: it draws numbers."""

    name: str
    model: bytes
    feeds: dict[str, Any]
    files: dict[str, bytes] = field(default_factory=dict)
    random: bool = False


def _x(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 7 - 3).astype(F)


def _info(name: str, dtype: int = TensorProto.FLOAT, shape: Any = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def _body(name: str, nodes: list[Any], inputs: list[Any], outputs: list[Any]) -> onnx.GraphProto:
    return helper.make_graph(nodes, name, inputs, outputs)


def _if() -> tuple[onnx.ModelProto, dict[str, Any]]:
    then = _body("then", [helper.make_node("Mul", ["x", "k"], ["t"])], [], [_info("t")])
    other = _body("else", [helper.make_node("Neg", ["x"], ["e"]), helper.make_node("Add", ["e", "k"], ["f"])], [], [_info("f")])
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Greater", ["s", "zero"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
    ]
    x = _x(2, 3)
    return model_of(nodes, [value_info("x", x)], ["y"], {"k": np.array(2, F), "zero": np.array(0, F)}), {"x": x}


def _loop() -> tuple[onnx.ModelProto, dict[str, Any]]:
    body = _body(
        "body",
        [
            helper.make_node("Add", ["state", "x"], ["next"]),
            helper.make_node("Identity", ["go"], ["still"]),
            helper.make_node("ReduceMax", ["next"], ["top"], keepdims=0),
        ],
        [_info("i", TensorProto.INT64, []), _info("go", TensorProto.BOOL, []), _info("state")],
        [_info("still", TensorProto.BOOL, []), _info("next"), _info("top")],
    )
    x = _x(2, 3)
    nodes = [helper.make_node("Loop", ["n", "go0", "x"], ["last", "tops"], body=body)]
    return model_of(nodes, [value_info("x", x)], ["last", "tops"], {"n": np.array(4), "go0": np.array(True)}), {"x": x}


def _scan() -> tuple[onnx.ModelProto, dict[str, Any]]:
    body = _body(
        "body",
        [helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Identity", ["t"], ["u"])],
        [_info("s"), _info("e")],
        [_info("t"), _info("u")],
    )
    x, s = _x(4, 3), _x(3)
    nodes = [helper.make_node("Scan", ["s0", "x"], ["last", "all"], body=body, num_scan_inputs=1)]
    return model_of(nodes, [value_info("s0", s), value_info("x", x)], ["last", "all"]), {"s0": s, "x": x}


def _function() -> tuple[onnx.ModelProto, dict[str, Any]]:
    leak = helper.make_node("LeakyRelu", ["a"], ["b"])
    leak.attribute.add(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope")
    inner = helper.make_function("fuzz", "Inner", ["a"], ["b"], [leak], [helper.make_opsetid("", 18)], ["slope"])
    calls = [helper.make_node("Inner", ["p"], ["q"], domain="fuzz", slope=0.5), helper.make_node("Add", ["q", "p"], ["r"])]
    outer = helper.make_function("fuzz", "Outer", ["p"], ["r"], calls, [helper.make_opsetid("", 18), helper.make_opsetid("fuzz", 1)])
    x = _x(2, 3)
    model = model_of([helper.make_node("Outer", ["x"], ["y"], domain="fuzz")], [value_info("x", x)], ["y"], domains={"fuzz": 1})
    model.functions.extend([inner, outer])
    return model, {"x": x}


def _sequence() -> tuple[onnx.ModelProto, dict[str, Any]]:
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["s"], axis=0),
        helper.make_node("SequenceInsert", ["s", "x"], ["t"]),
        helper.make_node("SequenceAt", ["t", "at"], ["e"]),
        helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0),
        helper.make_node("SequenceLength", ["t"], ["n"]),
    ]
    x = _x(3, 2)
    return model_of(nodes, [value_info("x", x)], ["e", "y", "n"], {"at": np.array(1)}), {"x": x}


def _strings() -> tuple[onnx.ModelProto, dict[str, Any]]:
    nodes = [
        helper.make_node("StringNormalizer", ["x"], ["a"], case_change_action="LOWER", stopwords=["the"]),
        helper.make_node("StringConcat", ["a", "suffix"], ["b"]),
        helper.make_node("RegexFullMatch", ["b"], ["m"], pattern=r"(a+)+b?.*"),
        helper.make_node("StringSplit", ["b"], ["p", "n"], delimiter="_"),
    ]
    x = np.array(["The", "aaaa", "b_c"], object)
    return model_of(nodes, [value_info("x", x)], ["m", "p", "n"], {"suffix": np.array(["_é"], object)}), {"x": x}


def _convolutions() -> tuple[onnx.ModelProto, dict[str, Any]]:
    rng = np.random.default_rng(0)
    weights = {
        "w": rng.standard_normal((4, 2, 3, 3)).astype(F),
        "b": np.zeros(4, F),
        "scale": np.ones(4, F),
        "shift": np.zeros(4, F),
        "mean": np.zeros(4, F),
        "var": np.ones(4, F),
        "shape": np.array([0, -1]),
        "m": rng.standard_normal((36, 5)).astype(F),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["p", "shape"], ["f"]),
        helper.make_node("Gemm", ["f", "m"], ["g"]),
        helper.make_node("Softmax", ["g"], ["y"], axis=-1),
    ]
    x = rng.standard_normal((1, 2, 6, 6)).astype(F)
    return model_of(nodes, [value_info("x", x)], ["y"], weights), {"x": x}


def _attention() -> tuple[onnx.ModelProto, dict[str, Any]]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 4, 8)).astype(F)
    weights = {k: rng.standard_normal((8, 8)).astype(F) for k in ("wq", "wk", "wv")}
    nodes = [helper.make_node("MatMul", ["x", k], [k[1]]) for k in weights]
    nodes += [
        helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["q", "kt"], ["s"]),
        helper.make_node("Div", ["s", "root"], ["d"]),
        helper.make_node("Softmax", ["d"], ["p"]),
        helper.make_node("MatMul", ["p", "v"], ["y"]),
    ]
    return model_of(nodes, [value_info("x", x, dims=["b", "t", 8])], ["y"], weights | {"root": np.array(3, F)}, opset=17), {"x": x}


def _shapes() -> tuple[onnx.ModelProto, dict[str, Any]]:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "first"], ["n"]),
        helper.make_node("Concat", ["n", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["r"]),
        helper.make_node("Expand", ["one", "t2"], ["e"]),
        helper.make_node("Slice", ["r", "first", "rest2"], ["z"]),
        helper.make_node("Tile", ["z", "reps"], ["y"]),
    ]
    fixed = {
        "first": np.array([0]),
        "rest": np.array([-1]),
        "rest2": np.array([2]),
        "t2": np.array([2, 3]),
        "reps": np.array([2, 1]),
        "one": np.array(1, F),
    }
    x = _x(2, 3, 2)
    return model_of(nodes, [value_info("x", x, dims=["n", 3, "m"])], ["y", "e"], fixed), {"x": x}


def _optional() -> tuple[onnx.ModelProto, dict[str, Any]]:
    nodes = [
        helper.make_node("Optional", ["x"], ["o"]),
        helper.make_node("OptionalHasElement", ["o"], ["h"]),
        helper.make_node("OptionalGetElement", ["o"], ["y"]),
    ]
    x = _x(2, 2)
    return model_of(nodes, [value_info("x", x)], ["h", "y"]), {"x": x}


def _quantized() -> tuple[onnx.ModelProto, dict[str, Any]]:
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["dw"]),
        helper.make_node("MatMul", ["d", "dw"], ["y"]),
    ]
    x, w = _x(2, 3), np.arange(6, dtype=np.uint8).reshape(3, 2)
    return model_of(nodes, [value_info("x", x)], ["y"], {"s": np.array(0.5, F), "z": np.array(3, np.uint8), "w": w}), {"x": x}


def _recurrent() -> tuple[onnx.ModelProto, dict[str, Any]]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 2, 4)).astype(F)
    weights = {"w": rng.standard_normal((1, 12, 4)).astype(F), "r": rng.standard_normal((1, 12, 3)).astype(F)}
    nodes = [helper.make_node("LSTM", ["x", "w", "r"], ["y", "h", "c"], hidden_size=3)]
    return model_of(nodes, [value_info("x", x)], ["y", "h", "c"], weights), {"x": x}


def _external() -> tuple[onnx.ModelProto, dict[str, Any]]:
    x = _x(2, 3)
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], [value_info("x", x)], ["y"])
    w = numpy_helper.from_array(_x(3, 4), "w")
    w.ClearField("raw_data")
    w.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "weights.bin"), ("offset", "16"), ("length", "48")):
        w.external_data.add(key=key, value=value)
    model.graph.initializer.append(w)
    return model, {"x": x}


BUILDERS: dict[str, Callable[[], tuple[onnx.ModelProto, dict[str, Any]]]] = {
    "if": _if,
    "loop": _loop,
    "scan": _scan,
    "function": _function,
    "sequence": _sequence,
    "strings": _strings,
    "convolutions": _convolutions,
    "attention": _attention,
    "shapes": _shapes,
    "optional": _optional,
    "quantized": _quantized,
    "recurrent": _recurrent,
    "external": _external,
}


def small() -> list[Sample]:
    """Control flow, functions, sequences, optionals, strings, external data, and the usual layers; made in no time."""
    samples = []
    for name, build in BUILDERS.items():
        model, feeds = build()
        files = {"weights.bin": bytes(16) + _x(3, 4).tobytes()} if name == "external" else {}
        samples.append(Sample(name, model.SerializeToString(), feeds, files))
    return samples


def full() -> list[Sample]:
    """The small ones and every node case of the installed onnx."""
    from sardonyx_conformance.cases.backend import load_cases

    samples = small()
    for case in load_cases():
        if case.kind == "node" and (data := case.data()):
            model = case.model()
            if model.ByteSize() <= LARGEST:
                samples.append(Sample(case.name, model.SerializeToString(), case.feeds(data[0][0]), random=not determined(model)))
    return samples


def write(samples: list[Sample], path: Path) -> None:
    """Keep samples for other processes of this run."""
    path.write_bytes(pickle.dumps(samples))


def read(path: Path) -> list[Sample]:
    """What `write` wrote."""
    found: list[Sample] = pickle.loads(path.read_bytes())
    return found

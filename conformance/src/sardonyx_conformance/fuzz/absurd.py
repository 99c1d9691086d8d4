"""Tiny models that ask for enormous outputs or endless work."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from sardonyx_conformance.cases.build import op_model

__all__ = ["absurd"]

F = np.float32

SIZES = (10**5, 10**9, 3 * 10**9, 2**31, 2**33, 10**11, 2**40, 10**15, 2**62, 2**63 - 1, -1, -(2**63))


def absurd(rng: random.Random) -> tuple[onnx.ModelProto, dict[str, Any], str]:
    """A model, its feeds and its name. Sizes are constants or feeds by chance."""
    if rng.random() < 0.1:
        return *_loop(rng), "Loop"
    name = rng.choice(list(TEMPLATES))
    values, attrs, outputs = TEMPLATES[name](rng)
    op = name.partition(".")[0]
    fixed = [i for i, v in enumerate(values) if v is not None and rng.random() < 0.5]
    model = op_model(op, values, attrs, outputs=outputs, constants=fixed)
    feeds = {f"x{i}": v for i, v in enumerate(values) if v is not None and i not in fixed}
    return model, feeds, name


def _n(rng: random.Random) -> int:
    return rng.choice(SIZES)


def _dims(rng: random.Random, rank: int) -> np.ndarray:
    dims = [rng.choice((1, 2, 3, 10**5)) for _ in range(rank)]
    dims[rng.randrange(rank)] = _n(rng)
    return np.array(dims, np.int64)


X = np.arange(24, dtype=F).reshape(1, 2, 3, 4)
I = np.int64

PICTURES = (
    b"",
    b"\x89PNG\r\n\x1a\n" + bytes(40),
    b"BM" + bytes(60),
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\0\0\0\0\0\0\0",
    b"P6 99999 99999 255\n",
    b"\xff\xd8\xff\xe0" + bytes(30),
)

TEMPLATES: dict[str, Callable[[random.Random], tuple[list[Any], dict[str, Any], int]]] = {
    "ConstantOfShape": lambda r: ([_dims(r, 3)], {}, 1),
    "Expand": lambda r: ([F(1), _dims(r, 2)], {}, 1),
    "Tile": lambda r: ([X[0], _dims(r, 3)], {}, 1),
    "Range": lambda r: ([I(0), I(_n(r)), I(r.choice((1, -1, 2)))], {}, 1),
    "Range.float": lambda r: ([F(0), F(_n(r)), F(r.choice((1, 1e-3, 1e-30)))], {}, 1),
    "Pad": lambda r: ([X, np.array([0, 0, 0, 0, 0, 0, 0, _n(r)])], {"mode": r.choice(("constant", "edge", "wrap", "reflect"))}, 1),
    "Resize": lambda r: (
        [X, None, np.array([1, 1, 1, 1e6 * r.random() ** 4 * 1e4], F)],
        {"mode": r.choice(("nearest", "linear", "cubic"))},
        1,
    ),
    "Resize.sizes": lambda r: ([X, None, None, np.array([1, 2, 3, _n(r)])], {"mode": r.choice(("nearest", "linear", "cubic"))}, 1),
    "OneHot": lambda r: ([np.array([0, 1]), I(_n(r)), np.array([0, 1], F)], {}, 1),
    "EyeLike": lambda r: ([np.zeros((3, 3), F)], {"k": _n(r)}, 1),
    "RandomNormal": lambda r: ([], {"shape": _dims(r, 2).tolist()}, 1),
    "RandomUniform": lambda r: ([], {"shape": _dims(r, 2).tolist()}, 1),
    "Multinomial": lambda r: ([np.zeros((2, 3), F)], {"sample_size": _n(r) % 2**62}, 1),
    "HannWindow": lambda r: ([I(_n(r))], {}, 1),
    "BlackmanWindow": lambda r: ([I(_n(r))], {}, 1),
    "MelWeightMatrix": lambda r: ([I(r.choice((3, _n(r)))), I(_n(r)), I(8000), F(0), F(4000)], {}, 1),
    "DFT": lambda r: ([np.ones((1, 8, 1), F), I(_n(r)), I(1)], {}, 1),
    "STFT": lambda r: ([np.ones((1, 64, 1), F), I(_n(r)), None, I(r.choice((16, _n(r))))], {}, 1),
    "CenterCropPad": lambda r: ([X, np.array([1, 2, 3, _n(r)])], {}, 1),
    "MaxUnpool": lambda r: ([X, np.arange(24).reshape(X.shape), np.array([1, 2, 3, _n(r)])], {"kernel_shape": [1, 1]}, 1),
    "Col2Im": lambda r: ([np.ones((1, 4, 4), F), np.array([4, _n(r)]), np.array([2, r.choice((2, _n(r)))])], {}, 1),
    "MaxPool": lambda r: ([X], {"kernel_shape": [1, _n(r)], "pads": [0, r.choice((0, _n(r))), 0, _n(r)]}, 1),
    "AveragePool": lambda r: ([X], {"kernel_shape": [2, 2], "pads": [0, 0, 0, _n(r)], "count_include_pad": 1}, 1),
    "LpPool": lambda r: ([X], {"kernel_shape": [1, _n(r)], "dilations": [1, r.choice((1, _n(r)))], "auto_pad": "SAME_UPPER"}, 1),
    "Conv": lambda r: ([X, np.ones((1, 2, 2, 2), F)], {"pads": [0, 0, 0, _n(r)], "dilations": [1, r.choice((1, _n(r)))]}, 1),
    "ConvTranspose": lambda r: ([X, np.ones((2, 1, 2, 2), F)], {"strides": [1, _n(r)], "output_padding": [0, r.choice((0, _n(r)))]}, 1),
    "LRN": lambda r: ([X], {"size": _n(r)}, 1),
    "Split": lambda r: ([X], {"num_outputs": _n(r), "axis": 3}, 2),
    "SplitToSequence": lambda r: ([X, I(_n(r))], {"axis": 3}, 1),
    "Trilu": lambda r: ([X, I(_n(r))], {}, 1),
    "TopK": lambda r: ([X, np.array([_n(r)])], {}, 2),
    "GatherND": lambda r: ([X, np.full((2, 4), _n(r))], {}, 1),
    "Gather": lambda r: ([X, np.full((2, 2), _n(r))], {"axis": r.randrange(4)}, 1),
    "ScatterElements": lambda r: ([X, np.full((1, 1, 1, 1), _n(r)), np.ones((1, 1, 1, 1), F)], {}, 1),
    "Slice": lambda r: ([X, np.array([_n(r)]), np.array([_n(r)]), np.array([3]), np.array([_n(r)])], {}, 1),
    "Reshape": lambda r: ([X, _dims(r, 3)], {}, 1),
    "Unsqueeze": lambda r: ([X, np.arange(r.choice((60, 70, 100)))], {}, 1),
    "DepthToSpace": lambda r: ([X], {"blocksize": _n(r)}, 1),
    "SpaceToDepth": lambda r: ([X], {"blocksize": _n(r)}, 1),
    "CumSum": lambda r: ([X, I(_n(r))], {}, 1),
    "BitShift": lambda r: ([np.array([1, 2], np.uint8), np.array([255, 8], np.uint8)], {"direction": "LEFT"}, 1),
    "Pow": lambda r: ([np.array([2, 3]), np.array([_n(r), -1])], {}, 1),
    "Mod": lambda r: ([np.array([_n(r), 5]), np.array([0, -1])], {}, 1),
    "Div": lambda r: ([np.array([_n(r), -(2**63)]), np.array([0, -1])], {}, 1),
    "MatMul": lambda r: ([np.ones((200_000, 1), F), np.ones((1, 200_000), F)], {}, 1),
    "Add": lambda r: ([np.ones((300_000, 1), F), np.ones((1, 300_000), F)], {}, 1),
    "Einsum": lambda r: ([np.ones(3000, F)] * 4, {"equation": "a,b,c,d->abcd"}, 1),
    "NonMaxSuppression": lambda r: ([np.ones((1, 4, 4), F), np.ones((1, 1, 4), F), np.array([_n(r)])], {}, 1),
    "RegexFullMatch": lambda r: (
        [np.array(["a" * 40 + "!"], object)],
        {"pattern": r.choice(("(a+)+$", "(a|aa)+", "(a|a)*b", "((a{1,90}){1,90}){1,90}"))},
        1,
    ),
    "StringSplit": lambda r: ([np.array(["a" * 1000], object)], {"delimiter": "a", "maxsplit": _n(r)}, 2),
    "GridSample": lambda r: (
        [X, np.full((1, 2, 2, 2), r.choice((1e30, np.nan, np.inf, -1e30)), F)],
        {"mode": r.choice(("linear", "cubic"))},
        1,
    ),
    "RoiAlign": lambda r: ([X, np.array([[0, 0, 1e9, 1e9]], F), np.array([_n(r) % 2**62])], {"output_height": r.choice((1, _n(r)))}, 1),
    "RoiAlign.rate": lambda r: ([X, np.array([[0, 0, 1e9, 1e9]], F), np.array([0])], {"sampling_ratio": r.choice((0, _n(r)))}, 1),
    "MaxRoiPool": lambda r: ([X, np.array([[0, 0, 0, 1e9, 1e9]], F)], {"pooled_shape": [1, _n(r)]}, 1),
    "Dropout": lambda r: ([X, F(r.choice((0, 1, 2, np.nan))), np.bool_(True)], {}, 2),
    "Bernoulli": lambda r: ([np.full((2, 2), r.choice((-1, 2, np.nan)), F)], {}, 1),
    "AffineGrid": lambda r: ([np.ones((1, 2, 3), F), np.array([1, 1, 2, _n(r)])], {}, 1),
    "Upsample": lambda r: ([X], {"scales": [1.0, 1.0, 1.0, 1e9]}, 1),
    "LSTM": lambda r: ([np.ones((2, 1, 3), F), np.ones((1, 8, 3), F), np.ones((1, 8, 2), F)], {"hidden_size": _n(r)}, 2),
    "ReverseSequence": lambda r: ([np.ones((3, 2), F), np.full(2, _n(r))], {}, 1),
    "Attention": lambda r: ([np.ones((1, 2, 8), F)] * 3, {"q_num_heads": _n(r), "kv_num_heads": r.choice((2, _n(r)))}, 1),
    "RotaryEmbedding": lambda r: (
        [np.ones((1, 2, 8), F), np.ones((4, 2), F), np.ones((4, 2), F), np.full((1, 2), _n(r))],
        {"num_heads": 2},
        1,
    ),
    "Det": lambda r: ([np.full((40, 40), r.choice((1e30, np.nan)), F)], {}, 1),
    "ImageDecoder": lambda r: ([np.frombuffer(r.choice(PICTURES), np.uint8)], {}, 1),
    "NoSuchOperator": lambda r: ([X], {}, 1),
}


def _loop(rng: random.Random) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """A Loop that doubles its state some twenty times, or hardly ends."""
    double = rng.random() < 0.5
    limit = rng.choice((20, 24) if double else (60, 2**40, 2**63 - 1, -1))
    nodes = [helper.make_node("Concat", ["s", "s"], ["t"], axis=0) if double else helper.make_node("Neg", ["s"], ["t"])]
    nodes.append(helper.make_node("Identity", ["go"], ["still"]))
    info = helper.make_tensor_value_info
    body = helper.make_graph(
        nodes,
        "body",
        [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("s", TensorProto.FLOAT, None)],
        [info("still", TensorProto.BOOL, []), info("t", TensorProto.FLOAT, None)],
    )
    loop = helper.make_node("Loop", ["n" if limit else "", "g", "x"], ["y"], body=body)
    graph = helper.make_graph(
        [loop],
        "g",
        [info("n", TensorProto.INT64, []), info("g", TensorProto.BOOL, []), info("x", TensorProto.FLOAT, [4])],
        [info("y", TensorProto.FLOAT, None)],
    )
    feeds = {"n": np.int64(limit).reshape(()), "g": np.array(True), "x": np.ones(4, F)}
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), feeds

"""Mutated models load, or raise a SardonyxError, quickly."""

from __future__ import annotations

import contextlib
import random
import time

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from sardonyx.errors import SardonyxError
from sardonyx.ir.load import load
from sardonyx.ir.save import to_proto
from sardonyx.ir.text import dump

SOURCES = [
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[2,3,8,8] x, float[4,3,3,3] w) => (y) {
        c = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w)
        r = Relu(c)
        s = Shape(r)
        i = Constant<value_ints: ints = [0]>()
        n = Gather(s, i)
        m = Constant<value_ints: ints = [-1]>()
        t = Concat<axis = 0>(n, m)
        f = Reshape(r, t)
        y = Softmax<axis = 1>(f)
    }""",
    """<ir_version: 8, opset_import: ["": 17, "f": 1]>
    g (float[2] x, bool c, int64 n) => (y, z) {
        k = f.twice(x)
        y = If(c) <then_branch = t () => (float[2] a) { a = Add(x, k) }, else_branch = e () => (float[2] b) { b = Neg(k) }>
        s, z = Loop(n, c, x) <body = b (int64 i, bool q, float[2] v) => (bool q2, float[2] d, float[2] o) {
            q2 = Identity(q)  d = Add(v, k)  o = Mul(v, x) }>
    }
    <domain: "f", opset_import: ["": 17]> twice (a) => (b) { two = Constant<value_float: float = 2.0>()  b = Mul(a, two) }""",
    """<ir_version: 3, opset_import: ["": 9]>
    g (float[1,2,4,4] x) => (y) {
        u = Upsample<mode = "nearest">(x, s)
        p = Pad<pads = [0, 0, 1, 1, 0, 0, 1, 1], value = 1.0>(u)
        b = Slice<axes = [2], starts = [1], ends = [-1]>(p)
        y = Softmax(b)
    }""",
]
NUMBERS = [0, 1, -1, 3, 100, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63)]
NAMES = ["", "x", "y", "z", "k", "Loop", "If", "Constant", "Slice", "Einsum", "LayerNormalization", "Split", "Expand", "\0", "ai.onnx.ml"]


def corpus():
    models = [parser.parse_model(s) for s in SOURCES]
    models[2].graph.initializer.append(numpy_helper.from_array(np.float32([1, 1, 2, 2]), "s"))
    models[0].graph.initializer.append(numpy_helper.from_array(np.zeros((4, 3, 3, 3), np.float32), "w"))
    big = helper.make_tensor("big", 1, [600], np.zeros(600, np.float32).tobytes(), raw=True)
    models[1].graph.initializer.append(big)
    return models


def mutated_bytes(data, r):
    data = bytearray(data)
    for _ in range(r.choice([1, 2, 4])):
        at = r.randrange(len(data))
        kind = r.randrange(5)
        if kind == 0:
            data[at] ^= 1 << r.randrange(8)
        elif kind == 1:
            data[at:at] = bytes(r.randrange(256) for _ in range(r.randrange(1, 9)))
        elif kind == 2:
            del data[at : at + r.randrange(1, 17)]
        elif kind == 3:
            data[at : at + 10] = b"\xff" * 9 + b"\x01"
        else:
            data[at:at] = data[:at][-100:]
    return bytes(data)


def messages(m):
    yield m
    for f, v in m.ListFields():
        if f.message_type is not None:
            for child in list(v) if f.is_repeated else [v]:
                yield from messages(child)


def mutated_proto(model, r):
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for _ in range(r.choice([1, 1, 2, 4])):
        every = list(messages(model))
        m = r.choice(every)
        present = [f for f, _ in m.ListFields()]
        if not present:
            continue
        f = r.choice(present)
        if r.random() < 0.25:
            m.ClearField(f.name)
            continue
        if f.message_type is not None:
            same = [o for o in every if o.DESCRIPTOR is f.message_type]
            copy = type(same[0]).FromString(r.choice(same).SerializeToString())
            getattr(m, f.name).append(copy) if f.is_repeated else getattr(m, f.name).CopyFrom(copy)
            continue
        if f.enum_type is not None:
            value = r.randrange(1, 12)
        elif f.type == f.TYPE_STRING:
            value = r.choice(NAMES)
        elif f.type == f.TYPE_BYTES:
            value = bytes(r.randrange(256) for _ in range(r.choice([0, 4, 1030])))
        else:
            value = float("nan") if f.type in (f.TYPE_FLOAT, f.TYPE_DOUBLE) else r.choice(NUMBERS)
        try:
            if f.is_repeated:
                getattr(m, f.name)[r.randrange(len(getattr(m, f.name)))] = value
            else:
                setattr(m, f.name, value)
        except (ValueError, TypeError):
            m.ClearField(f.name)
    return model


@pytest.mark.parametrize("seed", range(12))
def test_mutants(seed):
    models = corpus()
    for i in range(40):
        r = random.Random(1000 * seed + i)
        model = r.choice(models)
        source = mutated_bytes(model.SerializeToString(), r) if r.random() < 0.4 else mutated_proto(model, r)
        start = time.perf_counter()
        with contextlib.suppress(SardonyxError):
            loaded = load(source)
            dump(loaded)
            to_proto(loaded)
        assert time.perf_counter() - start < 5

"""Softmax and LogSoftmax written as exponentials and sums."""

from __future__ import annotations

import numpy as np
import pytest

H = "(float[N, S, 4] x) => (float[N, S, 4] y) { "
AXES = {"a": np.array([-1]), "b": np.array([1]), "c": np.array([1, 2])}
FUSES = {
    "plain": ("e = Exp(x) s = ReduceSum(e, a) y = Div(e, s)", "Softmax", 2),
    "another axis": ("e = Exp(x) s = ReduceSum(e, b) y = Div(e, s)", "Softmax", 1),
    "shifted": ("m = ReduceMax(x, a) z = Sub(x, m) e = Exp(z) s = ReduceSum(e, a) y = Div(e, s)", "Softmax", 2),
    "times inverse": ("e = Exp(x) s = ReduceSum(e, a) r = Reciprocal(s) y = Mul(r, e)", "Softmax", 2),
    "log of softmax": ("s = Softmax<axis = 2>(x) y = Log(s)", "LogSoftmax", 2),
    "log softmax": ("e = Exp(x) s = ReduceSum(e, a) l = Log(s) y = Sub(x, l)", "LogSoftmax", 2),
    "log softmax shifted": ("m = ReduceMax(x, b) z = Sub(x, m) e = Exp(z) s = ReduceSum(e, b) l = Log(s) y = Sub(z, l)", "LogSoftmax", 1),
    "log sum exp": ("l = ReduceLogSumExp(x, a) y = Sub(x, l)", "LogSoftmax", 2),
}


@pytest.mark.parametrize(("body", "op", "axis"), FUSES.values(), ids=FUSES)
def test_fuses(check, body, op, axis):
    done = check(H + body + " }", **AXES)
    assert done.ops == {op: 1}
    assert done.nodes[0].attrs["axis"] == axis


@pytest.mark.parametrize(
    "body",
    [
        "e = Exp(x) s = ReduceSum(e, c) y = Div(e, s)",
        "e = Exp(x) f = Cos(x) s = ReduceSum(f, a) y = Div(e, s)",
        "e = Exp(x) s = ReduceMean(e, a) y = Div(e, s)",
        "e = Exp(x) s = ReduceSum(e, a) y = Div(s, e)",
        "e = Exp(x) s = ReduceSum(e, a) l = Log(s) f = Cos(x) y = Sub(f, l)",
    ],
    ids=["two axes", "another sum", "mean", "upside down", "of another"],
)
def test_stays(check, body):
    assert not {"Softmax", "LogSoftmax"} & set(check(H + body + " }", **AXES).ops)


def test_shift_of_another_axis_is_kept(check):
    done = check(H + "m = ReduceMax(x, b) z = Sub(x, m) e = Exp(z) s = ReduceSum(e, a) y = Div(e, s) }", **AXES)
    assert done.ops == {"ReduceMax": 1, "Sub": 1, "Softmax": 1}


def test_old_softmax_of_the_last_axis(check):
    """Opset 11's flattening form, when the rank is only known once shapes are folded."""
    text = """(float[N, 12] x) => (float[a, b, c] y) <int64[1] i = {0}, int64[2] k = {3, 4}> {
        s = Shape(x) d = Gather(s, i) t = Concat<axis = 0>(d, k) r = Reshape(x, t) y = Softmax<axis = %d>(r) }"""
    assert check(text % 2, opset=11).ops == {"Reshape": 1, "Softmax": 1}
    assert check(text % 1, opset=11).ops == {"Softmax": 1, "Reshape": 1}

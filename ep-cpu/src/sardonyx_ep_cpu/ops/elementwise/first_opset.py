"""Forms of the first opsets that differ: `consumed_inputs` (a permission that is not used), Clip's and PRelu's old shapes.

Before opset 8, Min, Max, Sum and Mean take tensors of one shape only; they run as the broadcasting form.
"""

from __future__ import annotations

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shape_kernels import arithmetic
from sardonyx_ep_cpu.ops.elementwise import activations, functions, rectifiers, variadic

__all__ = ["ops"]

ops = KernelSet()


def _unary(function):
    def run(xp, x, *, consumed_inputs=None):
        return function(xp, x)

    return run


def _variadic(function):
    def run(xp, *xs, consumed_inputs=None):
        return function(xp, *xs)

    return run


ops.add("Abs", since=1)(_unary(arithmetic.abs_))
ops.add("Ceil", since=1)(_unary(arithmetic.ceil))
ops.add("Exp", since=1)(_unary(functions.exp))
ops.add("Floor", since=1)(_unary(arithmetic.floor))
ops.add("Log", since=1)(_unary(functions.log))
ops.add("Neg", since=1)(_unary(arithmetic.neg))
ops.add("Reciprocal", since=1)(_unary(functions.reciprocal))
ops.add("Relu", since=1)(_unary(rectifiers.relu))
ops.add("Sigmoid", since=1)(_unary(activations.sigmoid))
ops.add("Sqrt", since=1)(_unary(arithmetic.sqrt))
ops.add("Tanh", since=1)(_unary(functions.tanh))
ops.add("Max", since=1)(_variadic(arithmetic.max_))
ops.add("Max", since=6)(arithmetic.max_)
ops.add("Mean", since=1)(_variadic(variadic.mean))
ops.add("Min", since=1)(_variadic(arithmetic.min_))
ops.add("Min", since=6)(arithmetic.min_)
ops.add("Sum", since=1)(_variadic(variadic.sum_))


@ops.add("LeakyRelu", since=1)
def leaky_relu_1(xp, x, *, alpha=0.009999999776482582, consumed_inputs=None):
    return rectifiers.leaky_relu(xp, x, alpha=alpha)


@ops.add("Elu", since=1)
def elu_1(xp, x, *, alpha=1.0, consumed_inputs=None):
    return activations.elu(xp, x, alpha=alpha)


@ops.add("Selu", since=1)
def selu_1(xp, x, *, alpha=1.673200011253357, gamma=1.0506999492645264, consumed_inputs=None):
    return activations.selu(xp, x, alpha=alpha, gamma=gamma)


@ops.add("HardSigmoid", since=1)
def hard_sigmoid_1(xp, x, *, alpha=0.20000000298023224, beta=0.5, consumed_inputs=None):
    return rectifiers.hard_sigmoid(xp, x, alpha=alpha, beta=beta)


@ops.add("PRelu", since=1)
def prelu_1(xp, x, slope, *, consumed_inputs=None):
    return prelu_6(xp, x, slope)


@ops.add("PRelu", since=6)
def prelu_6(xp, x, slope):
    """PRelu whose slope is one number or has one per channel, axis 1 of x."""
    if slope.ndim == 1 and slope.size > 1 and x.ndim > 1:
        slope = slope.reshape(slope.shape + (1,) * (x.ndim - 2))
    return rectifiers.prelu(xp, x, slope)


@ops.add("Clip", since=1)
def clip_1(xp, x, *, consumed_inputs=None, max=None, min=None):
    return _clip(xp, x, min, max)


@ops.add("Clip", since=6)
def clip_6(xp, x, *, max=3.4028234663852886e38, min=-3.4028234663852886e38):
    return _clip(xp, x, min, max)


def _clip(xp, x, low, high):
    return arithmetic.clip(xp, x, *(None if bound is None else np.array(bound).astype(x.dtype) for bound in (low, high)))

"""Derivatives of activations, those of which no function body gives (or gives without overflow)."""

from __future__ import annotations

from sardonyx.ir.gradient.rules import Rules

__all__ = ["rules"]

rules = Rules()


@rules.unary("Relu")
def relu(t, g, x, y):
    """g where x is positive."""
    return t("Where", t("Greater", x, 0.0), g, 0.0)


@rules.unary("LeakyRelu")
def leaky_relu(t, g, x, y, *, alpha=0.01):
    """g, times alpha where x is negative."""
    return t("Where", t("Less", x, 0.0), t("Mul", g, alpha), g)


@rules.unary("Sigmoid")
def sigmoid(t, g, x, y):
    """g y (1 - y)."""
    return t("Mul", g, t("Mul", y, t("Sub", 1.0, y)))


@rules.unary("Tanh")
def tanh(t, g, x, y):
    """g (1 - y**2)."""
    return t("Mul", g, t("Sub", 1.0, t("Mul", y, y)))


@rules.unary("Softplus")
def softplus(t, g, x, y):
    """g sigmoid(x)."""
    return t("Mul", g, t("Sigmoid", x))


@rules.unary("Elu")
def elu(t, g, x, y, *, alpha=1.0):
    """g, times y + alpha where x is negative."""
    return t("Where", t("Less", x, 0.0), t("Mul", g, t("Add", y, alpha)), g)


@rules.unary("Celu")
def celu(t, g, x, y, *, alpha=1.0):
    """g, times y / alpha + 1 where x is negative."""
    return t("Where", t("Less", x, 0.0), t("Mul", g, t("Add", t("Div", y, alpha), 1.0)), g)


@rules.unary("Selu")
def selu(t, g, x, y, *, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875):
    """g gamma, or g (y + alpha gamma) where x is negative."""
    return t("Mul", g, t("Where", t("Less", x, 0.0), t("Add", y, alpha * gamma), gamma))


@rules.unary("Softmax")
def softmax(t, g, x, y, *, axis=-1):
    """y (g - sum of g y)."""
    return t("Mul", y, t("Sub", g, t("ReduceSum", t("Mul", g, y), [axis], keepdims=1)))


@rules.unary("LogSoftmax")
def log_softmax(t, g, x, y, *, axis=-1):
    """g - exp(y) sum of g."""
    return t("Sub", g, t("Mul", t("Exp", y), t("ReduceSum", g, [axis], keepdims=1)))

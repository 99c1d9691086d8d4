"""Derivatives of arithmetic: elementwise functions of one and several tensors."""

from __future__ import annotations

from math import pi

from sardonyx.ir.gradient.rules import Rules

__all__ = ["rules"]

rules = Rules()


@rules.add("Add", "Sum", broadcasts=True)
def add(t, node, g, *terms):
    """Every term passes g."""
    return [lambda: g for _ in terms]


@rules.add("Mean", broadcasts=True)
def mean(t, node, g, *terms):
    """An equal share for every term."""
    return [lambda: t("Mul", g, 1 / len(terms)) for _ in terms]


@rules.add("Sub", broadcasts=True)
def sub(t, node, g, a, b):
    """g and -g."""
    return lambda: g, lambda: t("Neg", g)


@rules.add("Mul", broadcasts=True)
def mul(t, node, g, a, b):
    """g b and g a."""
    return lambda: t("Mul", g, b), lambda: t("Mul", g, a)


@rules.add("Div", broadcasts=True)
def div(t, node, g, a, b):
    """g / b and -g y / b."""
    return lambda: t("Div", g, b), lambda: t("Neg", t("Div", t("Mul", g, node.outputs[0]), b))


@rules.add("Pow", broadcasts=True)
def pow(t, node, g, x, exponent):
    """g n x**(n-1), which is 0 for n = 0 even where x is 0, and g y log x, which is 0 where x is not positive."""
    y = node.outputs[0]

    def base():
        n = t.cast(exponent, x)
        less = t("Where", t("Equal", n, 0.0), 1.0, t("Sub", n, 1.0))
        return t("Mul", g, t("Mul", n, t("Pow", x, less)))

    def power():
        logarithm = t("Log", t("Where", t("Greater", x, 0.0), x, 1.0))
        return t.cast(t("Mul", g, t("Mul", y, logarithm)), exponent)

    return base, power


@rules.add("Max", "Min", broadcasts=True)
def max_min(t, node, g, *operands):
    """g where the operand is the result, shared where several are."""
    y = node.outputs[0]
    if len(operands) == 1:
        return (lambda: g,)

    def share(x):
        return t("Div", t("Mul", g, t.cast(t("Equal", x, y), y)), t("Sum", *(t.cast(t("Equal", v, y), y) for v in operands)))

    return [lambda x=x: share(x) for x in operands]


@rules.add("Clip", broadcasts=True)
def clip(t, node, g, x, low=None, high=None):
    """g for x where it is within the bounds, else for the bound."""
    below = t("Less", x, low) if low is not None else None
    above = t("Greater", x, high) if high is not None else None

    def inside():
        masked = g if below is None else t("Where", below, 0.0, g)
        return masked if above is None else t("Where", above, 0.0, masked)

    return inside, lambda: t("Where", below, g, 0.0), lambda: t("Where", above, g, 0.0)


@rules.add("Where", broadcasts=True)
def where(t, node, g, condition, a, b):
    """g for whichever was taken."""
    return None, lambda: t("Where", condition, g, 0.0), lambda: t("Where", condition, 0.0, g)


@rules.add("Ceil", "EyeLike", "Floor", "Hardmax", "RandomNormalLike", "RandomUniformLike", "Round", "Sign")
def flat(t, node, g, *inputs, **attrs):
    """Constant, or so between steps."""
    return ()


@rules.unary("Identity")
def identity(t, g, x, y):
    """g."""
    return g


@rules.unary("Cast")
def cast(t, g, x, y, **attrs):
    """g, as it was typed."""
    return t.cast(g, x)


@rules.unary("CastLike")
def cast_like(t, g, x, y, **attrs):
    """g, as it was typed."""
    return t.cast(g, x)


@rules.add("Dropout")
def dropout(t, node, g, x, ratio=None, training_mode=None, *, seed=None):
    """g outside training."""
    if training_mode is not None and (training_mode.const is None or training_mode.const.numpy().any()):
        t.refuse("it drops elements at random")
    return (lambda: g,)


@rules.unary("Neg")
def neg(t, g, x, y):
    """-g."""
    return t("Neg", g)


@rules.unary("Abs")
def abs(t, g, x, y):
    """g with the sign of x."""
    return t("Mul", g, t("Sign", x))


@rules.unary("Reciprocal")
def reciprocal(t, g, x, y):
    """-g y**2."""
    return t("Neg", t("Mul", g, t("Mul", y, y)))


@rules.unary("Sqrt")
def sqrt(t, g, x, y):
    """g / 2y."""
    return t("Div", g, t("Mul", y, 2.0))


@rules.unary("Exp")
def exp(t, g, x, y):
    """g y."""
    return t("Mul", g, y)


@rules.unary("Log")
def log(t, g, x, y):
    """g / x."""
    return t("Div", g, x)


@rules.unary("Erf")
def erf(t, g, x, y):
    """g 2/sqrt(pi) exp(-x**2)."""
    return t("Mul", g, t("Mul", t("Exp", t("Neg", t("Mul", x, x))), 2 / pi**0.5))


@rules.unary("Sin")
def sin(t, g, x, y):
    """g cos x."""
    return t("Mul", g, t("Cos", x))


@rules.unary("Cos")
def cos(t, g, x, y):
    """-g sin x."""
    return t("Neg", t("Mul", g, t("Sin", x)))


@rules.unary("Tan")
def tan(t, g, x, y):
    """g (1 + y**2)."""
    return t("Mul", g, t("Add", t("Mul", y, y), 1.0))


@rules.unary("Asin")
def asin(t, g, x, y):
    """g / sqrt(1 - x**2)."""
    return t("Div", g, t("Sqrt", t("Sub", 1.0, t("Mul", x, x))))


@rules.unary("Acos")
def acos(t, g, x, y):
    """-g / sqrt(1 - x**2)."""
    return t("Neg", asin(t, g, x, y))


@rules.unary("Atan")
def atan(t, g, x, y):
    """g / (1 + x**2)."""
    return t("Div", g, t("Add", t("Mul", x, x), 1.0))


@rules.unary("Sinh")
def sinh(t, g, x, y):
    """g cosh x."""
    return t("Mul", g, t("Cosh", x))


@rules.unary("Cosh")
def cosh(t, g, x, y):
    """g sinh x."""
    return t("Mul", g, t("Sinh", x))


@rules.unary("Asinh")
def asinh(t, g, x, y):
    """g / sqrt(x**2 + 1)."""
    return t("Div", g, t("Sqrt", t("Add", t("Mul", x, x), 1.0)))


@rules.unary("Acosh")
def acosh(t, g, x, y):
    """g / sqrt(x**2 - 1)."""
    return t("Div", g, t("Sqrt", t("Sub", t("Mul", x, x), 1.0)))


@rules.unary("Atanh")
def atanh(t, g, x, y):
    """g / (1 - x**2)."""
    return t("Div", g, t("Sub", 1.0, t("Mul", x, x)))

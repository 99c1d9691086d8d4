"""The activation functions of the recurrent operators, applied in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.elementwise.special import logistic

__all__ = ["Activation", "make_activations"]

Activation = Callable[[Any], Any]


def _sigmoid(xp: Any, x: Any, alpha: float, beta: float) -> None:
    logistic(xp, x, x)


def _tanh(xp: Any, x: Any, alpha: float, beta: float) -> None:
    xp.tanh(x, out=x)


def _relu(xp: Any, x: Any, alpha: float, beta: float) -> None:
    xp.maximum(x, 0, out=x)


def _affine(xp: Any, x: Any, alpha: float, beta: float) -> None:
    x *= alpha
    x += beta


def _leaky_relu(xp: Any, x: Any, alpha: float, beta: float) -> None:
    x[...] = xp.where(x >= 0, x, alpha * x)


def _thresholded_relu(xp: Any, x: Any, alpha: float, beta: float) -> None:
    x[...] = xp.where(x >= alpha, x, 0)


def _scaled_tanh(xp: Any, x: Any, alpha: float, beta: float) -> None:
    x *= beta
    xp.tanh(x, out=x)
    x *= alpha


def _hard_sigmoid(xp: Any, x: Any, alpha: float, beta: float) -> None:
    x *= alpha
    x += beta
    xp.clip(x, 0, 1, out=x)


def _elu(xp: Any, x: Any, alpha: float, beta: float) -> None:
    x[...] = xp.where(x >= 0, x, alpha * xp.expm1(xp.minimum(x, 0)))


def _softsign(xp: Any, x: Any, alpha: float, beta: float) -> None:
    x /= 1 + xp.abs(x)


def _softplus(xp: Any, x: Any, alpha: float, beta: float) -> None:
    xp.logaddexp(x, 0, out=x)


# name in lower case: function, default alpha, default beta (None: the function takes none)
_FUNCTIONS: dict[str, tuple[Callable[..., None], float | None, float | None]] = {
    "sigmoid": (_sigmoid, None, None),
    "tanh": (_tanh, None, None),
    "relu": (_relu, None, None),
    "affine": (_affine, 1.0, 0.0),
    "leakyrelu": (_leaky_relu, 0.01, None),
    "thresholdedrelu": (_thresholded_relu, 1.0, None),
    "scaledtanh": (_scaled_tanh, 1.0, 1.0),
    "hardsigmoid": (_hard_sigmoid, 0.2, 0.5),
    "elu": (_elu, 1.0, None),
    "softsign": (_softsign, None, None),
    "softplus": (_softplus, None, None),
}


def make_activations(
    xp: Any, needed: int, names: Sequence[str], alphas: Sequence[float] | None, betas: Sequence[float] | None
) -> list[Activation]:
    """In-place functions for the first `needed` names; those that take an alpha or a beta use up the given values in order.

    Raises NodeError for an unknown name, or too few.
    """
    if len(names) < needed:
        raise NodeError(f"activations name {len(names)} functions, but {needed} are needed: {list(names)}")
    left_alphas, left_betas = list(alphas or ()), list(betas or ())
    result = []
    for name in names[:needed]:
        try:
            function, alpha, beta = _FUNCTIONS[name.lower()]
        except KeyError:
            raise NodeError(f"unknown activation {name!r}; known are {', '.join(_FUNCTIONS)}") from None
        if alpha is not None and left_alphas:
            alpha = left_alphas.pop(0)
        if beta is not None and left_betas:
            beta = left_betas.pop(0)
        result.append(_bind(xp, function, alpha or 0.0, beta or 0.0))
    return result


def _bind(xp: Any, function: Callable[..., None], alpha: float, beta: float) -> Activation:
    return lambda x: function(xp, x, alpha, beta)

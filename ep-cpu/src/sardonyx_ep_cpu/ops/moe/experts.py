"""Routing of tokens to experts, and the experts' activation functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.elementwise.activations import gelu, swish
from sardonyx_ep_cpu.ops.matrix.product import product
from sardonyx_ep_cpu.ops.softmax.softmax import softmax
from sardonyx_ep_cpu.precision import widen

__all__ = ["Activation", "Layer", "activation", "mix"]

Layer = Callable[[int], tuple[Any, Any]]
"""Expert index -> float32 weights [out, in] and bias [out] or None."""

Activation = Callable[[Any, Any], Any]
"""Results of the first and of the third layer (or None), [rows, features] -> what the second layer takes."""


def mix(
    xp: Any, x: Any, router: Any, weights: Any, k: int, normalize: int, layers: tuple[Layer, Layer, Layer | None], f: Activation
) -> Any:
    """Each token's sum over its k best experts of weight * fc2(f(fc1(x), fc3(x))), of x's shape and dtype.

    x is [..., hidden], router [tokens, experts] scores. An expert's weight is the router's softmax, or its entry in
    `weights` [tokens, experts] if given; with `normalize` a token's k weights are scaled to sum 1.
    """
    tokens = widen(x).reshape(-1, x.shape[-1])
    router = widen(router)
    if router.ndim != 2 or router.shape[0] != tokens.shape[0] or not 0 < k <= router.shape[1]:
        raise NodeError(f"router_probs of shape {router.shape} does not give {tokens.shape[0]} tokens k={k} of its experts")
    chosen = xp.argsort(-router, axis=1, kind="stable")[:, :k]
    share = xp.take_along_axis(softmax(xp, router) if weights is None else widen(weights), chosen, axis=1)
    if normalize:
        share = share / share.sum(axis=1, keepdims=True)
    y = xp.zeros_like(tokens)
    for expert in xp.unique(chosen).tolist():
        rows, place = xp.nonzero(chosen == expert)
        part = tokens[rows]
        gate, up = _apply(xp, layers[0], expert, part), None if layers[2] is None else _apply(xp, layers[2], expert, part)
        y[rows] += share[rows, place, None] * _apply(xp, layers[1], expert, f(gate, up))
    return y.reshape(x.shape).astype(x.dtype, copy=False)


def _apply(xp: Any, layer: Layer, expert: int, x: Any) -> Any:
    weights, bias = layer(expert)
    if weights.shape[1] != x.shape[1]:
        raise NodeError(f"an expert's weights of shape {weights.shape} do not take {x.shape[1]} features")
    y = product(xp, x, weights.T)
    return y if bias is None else y + widen(bias)


def activation(xp: Any, name: str, fusion: int, alpha: float, beta: float, limit: float | None) -> Activation:
    """The activation of MoE's attributes: relu, gelu (by tanh, as onnxruntime computes it), silu, identity or swiglu.

    swiglu is g sigmoid(alpha g) (l + beta), g cut at limit and l within ±limit; g and l are the first and the third layer's
    results (fusion 0), or both the first's, alternating (1) or one after the other (2). Else a third layer is a factor.
    """
    if name == "swiglu":
        return lambda gate, up: _swiglu(xp, *_halves(gate, up, fusion), alpha, beta, limit)
    functions: dict[str, Callable[[Any], Any]] = {
        "relu": lambda x: xp.maximum(x, 0),
        "gelu": lambda x: gelu(xp, x, approximate="tanh"),
        "silu": lambda x: swish(xp, x),
        "identity": lambda x: x,
    }
    if name not in functions:
        raise NodeError(f"activation_type={name!r}; use one of {', '.join(functions)}, swiglu")
    function = functions[name]
    return lambda gate, up: function(gate) if up is None else function(gate) * up


def _halves(gate: Any, up: Any, fusion: int) -> tuple[Any, Any]:
    if fusion == 0 and up is not None:
        return gate, up
    if fusion == 1:
        return gate[:, 0::2], gate[:, 1::2]
    if fusion == 2:
        return gate[:, : gate.shape[1] // 2], gate[:, gate.shape[1] // 2 :]
    raise NodeError(f"swiglu_fusion={fusion} needs {'fc3 weights' if fusion == 0 else 'to be 0, 1 or 2'}")


def _swiglu(xp: Any, gate: Any, up: Any, alpha: float, beta: float, limit: float | None) -> Any:
    if limit is not None:
        gate, up = xp.minimum(gate, limit), xp.clip(up, -limit, limit)
    return swish(xp, gate, alpha=alpha) * (up + beta)

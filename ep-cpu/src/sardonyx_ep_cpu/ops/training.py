"""Optimizer steps of ai.onnx.preview.training: Adagrad, Adam, Momentum.

The variadic inputs are all tensors, then all their gradients, then each group of state; outputs drop the gradients.
"""

from __future__ import annotations

from math import sqrt

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError

__all__ = ["ops"]

ops = KernelSet("ai.onnx.preview.training")


def _groups(inputs, count):
    """`inputs` cut into `count` equal groups, zipped: one tuple (tensor, gradient, state, ...) for each tensor."""
    if len(inputs) % count:
        raise NodeError(f"got {len(inputs)} tensors, which are not {count} for each optimized one")
    n = len(inputs) // count
    return zip(*(inputs[i * n : (i + 1) * n] for i in range(count)), strict=True)


def _flattened(results):
    return tuple(value for group in zip(*results, strict=True) for value in group)


@ops.add("Adagrad")
def adagrad(xp, R, T, *inputs, decay_factor=0.0, epsilon=9.999999974752427e-07, norm_coefficient=0.0):
    """New tensors and accumulated squared gradients after one step with learning rate R and update count T."""
    rate = float(R.item()) / (1 + int(T.item()) * decay_factor)

    def step(x, gradient, squares):
        gradient = norm_coefficient * x + gradient
        squares = squares + gradient * gradient
        return x - rate * gradient / (xp.sqrt(squares) + epsilon), squares

    return _flattened([step(*group) for group in _groups(inputs, 3)])


@ops.add("Adam")
def adam(
    xp,
    R,
    T,
    *inputs,
    alpha=0.8999999761581421,
    beta=0.9990000128746033,
    epsilon=9.999999974752427e-07,
    norm_coefficient=0.0,
    norm_coefficient_post=0.0,
):
    """New tensors, averaged gradients and averaged squared gradients after one step."""
    rate, count = float(R.item()), int(T.item())
    if count > 0:
        rate *= sqrt(1 - beta**count) / (1 - alpha**count)

    def step(x, gradient, average, squares):
        gradient = norm_coefficient * x + gradient
        average = alpha * average + (1 - alpha) * gradient
        squares = beta * squares + (1 - beta) * gradient * gradient
        x = x - rate * average / (xp.sqrt(squares) + epsilon)
        return (1 - norm_coefficient_post) * x, average, squares

    return _flattened([step(*group) for group in _groups(inputs, 4)])


@ops.add("Momentum")
def momentum(xp, R, T, *inputs, alpha, beta, mode, norm_coefficient):
    """New tensors and momenta after one step of gradient descent with standard or Nesterov's momentum."""
    if mode not in ("standard", "nesterov"):
        raise NodeError(f"mode {mode!r} is neither standard nor nesterov")
    rate = float(R.item())
    beta = beta if int(T.item()) > 0 else 1.0

    def step(x, gradient, velocity):
        gradient = norm_coefficient * x + gradient
        velocity = alpha * velocity + beta * gradient
        return x - rate * (gradient + alpha * velocity if mode == "nesterov" else velocity), velocity

    return _flattened([step(*group) for group in _groups(inputs, 3)])

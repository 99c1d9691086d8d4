"""Normalizations without a function body in ONNX, as what they are composed of."""

from __future__ import annotations

from sardonyx.ir.gradient.rules import Rules

__all__ = ["rules"]

rules = Rules()


def _per_channel(t, v, x):
    """v [C] as x [N, C, *D] takes it."""
    return t.cast(t("Unsqueeze", v, list(range(1, t.rank(x) - 1))) if t.rank(x) > 2 else v, x)


def _normalized(t, x, moments, scale, b, epsilon):
    mean, variance = moments
    centred = t("Sub", x, mean)
    unit = t("Div", centred, t("Sqrt", t("Add", variance, epsilon)))
    return t("Add", t("Mul", unit, _per_channel(t, scale, x)), _per_channel(t, b, x))


def _moments(t, x, axes):
    mean = t("ReduceMean", x, axes)
    centred = t("Sub", x, mean)
    return mean, t("ReduceMean", t("Mul", centred, centred), axes)


@rules.compose("BatchNormalization")
def batch_normalization(t, x, scale, b, mean, var, *, epsilon=1e-5, momentum=0.9, training_mode=0):
    """By the running statistics, or in training by the batch's, which move the running ones."""
    if not training_mode:
        return (_normalized(t, x, (_per_channel(t, mean, x), _per_channel(t, var, x)), scale, b, epsilon),)
    axes = [0, *range(2, t.rank(x))]
    batch = _moments(t, x, axes)
    y = _normalized(t, x, batch, scale, b, epsilon)
    moved = [
        t("Add", t("Mul", old, momentum), t("Mul", t.cast(t("Squeeze", new, axes), old), 1.0 - momentum))
        for old, new in zip((mean, var), batch, strict=True)
    ]
    return y, *moved


@rules.compose("InstanceNormalization")
def instance_normalization(t, x, scale, b, *, epsilon=1e-5):
    """By each channel's own moments."""
    return (_normalized(t, x, _moments(t, x, list(range(2, t.rank(x)))), scale, b, epsilon),)

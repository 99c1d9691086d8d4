"""Normalizations without a function body in ONNX (or with one for some types only), as what they are composed of."""

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


@rules.compose("LayerNormalization")
def layer_normalization(t, x, scale, b=None, *, axis=-1, epsilon=1e-5, stash_type=1):
    """By the moments over the axes from `axis` on, in the type of the stash."""
    wide = t("Cast", x, to=stash_type)
    mean, variance = _moments(t, wide, list(range(axis % t.rank(x), t.rank(x))))
    inverse = t("Reciprocal", t("Sqrt", t("Add", variance, epsilon)))
    y = t("Mul", t.cast(t("Mul", t("Sub", wide, mean), inverse), x), scale)
    return y if b is None else t("Add", y, b), mean, inverse


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

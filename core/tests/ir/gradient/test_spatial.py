"""Rules of convolutions, pools and normalizations, against finite differences."""

import numpy as np
import pytest

CONVOLUTIONS = {
    "plain": ((2, 2, 4, 5), (3, 2, 2, 3), ""),
    "padded": ((1, 2, 4, 4), (2, 2, 3, 3), "pads=[1, 0, 2, 1]"),
    "strided": ((1, 2, 6, 5), (2, 2, 3, 2), "strides=[2, 3], pads=[1, 1, 1, 0]"),
    "strided, with a rest": ((1, 1, 6, 6), (1, 1, 3, 3), "strides=[2, 2]"),
    "dilated": ((1, 1, 6, 6), (2, 1, 2, 3), "dilations=[3, 2]"),
    "dilated, strided": ((1, 1, 7, 7), (1, 1, 2, 2), "dilations=[2, 3], strides=[3, 2], pads=[1, 1, 1, 1]"),
    "grouped": ((2, 4, 4, 3), (4, 2, 2, 2), "group=2"),
    "depthwise": ((2, 3, 4, 4), (6, 1, 3, 3), "group=3, pads=[1, 1, 1, 1], strides=[2, 2]"),
    "line": ((2, 2, 6), (2, 2, 3), "pads=[1, 1]"),
    "volume": ((1, 1, 3, 3, 3), (1, 1, 2, 2, 2), ""),
    "valid": ((1, 1, 4, 4), (1, 1, 2, 2), 'auto_pad="VALID", strides=[2, 2]'),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_conv(name, check, rng):
    x, w, attrs = CONVOLUTIONS[name]
    feeds = {"x": rng.standard_normal(x), "w": rng.standard_normal(w), "b": rng.standard_normal(w[0])}
    check(f"y = Conv<{attrs}>(x, w, b)" if attrs else "y = Conv(x, w, b)", feeds, rtol=1e-5)


TRANSPOSED = {
    "plain": ((2, 2, 3, 2), (2, 3, 2, 3), ""),
    "strided": ((1, 2, 3, 3), (2, 2, 3, 3), "strides=[2, 3], pads=[1, 0, 1, 1], output_padding=[1, 2]"),
    "dilated": ((1, 1, 3, 3), (1, 2, 2, 2), "dilations=[2, 3], output_padding=[1, 1], strides=[1, 1]"),
    "grouped": ((2, 4, 3, 3), (4, 2, 2, 2), "group=2, strides=[2, 2]"),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_conv_transpose(name, check, rng):
    x, w, attrs = TRANSPOSED[name]
    group = 2 if "group" in attrs else 1
    feeds = {"x": rng.standard_normal(x), "w": rng.standard_normal(w), "b": rng.standard_normal(w[1] * group)}
    check(f"y = ConvTranspose<{attrs}>(x, w, b)" if attrs else "y = ConvTranspose(x, w, b)", feeds, rtol=1e-5)


POOLS = {
    "plain": "kernel_shape=[2, 2]",
    "strided": "kernel_shape=[2, 3], strides=[2, 2]",
    "padded": "kernel_shape=[3, 3], pads=[1, 0, 1, 2], strides=[2, 1]",
    "dilated": "kernel_shape=[2, 2], dilations=[2, 3]",
}


@pytest.mark.parametrize("name", POOLS)
def test_pools(name, check, rng):
    x = {"x": rng.standard_normal((2, 2, 5, 6))}
    check(f"y = MaxPool<{POOLS[name]}>(x)", x, second=False)
    for count in (0, 1):
        check(f"y = AveragePool<{POOLS[name]}, count_include_pad={count}>(x)", x, second=name == "padded")


def test_second_derivative_of_max_pool(check, rng):
    check("p = MaxPool<kernel_shape=[2]>(x) y = Mul(p, p)", {"x": rng.standard_normal((1, 2, 4))})


def test_max_pool_by_columns(check, rng):
    """Whose places are counted column by column."""
    check("y, i = MaxPool<kernel_shape=[2, 2], storage_order=1>(x)", {"x": rng.standard_normal((1, 2, 3, 4))}, second=False)


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
def test_global_pools(op, check, rng):
    check(f"p = {op}(x) y = Mul(p, p)", {"x": rng.standard_normal((2, 2, 3, 2))})


@pytest.mark.parametrize("x", [(3, 2), (2, 2, 2, 3)])
@pytest.mark.parametrize("training", [0, 1])
def test_batch_normalization(x, training, check, rng):
    feeds = {"x": rng.standard_normal(x)} | {k: rng.uniform(0.5, 2, x[1]) for k in ("s", "b", "m", "v")}
    outputs = "n, m2, v2" if training else "n"
    rest = "t = Mul(m2, v2) u = ReduceSum(t) y = Add(n, u)" if training else "y = Identity(n)"
    check(f"{outputs} = BatchNormalization<training_mode={training}>(x, s, b, m, v) {rest}", feeds, rtol=1e-5, second=x == (3, 2))


def test_instance_normalization(check, rng):
    feeds = {"x": rng.standard_normal((2, 2, 4)), "s": rng.standard_normal(2), "b": rng.standard_normal(2)}
    check("y = InstanceNormalization(x, s, b)", feeds, rtol=1e-5)


def test_normalizations_with_function_bodies(check, rng):
    feeds = {"x": rng.standard_normal((2, 4, 3)), "s": rng.standard_normal(3), "b": rng.standard_normal(3)}
    check("y = LayerNormalization<axis=-1, stash_type=11>(x, s, b)", feeds, rtol=1e-4)
    check("y = RMSNormalization<axis=-1, stash_type=11>(x, s)", {"x": feeds["x"], "s": feeds["s"]}, rtol=1e-4)
    grouped = {"x": feeds["x"], "s": rng.standard_normal(4), "b": rng.standard_normal(4)}
    check("y = GroupNormalization<num_groups=2, stash_type=11>(x, s, b)", grouped, rtol=1e-4)


def test_losses(check, rng):
    x, labels = rng.standard_normal((3, 4)), np.array([1, 3, 0])
    check("y = SoftmaxCrossEntropyLoss(x, l)", {"x": x, "l": labels}, rtol=1e-5)
    check('y = NegativeLogLikelihoodLoss<reduction="none">(x, l)', {"x": x, "l": labels})

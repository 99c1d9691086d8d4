"""Keras models and TensorFlow functions, converted by tf2onnx: dense, convolutional, recurrent, attention, control flow.

tf2onnx reads TensorFlow's graphs, and Keras models are converted as functions.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "TF_ENABLE_ONEDNN_OPTS": "0"}

import keras
import numpy as np
import tensorflow as tf
import tf2onnx
from checks import Converted, main
from keras import layers

logging.disable(logging.WARNING)

random = np.random.default_rng(0)
PICTURES = ((2, 24, 24, 3), (1, 24, 24, 3))
WORDS = ((3, 9), (1, 9))


def floats(*shapes: Sequence[int], dtype: str = "float32") -> list[tuple[np.ndarray, ...]]:
    """A feed of each shape."""
    return [(random.standard_normal(shape).astype(dtype),) for shape in shapes]


def words(*shapes: Sequence[int]) -> list[tuple[np.ndarray, ...]]:
    """A feed of numbers of words for each shape."""
    return [(random.integers(1, 50, shape).astype(np.int32),) for shape in shapes]


def converted(function: Callable[..., Any], feeds: list[tuple[np.ndarray, ...]], opset: int = 18) -> Converted:
    """The function traced for feeds whose sizes vary where those of `feeds` do, and what it gives for all of them."""
    signature = []
    for i, parts in enumerate(zip(*feeds, strict=True)):
        sizes = [s[0] if len(set(s)) == 1 else None for s in zip(*(p.shape for p in parts), strict=True)]
        signature.append(tf.TensorSpec(sizes, parts[0].dtype, name=f"in{i}"))
    traced = tf.function(function, input_signature=signature)
    model, _ = tf2onnx.convert.from_function(traced, input_signature=signature, opset=opset)
    names = [v.name for v in model.graph.input]
    runs = []
    for feed in feeds:
        outputs = [v.numpy() for v in tf.nest.flatten(traced(*map(tf.constant, feed)))]
        runs.append(({n: feed[int(n.removeprefix("in"))] for n in names}, outputs))
    return Converted(model, runs)


def of_keras(feeds: list[tuple[np.ndarray, ...]], *stack: Any) -> Converted:
    """A sequential model."""
    model = keras.Sequential([keras.Input(feeds[0][0].shape[1:], dtype=feeds[0][0].dtype.name), *stack])
    return converted(lambda x: model(x, training=False), feeds)


def convolutions() -> list[Any]:
    """A small network of every kind of convolution and pooling."""
    return [
        layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False),
        layers.BatchNormalization(),
        layers.ReLU(6.0),
        layers.DepthwiseConv2D(3, padding="same", activation="swish"),
        layers.SeparableConv2D(12, 3, dilation_rate=2),
        layers.MaxPooling2D(3, 2, padding="same"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(5, activation="softmax"),
    ]


def decoder() -> list[Any]:
    """Back to a larger picture."""
    return [
        layers.Conv2D(8, 3, 2, padding="same"),
        layers.LeakyReLU(),
        layers.UpSampling2D(2, interpolation="bilinear"),
        layers.Conv2DTranspose(4, 3, 2, padding="same", activation="elu"),
        layers.ZeroPadding2D(1),
        layers.AveragePooling2D(2, padding="same"),
        layers.Cropping2D(((1, 2), (0, 1))),
        layers.LayerNormalization(),
    ]


def transformer() -> Converted:
    """An encoder block: attention of several heads, residuals, normalization."""
    ids = keras.Input((9,), dtype="int32")
    x = layers.Embedding(50, 16)(ids)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 8)(x, x))
    x = layers.LayerNormalization()(x + layers.Dense(16)(layers.Dense(32, activation=partial(keras.activations.gelu, approximate=True))(x)))
    model = keras.Model(ids, layers.Dense(4, activation="softmax")(layers.GlobalMaxPooling1D()(x)))
    return converted(lambda x: model(x, training=False), words(*WORDS))


def two_inputs() -> Converted:
    """Two inputs, two outputs."""
    a, b = keras.Input((4,)), keras.Input((6,))
    x = layers.Concatenate()([layers.Dense(8, activation="tanh")(a), layers.Dense(8, activation="selu")(b)])
    model = keras.Model([a, b], [layers.Dense(3, activation="sigmoid")(x), layers.Dot(1, normalize=True)([layers.Dense(6)(x), b])])
    feeds = [(*floats((n, 4))[0], *floats((n, 6))[0]) for n in (5, 1)]
    return converted(lambda a, b: model([a, b], training=False), feeds)


def shapes(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """Shapes that are known only in the run: reshapes, slices, gathers, sorts, sums."""
    batch, length = tf.shape(x)[0], tf.shape(x)[1]
    halves = tf.concat([x[:, length // 2 :], tf.reverse(x[:, : length // 2], [1])], 1)
    best = tf.math.top_k(tf.reduce_sum(x, -1), 3)
    picked = tf.gather(halves, best.indices, batch_dims=1)
    places = tf.cast(tf.range(length), tf.float32)[None, :, None]
    return tf.reshape(halves * places, [batch, -1]), picked, tf.cumsum(tf.where(x > 0, x, 0.0), 1), best.indices


def branch(x: tf.Tensor) -> tf.Tensor:
    """A branch that depends on the data."""
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.nn.relu(x) + 1.0, lambda: tf.tanh(x) * 2.0)


def loop(x: tf.Tensor) -> tf.Tensor:
    """A loop whose length depends on the data."""
    return tf.while_loop(lambda v: tf.reduce_max(tf.abs(v)) > 0.25, lambda v: v * 0.75 - 0.01 * tf.sign(v), [x])[0]


def scatter(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """Scattering, one-hot, segments and integer division."""
    order = tf.argsort(x[:, 0])
    moved = tf.tensor_scatter_nd_update(tf.zeros_like(x), order[:, None], x)
    hot = tf.one_hot(tf.argmax(x, 1), 7, on_value=2.0, off_value=-1.0)
    return moved, hot, tf.linalg.matmul(hot, x, transpose_b=True), tf.math.floordiv(tf.cast(abs(x) * 9, tf.int32), 4)


CASES: dict[str, Callable[[], Converted]] = {
    "dense": lambda: of_keras(floats((4, 7), (1, 7)), layers.Dense(16, activation="relu"), layers.Dropout(0.5), layers.Dense(3)),
    "dense, float64": lambda: of_keras(floats((4, 7), (1, 7), dtype="float64"), layers.Dense(5, activation="softplus", dtype="float64")),
    "convolutions": lambda: of_keras(floats(*PICTURES), *convolutions()),
    "decoder": lambda: of_keras(floats(*PICTURES), *decoder()),
    "series": lambda: of_keras(
        floats((2, 20, 6), (1, 20, 6)), layers.Conv1D(8, 3, padding="causal"), layers.PReLU(), layers.MaxPooling1D(2)
    ),
    "volumes": lambda: of_keras(floats((2, 8, 8, 6, 2), (1, 8, 8, 6, 2)), layers.Conv3D(4, 3, padding="same"), layers.AveragePooling3D(2)),
    "lstm": lambda: of_keras(words(*WORDS), layers.Embedding(50, 8), layers.LSTM(12, return_sequences=True), layers.LSTM(6)),
    "bidirectional lstm": lambda: of_keras(words(*WORDS), layers.Embedding(50, 8), layers.Bidirectional(layers.LSTM(6)), layers.Dense(3)),
    "gru": lambda: of_keras(
        words(*WORDS), layers.Embedding(50, 8), layers.GRU(12, return_sequences=True), layers.GRU(6, reset_after=False)
    ),
    "simple rnn": lambda: of_keras(words(*WORDS), layers.Embedding(50, 8), layers.SimpleRNN(12)),
    "transformer": transformer,
    "two inputs": two_inputs,
    "shapes": lambda: converted(shapes, floats((2, 8, 4), (3, 5, 4))),
    "branch": lambda: converted(branch, [(abs(f[0]) * s,) for f in floats((3, 5)) for s in (1, -1)]),
    "loop": lambda: converted(loop, floats((3, 5), (1, 5))),
    "scatter": lambda: converted(scatter, floats((5, 7), (2, 7))),
}

if __name__ == "__main__":
    keras.utils.set_random_seed(0)
    main(CASES)

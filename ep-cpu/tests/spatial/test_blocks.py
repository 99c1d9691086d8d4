import io

import ml_dtypes
import numpy as np
import pytest
from PIL import Image

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels
from sardonyx_ep_cpu.ops.spatial.causal_conv import causal_conv_with_state
from sardonyx_ep_cpu.ops.spatial.center_crop_pad import center_crop_pad
from sardonyx_ep_cpu.ops.spatial.depth_space import depth_to_space, space_to_depth
from sardonyx_ep_cpu.ops.spatial.image_decoder import image_decoder


def test_depth_to_space_orders():
    x = np.arange(8).reshape(1, 8, 1, 1)
    assert depth_to_space(np, x, blocksize=2).tolist() == [[[[0, 2], [4, 6]], [[1, 3], [5, 7]]]]
    assert depth_to_space(np, x, blocksize=2, mode="CRD").tolist() == [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]]


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_space_to_depth_is_the_inverse(mode):
    x = np.array([f"{i}" for i in range(2 * 12 * 2 * 3)], object).reshape(2, 12, 2, 3)
    y = depth_to_space(np, x, blocksize=2, mode=mode)
    np.testing.assert_array_equal(space_to_depth(np, y, blocksize=2, mode=mode), x)


def test_the_first_versions_are_dcr():
    x = np.arange(16).reshape(1, 4, 2, 2)
    y = kernels.find("", "DepthToSpace", 1).function(np, x, blocksize=2)
    np.testing.assert_array_equal(y, depth_to_space(np, x, blocksize=2))
    np.testing.assert_array_equal(kernels.find("", "SpaceToDepth", 13).function(np, y, blocksize=2), x)


def test_blocks_that_do_not_fit_raise():
    for x in (np.ones((1, 3, 2, 2)), np.ones((4, 2, 2))):
        with pytest.raises(NodeError):
            depth_to_space(np, x, blocksize=2)
    with pytest.raises(NodeError):
        space_to_depth(np, np.ones((1, 1, 3, 2)), blocksize=2)


def test_centre_crop_and_pad():
    x = np.arange(5)
    assert center_crop_pad(np, x, np.array([2])).tolist() == [1, 2]
    assert center_crop_pad(np, x, np.array([8])).tolist() == [0, 0, 1, 2, 3, 4, 0, 0]
    y = center_crop_pad(np, np.arange(12).reshape(3, 4), np.array([5, 2]), axes=[1, -2])
    assert y.tolist() == [[0, 1, 2, 3, 0], [4, 5, 6, 7, 0]]
    assert center_crop_pad(np, np.array(["a"], object), np.array([3])).tolist() == ["", "a", ""]
    assert center_crop_pad(np, x, np.array([0])).shape == (0,)


@pytest.mark.parametrize(("shape", "axes"), [([2], None), ([2, 2], [0, 0]), ([2], [2]), ([-1, 2], None)])
def test_centre_crop_checks_its_axes(shape, axes):
    with pytest.raises(NodeError):
        center_crop_pad(np, np.ones((3, 3)), np.array(shape), axes=axes)


def encode(pixels, kind):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind)
    return np.frombuffer(stream.getvalue(), np.uint8)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "PPM", "TIFF"])
def test_decoding(kind):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    stream = encode(pixels, kind)
    np.testing.assert_array_equal(image_decoder(np, stream), pixels)
    np.testing.assert_array_equal(image_decoder(np, stream, pixel_format="BGR"), pixels[..., ::-1])
    gray = image_decoder(np, stream, pixel_format="Grayscale")
    assert gray.shape == (5, 7, 1)
    np.testing.assert_allclose(gray[..., 0], pixels @ [0.299, 0.587, 0.114], atol=1)


def test_decoding_gray_to_colour():
    pixels = np.arange(6, dtype=np.uint8).reshape(2, 3)
    np.testing.assert_array_equal(image_decoder(np, encode(pixels, "PNG")), pixels[..., None].repeat(3, axis=2))


@pytest.mark.parametrize(("pixel_format", "shape"), [("RGB", (0, 0, 3)), ("Grayscale", (0, 0, 1))])
def test_what_cannot_be_decoded_is_empty(pixel_format, shape):
    whole = encode(np.zeros((50, 50, 3), np.uint8), "PNG")
    for stream in (np.zeros(10, np.uint8), np.empty(0, np.uint8), whole[: whole.size // 2]):
        y = image_decoder(np, stream, pixel_format=pixel_format)
        assert (y.shape, y.dtype) == (shape, np.uint8)


def test_unknown_pixel_format_raises():
    with pytest.raises(NodeError):
        image_decoder(np, np.zeros(3, np.uint8), pixel_format="CMYK")


def causal(x, w, past):
    full = np.concatenate([past, x], axis=2).astype(np.float64)
    k = w.shape[2]
    y = sum(w[None, :, 0, j, None].astype(np.float64) * full[:, :, j : j + x.shape[2]] for j in range(k))
    return y, full[:, :, full.shape[2] - (k - 1) :]


@pytest.mark.parametrize("length", [1, 2, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_causal_conv(length, dtype):
    rng = np.random.default_rng(length)
    x, past = rng.standard_normal((2, 3, length)).astype(dtype), rng.standard_normal((2, 3, 3)).astype(dtype)
    w, b = rng.standard_normal((3, 1, 4)).astype(dtype), rng.standard_normal(3).astype(dtype)
    want, state = causal(x, w, past)
    want += b.astype(np.float64)[:, None]
    y, present = causal_conv_with_state(np, x, w, b, past, activation="silu")
    assert y.dtype == present.dtype == dtype
    tolerance = 1e-5 if dtype == np.float32 else 2e-2
    np.testing.assert_allclose(y.astype(np.float64), want / (1 + np.exp(-want)), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(present.astype(np.float64), state)


def test_causal_conv_in_two_halves_is_the_whole():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((1, 2, 9)).astype(np.float32), rng.standard_normal((2, 1, 3)).astype(np.float32)
    whole, last = causal_conv_with_state(np, x, w)
    first, state = causal_conv_with_state(np, x[:, :, :4], w)
    second, end = causal_conv_with_state(np, x[:, :, 4:], w, None, state)
    np.testing.assert_allclose(np.concatenate([first, second], axis=2), whole, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(end, last)


def test_causal_conv_with_one_tap_has_no_state():
    y, present = causal_conv_with_state(np, np.ones((1, 2, 3), np.float32), np.full((2, 1, 1), 2, np.float32))
    assert (y == 2).all()
    assert present.shape == (1, 2, 0)


@pytest.mark.parametrize("change", [{"past": (1, 2, 1)}, {"weight": (2, 2, 3)}, {"activation": "relu"}])
def test_causal_conv_checks(change):
    with pytest.raises(NodeError):
        causal_conv_with_state(
            np,
            np.ones((1, 2, 4), np.float32),
            np.ones(change.get("weight", (2, 1, 3)), np.float32),
            None,
            np.ones(change["past"], np.float32) if "past" in change else None,
            activation=change.get("activation", "none"),
        )

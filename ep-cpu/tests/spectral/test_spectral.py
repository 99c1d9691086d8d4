import ml_dtypes
import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.kernels import kernels
from sardonyx_ep_cpu.ops.spectral.dft import dft, stft


def numbers(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


def joined(x):
    return x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1].astype(np.float64)


def transform(x, sign):
    """The defining sum over the last axis."""
    n = x.shape[-1]
    return x @ np.exp(sign * 2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)


@pytest.mark.parametrize("last", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, -2, -3])
def test_dft_along_an_axis(last, axis):
    x = numbers(5, 6, last)
    y = dft(np, x, None, np.array(axis))
    moved = axis % 3 == 0
    want = transform(joined(x).T if moved else joined(x), -1)
    np.testing.assert_allclose(joined(y), want.T if moved else want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("length", [4, 5, 9])
def test_dft_length_cuts_or_pads(length):
    x = numbers(2, 6, 1)
    full = np.pad(x[..., 0], [(0, 0), (0, max(0, length - 6))])[:, :length]
    y = dft(np, x, np.array(length))
    assert y.shape == (2, length, 2)
    np.testing.assert_allclose(joined(y), transform(full, -1), rtol=1e-4, atol=1e-4)
    one = dft(np, x, np.array(length), onesided=1)
    np.testing.assert_allclose(one, y[:, : length // 2 + 1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [6, 7])
def test_inverse(length):
    x = numbers(2, length, 2)
    np.testing.assert_allclose(dft(np, dft(np, x), inverse=1), x, rtol=1e-4, atol=1e-5)
    real = numbers(2, length, 1)
    spectrum = dft(np, real, onesided=1)
    back = dft(np, spectrum, np.array(length), inverse=1, onesided=1)
    assert back.shape == (2, length, 1)
    np.testing.assert_allclose(back, real, rtol=1e-4, atol=1e-5)
    assert dft(np, spectrum, inverse=1, onesided=1).shape == (2, 6, 1)


def test_version_17_has_the_axis_as_an_attribute():
    x = numbers(2, 5, 4, 1)
    kernel = kernels.find("", "DFT", 17).function
    np.testing.assert_array_equal(kernel(np, x), dft(np, x, None, np.array(1)))
    np.testing.assert_array_equal(kernel(np, x, axis=-2), dft(np, x))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16])
def test_dft_dtypes(dtype):
    x = numbers(2, 8, 2, dtype=dtype)
    y = dft(np, x)
    assert y.dtype == dtype
    tolerance = 1e-12 if dtype == np.float64 else 5e-2
    np.testing.assert_allclose(joined(y.astype(np.float64)), transform(joined(x.astype(np.float64)), -1), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "arguments",
    [
        {"axis": np.array(2)},
        {"axis": np.array(-1)},
        {"axis": np.array(-4)},
        {"dft_length": np.array(0)},
        {"onesided": 1},
    ],
)
def test_dft_checks(arguments):
    with pytest.raises(NodeError):
        dft(np, numbers(2, 5, 2), **arguments)
    with pytest.raises(NodeError):
        dft(np, numbers(2, 5, 3))


@pytest.mark.parametrize("onesided", [0, 1])
def test_stft(onesided):
    signal, window = numbers(2, 20, 1), numbers(6)
    y = stft(np, signal, np.array(4), window, onesided=onesided)
    assert y.shape == (2, 4, 4 if onesided else 6, 2)
    for frame in range(4):
        want = transform(signal[:, 4 * frame : 4 * frame + 6, 0].astype(np.float64) * window, -1)
        np.testing.assert_allclose(joined(y[:, frame]), want[:, : y.shape[2]], rtol=1e-4, atol=1e-4)


def test_stft_defaults():
    signal = numbers(1, 9, 1)
    whole = stft(np, signal, np.array(1))
    np.testing.assert_allclose(whole[:, 0], dft(np, signal, onesided=1), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        stft(np, signal, np.array([3]), None, np.array(3)), stft(np, signal, np.array(3), np.ones(3, np.float32)), rtol=1e-6
    )
    complex_signal = numbers(1, 9, 2)
    y = stft(np, complex_signal, np.array(2), None, np.array(4), onesided=0)
    np.testing.assert_allclose(joined(y[:, 1]), transform(joined(complex_signal)[:, 2:6], -1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("signal", "step", "window", "length"),
    [((1, 9, 2), 1, None, None), ((1, 9, 1), 0, None, 3), ((1, 9, 1), 1, None, 10), ((1, 9, 1), 1, 4, 3), ((1, 9), 1, None, 3)],
)
def test_stft_checks(signal, step, window, length):
    with pytest.raises(NodeError):
        stft(
            np,
            numbers(*signal),
            np.array(step),
            None if window is None else numbers(window),
            None if length is None else np.array(length),
        )


COEFFICIENTS = {"HannWindow": (0.5, -0.5, 0), "HammingWindow": (25 / 46, -21 / 46, 0), "BlackmanWindow": (0.42, -0.5, 0.08)}


@pytest.mark.parametrize("op", COEFFICIENTS)
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows(op, periodic):
    a, b, c = COEFFICIENTS[op]
    kernel = kernels.find("", op, 17).function
    y = kernel(np, np.array(10), periodic=periodic)
    phase = 2 * np.pi * np.arange(10) / (10 if periodic else 9)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, a + b * np.cos(phase) + c * np.cos(2 * phase), atol=1e-6)
    assert kernel(np, np.array(0), periodic=periodic).shape == (0,)
    assert kernel(np, np.array(4), output_datatype=11).dtype == np.float64
    assert kernel(np, np.array(4), output_datatype=16).dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(kernel(np, np.array(1), periodic=0), [1], atol=1e-6)
    with pytest.raises(NodeError):
        kernel(np, np.array(-1))


def test_mel_weights_are_triangles():
    kernel = kernels.find("", "MelWeightMatrix", 17).function
    arguments = [np.array(v) for v in (8, 16, 8192)] + [np.array(v, np.float32) for v in (0, 4096)]
    y = kernel(np, *arguments)
    assert (y.shape, y.dtype) == ((9, 8), np.float32)
    # Ten corners equally spaced in mel, the first at the lower edge, cut down to whole bins.
    mel = np.arange(10) * (2595 * np.log10(1 + 4096 / 700) / 10)
    corner = np.floor(17 * 700 * (10 ** (mel / 2595) - 1) / 8192).astype(int)
    want = np.zeros((9, 8))
    for i in range(8):
        left, centre, right = corner[i : i + 3]
        for j in range(9):
            if left < j <= centre:
                want[j, i] = (j - left) / (centre - left)
            elif centre <= j < right:
                want[j, i] = (right - j) / (right - centre)
            elif j == centre:
                want[j, i] = 1
    np.testing.assert_allclose(y, want, atol=1e-6)
    assert kernel(np, *arguments, output_datatype=10).dtype == np.float16

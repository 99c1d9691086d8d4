"""HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix."""

from __future__ import annotations

from math import log, pi
from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import check_size
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.precision import named_dtype

__all__ = ["blackman_window", "hamming_window", "hann_window", "mel_weight_matrix", "ops"]

ops = KernelSet()


@ops.add("HannWindow", since=17, host=(0,))
def hann_window(xp, size, *, output_datatype=1, periodic=1):
    """0.5 - 0.5 cos(2 pi n / N), shape [size]; N is size where `periodic`, else size - 1."""
    return _cosines(xp, size, (0.5, -0.5), periodic, output_datatype)


@ops.add("HammingWindow", since=17, host=(0,))
def hamming_window(xp, size, *, output_datatype=1, periodic=1):
    """25/46 - 21/46 cos(2 pi n / N), shape [size]; N is size where `periodic`, else size - 1."""
    return _cosines(xp, size, (25 / 46, -21 / 46), periodic, output_datatype)


@ops.add("BlackmanWindow", since=17, host=(0,))
def blackman_window(xp, size, *, output_datatype=1, periodic=1):
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N), shape [size]; N is size where `periodic`, else size - 1."""
    return _cosines(xp, size, (0.42, -0.5, 0.08), periodic, output_datatype)


@ops.add("MelWeightMatrix", since=17, host=(0, 1, 2, 3, 4))
def mel_weight_matrix(xp, num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz, *, output_datatype=1):
    """Triangular filters [dft_length // 2 + 1, num_mel_bins] that take a spectrum's bins to the mel scale.

    Their corners are equally spaced on the mel scale and cut down to whole bins; as in onnx's reference the spacing is the
    range divided by num_mel_bins + 2.
    """
    bins, length, rate = (int(v.item()) for v in (num_mel_bins, dft_length, sample_rate))
    if bins < 0 or length < 0 or rate < 1:
        raise NodeError(f"MelWeightMatrix cannot have {bins} bins of a DFT of length {length} at {rate} samples a second")
    check_size((length // 2 + 1, bins + 2), 8)
    low, high = (2595 * np.log1p(float(v.item()) / 700) / log(10) for v in (lower_edge_hertz, upper_edge_hertz))
    hertz = 700 * np.expm1((np.arange(bins + 2) * ((high - low) / (bins + 2)) + low) / 2595 * log(10))
    corner = ((length + 1) * hertz // rate).astype(np.int64)
    left, centre, right = corner[:-2], corner[1:-1], corner[2:]
    j = np.arange(length // 2 + 1)[:, None]
    rising = (j - left) / np.maximum(centre - left, 1)
    falling = (right - j) / np.maximum(right - centre, 1)
    y = np.where((j >= left) & (j < centre), rising, np.where((j > centre) & (j < right), falling, j == centre))
    return xp.asarray(y.astype(named_dtype("output_datatype", output_datatype)))


def _cosines(xp: Any, size: Any, coefficients: tuple[float, ...], periodic: int, output_datatype: int) -> Any:
    n = int(size.item())
    if n < 0:
        raise NodeError(f"a window cannot have size {n}")
    check_size((n,), 8)
    # One point of a symmetric window is its centre; the formula would divide 0 by 0.
    phase = 2 * pi * xp.arange(n) / n if periodic else 2 * pi * xp.arange(n) / (n - 1) if n > 1 else xp.full(n, pi)
    y = sum(c * xp.cos(k * phase) for k, c in enumerate(coefficients))
    return y.astype(named_dtype("output_datatype", output_datatype))

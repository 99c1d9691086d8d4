"""DFT and STFT."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import check_size
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.precision import widen

__all__ = ["dft", "ops", "stft"]

ops = KernelSet()


@ops.add("DFT", since=17, host=(1,))
def dft_17(xp, input, dft_length=None, *, axis=1, inverse=0, onesided=0):
    """DFT with the axis as an attribute."""
    return _dft(xp, input, dft_length, axis, inverse, onesided)


@ops.add("DFT", since=20, host=(1, 2))
def dft(xp, input, dft_length=None, axis=None, *, inverse=0, onesided=0):
    """Fourier transform of input [..., 1] (real) or [..., 2] (complex) along `axis`, cut or padded to dft_length.

    -> [..., 2], with `onesided` only the dft_length // 2 + 1 first bins of a real input; inverse and onesided: the real
    signal [..., 1] of such bins. float16 and bfloat16 are computed in float32.
    """
    return _dft(xp, input, dft_length, -2 if axis is None else _scalar("axis", axis), inverse, onesided)


@ops.add("STFT", since=17, host=(1, 3))
def stft(xp, signal, frame_step, window=None, frame_length=None, *, onesided=1):
    """Fourier transforms of windowed frames of signal [N, L, 1] or [N, L, 2] -> [N, frames, bins, 2]."""
    if signal.ndim != 3 or signal.shape[2] not in (1, 2):
        raise NodeError(f"STFT takes a signal [N, L, 1] or [N, L, 2], got shape {signal.shape}")
    step = _scalar("frame_step", frame_step)
    if frame_length is not None:
        length = _scalar("frame_length", frame_length)
    else:
        length = signal.shape[1] if window is None else window.shape[0]
    if step < 1 or not 1 <= length <= signal.shape[1] or (window is not None and window.shape != (length,)):
        shape = None if window is None else window.shape
        raise NodeError(f"STFT cannot take frames of {length} every {step} with a window of shape {shape} from signal {signal.shape}")
    if onesided and signal.shape[2] == 2:
        raise NodeError("STFT of a complex signal has no one-sided result: set onesided to 0")
    frames = xp.lib.stride_tricks.sliding_window_view(_complex(widen(signal)), length, axis=1)[:, ::step]
    if window is not None:
        frames = frames * widen(window)
    y = xp.fft.rfft(frames) if onesided else xp.fft.fft(frames)
    return _pairs(xp, y).astype(signal.dtype, copy=False)


def _scalar(name: str, value: Any) -> int:
    if value.size != 1:
        raise NodeError(f"{name} must be a scalar, got shape {value.shape}")
    return int(value.reshape(-1)[0])


def _complex(x: Any) -> Any:
    """[..., 1] as real [...], [..., 2] as complex [...]."""
    return x[..., 0] if x.shape[-1] == 1 else x[..., 0] + 1j * x[..., 1]


def _pairs(xp: Any, y: Any) -> Any:
    """Complex [...] as [..., 2]."""
    return xp.ascontiguousarray(y)[..., None].view(y.real.dtype)


def _dft(xp: Any, x: Any, dft_length: Any, axis: int, inverse: int, onesided: int) -> Any:
    if x.ndim < 2 or x.shape[-1] not in (1, 2):
        raise NodeError(f"DFT takes [..., 1] or [..., 2], got shape {x.shape}")
    if not (-x.ndim <= axis <= -2 or 0 <= axis <= x.ndim - 2):
        raise NodeError(f"axis {axis} of DFT is outside the signal axes of an input of shape {x.shape}")
    axis %= x.ndim
    signal = _complex(widen(x))
    if dft_length is not None:
        length = _scalar("dft_length", dft_length)
    else:
        length = 2 * (signal.shape[axis] - 1) if inverse and onesided else signal.shape[axis]
    if length < 1:
        raise NodeError(f"DFT of length {length}: dft_length must be at least 1")
    check_size((*signal.shape[:axis], length, *signal.shape[axis + 1 :]), 2 * signal.itemsize)
    if onesided and not inverse and x.shape[-1] == 2:
        raise NodeError("DFT of a complex input has no one-sided result: set onesided to 0")
    if onesided and inverse:
        return xp.fft.irfft(signal, length, axis)[..., None].astype(x.dtype, copy=False)
    transform = xp.fft.ifft if inverse else xp.fft.rfft if onesided else xp.fft.fft
    return _pairs(xp, transform(signal, length, axis)).astype(x.dtype, copy=False)

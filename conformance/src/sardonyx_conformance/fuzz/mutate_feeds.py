"""Feeds that do not fit, values at the edges, and the same values in unusual arrays."""

from __future__ import annotations

import random
from typing import Any

import ml_dtypes
import numpy as np

from sardonyx_conformance.fuzz.mutate_graph import ABSURD

__all__ = ["LAYOUTS", "mutate_feeds"]

DTYPES = (np.float32, np.float64, np.float16, np.int8, np.uint8, np.int32, np.int64, np.uint64, np.bool_, np.complex64, ml_dtypes.bfloat16)


def mutate_feeds(feeds: dict[str, Any], rng: random.Random) -> tuple[dict[str, Any], str, bool]:
    """Changed feeds, what was done, and whether they still mean the same."""
    out = dict(feeds)
    arrays = [k for k, v in out.items() if isinstance(v, np.ndarray)]
    if not arrays:
        return out, "nothing", True
    name = rng.choice(arrays)
    if rng.random() < 0.35:
        layout = rng.choice(LAYOUTS)
        out[name] = layout(out[name])
        return out, f"{layout.__name__} {name}", True
    change = rng.choice(CHANGES)
    change(out, name, rng)
    return out, f"{change.__name__.strip('_')} {name}", False


def strided(x: np.ndarray) -> np.ndarray:
    """Every second element of a larger array, backwards in its last dimension."""
    wide = np.zeros((*x.shape[:-1], x.shape[-1] * 2), x.dtype) if x.ndim else np.zeros((), x.dtype)
    if x.ndim == 0:
        return x
    view = wide[..., ::-2]
    view[...] = x
    return view


def fortran(x: np.ndarray) -> np.ndarray:
    """In column-major order."""
    return np.asfortranarray(x)


def read_only(x: np.ndarray) -> np.ndarray:
    """Not to be written."""
    y = x.copy()
    y.flags.writeable = False
    return y


def byte_swapped(x: np.ndarray) -> np.ndarray:
    """In the other byte order."""
    return x.astype(x.dtype.newbyteorder("S")) if x.dtype.kind in "fiuc" and x.dtype.isbuiltin == 1 else x


def unaligned(x: np.ndarray) -> np.ndarray:
    """At an odd address."""
    if x.dtype.hasobject or not x.size:
        return x
    y = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    y[...] = x
    return y


def subclass(x: np.ndarray) -> np.ndarray:
    """An array of a class of its own."""
    return np.ma.masked_array(x) if x.dtype.kind in "fiub" else x


def listed(x: np.ndarray) -> Any:
    """Nested lists, where these keep the dtype."""
    return x.tolist() if x.size and x.dtype in (np.float64, np.int64, np.bool_, np.float32) else x


LAYOUTS = (strided, fortran, read_only, byte_swapped, unaligned, subclass, listed)


def _dtype(feeds: dict[str, Any], name: str, rng: random.Random) -> None:
    x = feeds[name]
    feeds[name] = np.zeros(x.shape, rng.choice(DTYPES)) if x.dtype.hasobject else np.zeros(x.shape, x.dtype).astype(rng.choice(DTYPES))


def _rank(feeds: dict[str, Any], name: str, rng: random.Random) -> None:
    x = feeds[name]
    feeds[name] = rng.choice((x[None], x.reshape(-1), x.reshape(-1)[:1].reshape(()) if x.size else x, x[(None,) * 40]))


def _size(feeds: dict[str, Any], name: str, rng: random.Random) -> None:
    x = feeds[name]
    if x.ndim:
        axis = rng.randrange(x.ndim)
        feeds[name] = rng.choice(
            (np.concatenate([x, x], axis), np.take(x, [], axis), np.repeat(x, 3, axis), np.take(x, range(x.shape[axis] - 1), axis))
        )


def _missing(feeds: dict[str, Any], name: str, rng: random.Random) -> None:
    del feeds[name]


def _extra(feeds: dict[str, Any], name: str, rng: random.Random) -> None:
    feeds[rng.choice((name + "_", "", "y"))] = feeds[name]


def _values(feeds: dict[str, Any], name: str, rng: random.Random) -> None:
    x = feeds[name] = feeds[name].copy()
    if not x.size:
        return
    at = np.unravel_index(rng.randrange(x.size), x.shape)
    with np.errstate(all="ignore"):
        if x.dtype.kind in "iu":
            limits = np.iinfo(x.dtype)
            x[at] = min(max(rng.choice(ABSURD), limits.min), limits.max)
        elif x.dtype.kind in "fc":
            x[at] = rng.choice((np.nan, np.inf, -np.inf, 1e30, -1e30, 1e-40, 0.0))
        elif x.dtype.hasobject:
            x[at] = rng.choice(("", "\0", "é" * 1000, "\udcff", "a" * 30 + "!"))
        elif x.dtype.kind == "b":
            x[at] = not x[at]


def _all_values(feeds: dict[str, Any], name: str, rng: random.Random) -> None:
    x = feeds[name]
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        feeds[name] = np.full_like(x, min(max(rng.choice(ABSURD), limits.min), limits.max))
    elif x.dtype.kind == "f":
        feeds[name] = np.full_like(x, rng.choice((0.0, np.nan, np.inf, -np.inf)))


def _odd(feeds: dict[str, Any], name: str, rng: random.Random) -> None:
    x = feeds[name]
    odd: tuple[Any, ...] = (
        None,
        "text",
        b"bytes",
        3,
        2.5,
        2**70,
        {},
        [],
        [[1], [1, 2]],
        object(),
        np.datetime64("2020-01-01"),
        range(3),
        float("nan"),
    )
    more = (np.array([object()]), np.array([1, None], object), np.zeros(2, [("a", "f4")]), np.array(["a"]), np.array([b"\xff"]), {name: x})
    feeds[name] = rng.choice((*odd, *more))


CHANGES = (_dtype, _rank, _size, _missing, _extra, *(_values,) * 4, *(_all_values,) * 2, _odd, _odd)

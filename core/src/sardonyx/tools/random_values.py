"""Random values for inputs that nobody gave."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sardonyx.errors import InvalidInput
from sardonyx.ir.dtypes import STRING, from_name, is_float
from sardonyx.runtime import arguments
from sardonyx.runtime.session import NodeArg

__all__ = ["given_feeds", "random_feeds", "random_value"]

MAX_BYTES = 1 << 33


def random_value(arg: NodeArg, shape: Sequence[int], rng: np.random.Generator, max_int: int) -> Any:
    """A tensor of the input's type: standard normal floats, integers from 0 to below `max_int`, words for strings.

    Inputs whose name contains `mask` get ones. Raises InvalidInput for types other than tensors and for absurd sizes.
    """
    if not arg.type.startswith("tensor("):
        raise InvalidInput(f"input {arg.name!r} is {arg.type}, for which no random value can be made: give --input {arg.name}=FILE.pb")
    dtype = from_name(arg.type[7:-1])
    size = math.prod(shape)
    if size * dtype.itemsize > MAX_BYTES:
        raise InvalidInput(f"input {arg.name!r} would be {size * dtype.itemsize / 1e9:.0f} GB: choose smaller --dims")
    if dtype == STRING:
        words = np.array(["sardonyx", "onyx", "agate", "opal", ""], STRING)
        return words[rng.integers(0, len(words), shape)] if shape else np.array("sardonyx", STRING)
    if "mask" in arg.name.lower():
        return np.ones(shape, dtype)
    if dtype == np.bool_:
        return np.asarray(rng.random(shape) < 0.5)
    if dtype.kind in "iu":
        return np.asarray(rng.integers(0, min(max_int, np.iinfo(dtype).max), shape)).astype(dtype)
    if dtype.kind == "c":
        return np.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if is_float(dtype):
        return np.asarray(rng.standard_normal(shape, np.float32)).astype(dtype)
    return np.asarray(rng.integers(0, 2, shape)).astype(dtype)


def given_feeds(feeds: Any) -> dict[str, Any]:
    """A caller's feeds as a dict of its own; InvalidType for what is none."""
    return dict(arguments.instance("feeds", feeds, Mapping, "a dict of input name -> array"))


def random_feeds(session: Any, *, seed: int = 0, max_int: int = 2) -> dict[str, Any]:
    """A random value for every input of a session that must be fed; free dimensions are 1."""
    rng = np.random.default_rng(seed)
    shapes = {a.name: [d if isinstance(d, int) else 1 for d in a.shape] for a in session.get_inputs()}
    return {a.name: random_value(a, shapes[a.name], rng, max_int) for a in session.get_inputs() if not a.type.startswith("optional(")}

"""Optionals: a value is itself, an empty optional is None."""

from __future__ import annotations

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError

__all__ = ["ops"]

ops = KernelSet()


@ops.add("Optional", since=15)
def optional(xp, input=None, *, type=None):
    """An optional that holds `input`, or an empty one of the given type."""
    return input


@ops.add("OptionalGetElement", since=15)
def optional_get_element(xp, input):
    """The element of `input`; NodeError if it is empty."""
    if input is None:
        raise NodeError("OptionalGetElement got an empty optional: guard it with OptionalHasElement")
    return input


@ops.add("OptionalHasElement", since=15, host_outputs=(0,))
def optional_has_element(xp, input=None):
    """Whether there is an element, a bool scalar."""
    return np.array(input is not None)

"""StringNormalizer, StringSplit, StringConcat and RegexFullMatch. Strings are object arrays of str."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.strings.re2 import compile_re2

__all__ = ["ops"]

ops = KernelSet()


def _strings(values, shape):
    result = np.empty(len(values), object)
    result[:] = values
    return result.reshape(shape)


_CASES: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


@ops.add("StringNormalizer", since=10)
def string_normalizer(xp, X, *, case_change_action="NONE", is_case_sensitive=0, locale=None, stopwords=None):
    """X ([C] or [1, C]) without stop words, in the wanted case; one empty string if nothing is left.

    Case follows Unicode's default mapping, whatever the `locale`.
    """
    if X.ndim not in (1, 2) or (X.ndim == 2 and X.shape[0] != 1):
        raise NodeError(f"StringNormalizer takes shape [C] or [1, C], not {X.shape}")
    if case_change_action not in _CASES:
        raise NodeError(f"case_change_action {case_change_action!r} is not one of {', '.join(_CASES)}")
    words = X.reshape(-1).tolist()
    if stopwords:
        key = _CASES["NONE" if is_case_sensitive else "LOWER"]
        stop = {key(word) for word in stopwords}
        words = [word for word in words if key(word) not in stop]
    words = [_CASES[case_change_action](word) for word in words] or [""]
    return _strings(words, (len(words),) if X.ndim == 1 else (1, len(words)))


@ops.add("StringSplit", since=20)
def string_split(xp, X, *, delimiter=None, maxsplit=None):
    """(pieces [..., most pieces], padded with empty strings; number of pieces, int64, the shape of X).

    Without `delimiter` (or with "") the strings are split at runs of white space.
    """
    limit = -1 if maxsplit is None else maxsplit
    pieces = [text.split(delimiter or None, limit) for text in X.reshape(-1).tolist()]
    counts = np.array([len(p) for p in pieces], np.int64)
    width = int(counts.max()) if pieces else 0
    padded = [part for p in pieces for part in (*p, *[""] * (width - len(p)))]
    return _strings(padded, (*X.shape, width)), counts.reshape(X.shape)


@ops.add("StringConcat", since=20)
def string_concat(xp, X, Y):
    """X followed by Y, broadcast."""
    return np.asarray(X + Y, object)


@ops.add("RegexFullMatch", since=20, prepare=lambda xp, inputs, attrs: compile_re2(attrs.get("pattern") or ""))
def regex_full_match(xp, X, *, pattern=None, prepared=None):
    """Whether the whole of each string matches the RE2 `pattern` (see compile_re2 for what is not supported)."""
    match = (prepared or compile_re2(pattern or "")).fullmatch
    return np.array([match(text) is not None for text in X.reshape(-1).tolist()], np.bool_).reshape(X.shape)

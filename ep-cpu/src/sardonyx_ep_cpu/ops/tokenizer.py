"""Strings to tokens: com.microsoft Tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.ops.strings.re2 import Pattern, compile_re2

ops = KernelSet("com.microsoft")

_START, _END = "\x02", "\x03"


def _split(pieces: list[str], separators: list[Pattern]) -> list[str]:
    """Split at each separator in turn, so that an earlier one takes precedence over a later one it overlaps."""
    for separator in separators:
        following = []
        for piece in pieces:
            end = 0
            for match in separator.finditer(piece):
                if match.end() > match.start():
                    following.append(piece[end : match.start()])
                    end = match.end()
            following.append(piece[end:])
        pieces = following
    return pieces


def _prepare_tokenizer(xp: Any, inputs: list, attrs: dict[str, Any]) -> Callable[[str], list[str]]:
    """The function from a string to its tokens."""
    separators, expression = attrs.get("separators") or [], attrs.get("tokenexp")
    if bool(separators) == bool(expression):
        raise InvalidInput("Tokenizer needs exactly one of separators and tokenexp")
    if expression:
        pattern = compile_re2(expression)
        return lambda text: [match[0] for match in pattern.finditer(text)]
    if separators == [""]:
        return list
    if "" in separators:
        raise InvalidInput("Tokenizer: an empty separator, which stands for splitting into characters, must be the only one")
    patterns = [compile_re2(separator) for separator in separators]
    return lambda text: _split([text], patterns)


@ops.add("Tokenizer", since=1, prepare=_prepare_tokenizer)
def tokenizer(xp, x, *, mark, mincharnum, pad_value, separators=None, tokenexp=None, prepared: Callable[[str], list[str]]) -> np.ndarray:
    """Strings x [C] or [N, C] -> their tokens [..., D]: the matches of the RE2 pattern `tokenexp`, or what `separators` leave between them.

    Tokens of fewer than `mincharnum` characters are dropped. With `mark` every string's tokens stand between \\x02 and
    \\x03. D is the largest number of tokens; shorter lists end in `pad_value`. No token at all gives D = 0.
    """
    least = max(mincharnum, 1)
    rows = [[token for token in prepared(text) if len(token) >= least] for text in x.ravel().tolist()]
    longest = max(map(len, rows), default=0)
    if mark and longest:
        rows = [[_START, *row, _END] for row in rows]
        longest += 2
    out = np.full((len(rows), longest), pad_value, object)
    for target, row in zip(out, rows, strict=True):
        if longest:
            target[: len(row)] = row
    return out.reshape(*x.shape, longest)

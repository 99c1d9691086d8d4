"""TfIdfVectorizer: counts of n-grams, with skips, by a trie over token numbers walked for all positions at once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.ep.shapes import check_size
from sardonyx.errors import InvalidModel, NodeError

__all__ = ["ops"]

ops = KernelSet()


@dataclass
class _Pool:
    """The n-grams to be counted, as a trie.

    `tokens` numbers the tokens (a sorted array for integers, a dict for strings). `keys[n]` holds, sorted, parent * token count +
    token of the nodes at depth n + 1, and `gram[n]` the number of the n-gram that ends at each node, or -1.
    """

    tokens: np.ndarray | dict[str, int]
    keys: list[np.ndarray] = field(default_factory=list)
    gram: list[np.ndarray] = field(default_factory=list)
    coordinates: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    weights: np.ndarray | None = None

    def number(self, x: np.ndarray) -> np.ndarray:
        """Token numbers of `x`, -1 for tokens that are in no n-gram."""
        if isinstance(self.tokens, dict):
            get = self.tokens.get
            return np.array([get(token, -1) for token in x.reshape(-1).tolist()], np.int64).reshape(x.shape)
        return _find(self.tokens, x)


def _find(keys: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Places of `x` in the sorted array `keys`, -1 where it is not there."""
    if not keys.size:
        return np.full(x.shape, -1, np.int64)
    place = np.minimum(np.searchsorted(keys, x), keys.size - 1)
    return np.where(keys[place] == x, place, -1)


def _prepare(xp, inputs, attrs):
    integers, strings = attrs.get("pool_int64s"), attrs.get("pool_strings")
    if bool(integers) == bool(strings):
        raise InvalidModel("TfIdfVectorizer needs either pool_int64s or pool_strings")
    starts, coordinates = list(attrs["ngram_counts"]), np.array(attrs["ngram_indexes"], np.int64)
    items = integers or strings
    tokens: np.ndarray | dict[str, int]
    if strings:
        tokens = {token: i for i, token in enumerate(dict.fromkeys(strings))}
        numbers = np.array([tokens[token] for token in strings], np.int64)
    else:
        tokens, numbers = np.unique(np.array(integers, np.int64), return_inverse=True)
    pool = _Pool(tokens, coordinates=coordinates)
    if attrs.get("weights"):
        pool.weights = np.array(attrs["weights"], np.float32)
    # Every n-gram's token numbers by length, and how many shorter n-grams come before.
    grams, before = [], 0
    for n, (start, end) in enumerate(zip(starts, [*starts[1:], len(items)], strict=True), 1):
        if not 0 <= start <= end <= len(items) or (end - start) % n:
            raise InvalidModel(f"ngram_counts {starts} does not cut a pool of {len(items)} items into n-grams")
        rows = numbers[start:end].reshape(-1, n)
        grams.append((rows, before))
        before += len(rows)
    if before != len(coordinates) or (pool.weights is not None and len(pool.weights) != before) or (before and coordinates.min() < 0):
        raise InvalidModel(f"ngram_indexes and weights must hold one (non-negative) value for each of the {before} n-grams")
    states = [np.zeros(len(rows), np.int64) for rows, _ in grams]
    for depth in range(len(grams)):
        keys = [state * len(tokens) + rows[:, depth] for state, (rows, _) in zip(states[depth:], grams[depth:], strict=True)]
        level = np.unique(np.concatenate(keys))
        states[depth:] = [_find(level, key) for key in keys]
        gram = np.full(len(level), -1, np.int64)
        rows, before = grams[depth]
        gram[states[depth]] = before + np.arange(len(rows))
        pool.keys.append(level)
        pool.gram.append(gram)
    return pool


def _count(pool, numbers, min_length, max_length, max_skip):
    """How often each n-gram occurs in each row of `numbers` [rows, tokens]."""
    rows, length = numbers.shape
    count = len(pool.coordinates)
    total = np.zeros(rows * count, np.int64)
    base = np.arange(rows)[:, None] * count
    # Tokens further apart than the row is long do not exist.
    for distance in range(1, min(max_skip + 1, max(1, length - 1)) + 1):
        state = np.zeros((rows, length), np.int64)
        for depth in range(min(max_length, len(pool.keys))):
            width = length - depth * distance
            if width <= 0:
                break
            token = numbers[:, depth * distance :]
            known = (state[:, :width] >= 0) & (token >= 0)
            key = np.where(known, state[:, :width] * len(pool.tokens) + token, -1)
            state = _find(pool.keys[depth], key)
            # A single token has no distance: it is counted once.
            if depth + 1 >= min_length and (depth or distance == 1):
                gram = np.where(state >= 0, pool.gram[depth][state], -1)
                total += np.bincount((base + gram)[gram >= 0], minlength=total.size)
    return total.reshape(rows, count)


@ops.add("TfIdfVectorizer", since=9, prepare=_prepare)
def tf_idf_vectorizer(
    xp,
    X,
    *,
    max_gram_length,
    max_skip_count,
    min_gram_length,
    mode,
    ngram_counts,
    ngram_indexes,
    pool_int64s=None,
    pool_strings=None,
    weights=None,
    prepared=None,
):
    """float32 [..., max(ngram_indexes) + 1] for X [C] or [N, C]: counts (TF), weights of what occurs (IDF), or weighted counts (TFIDF).

    weights[i] belongs to the i-th n-gram of the pool, whose place in the output is ngram_indexes[i].
    """
    if mode not in ("TF", "IDF", "TFIDF"):
        raise NodeError(f"mode {mode!r} is not one of TF, IDF, TFIDF")
    if X.ndim not in (1, 2):
        raise NodeError(f"TfIdfVectorizer takes shape [C] or [N, C], not {X.shape}")
    pool = prepared
    if pool is None:
        attrs = {"ngram_counts": ngram_counts, "ngram_indexes": ngram_indexes, "weights": weights}
        pool = _prepare(xp, [], attrs | {"pool_int64s": pool_int64s, "pool_strings": pool_strings})
    counts = _count(pool, pool.number(X if X.ndim == 2 else X[None]), min_gram_length, max_gram_length, max_skip_count)
    if mode == "IDF":
        counts = counts > 0
    values = counts.astype(np.float32)
    if mode != "TF" and pool.weights is not None:
        values *= pool.weights
    size = int(pool.coordinates.max()) + 1 if pool.coordinates.size else 0
    check_size((len(values), size), 4)
    output = np.zeros((len(values), size), np.float32)
    np.add.at(output.T, pool.coordinates, values.T)
    return output if X.ndim == 2 else output[0]

from itertools import pairwise

import numpy as np
import pytest

from sardonyx.errors import InvalidModel
from sardonyx_ep_cpu.ops.strings.tfidf import tf_idf_vectorizer

BASE = {
    "mode": "TF",
    "min_gram_length": 1,
    "max_gram_length": 2,
    "max_skip_count": 0,
    "ngram_counts": [0, 4],
    "ngram_indexes": [0, 1, 2, 3, 4, 5, 6],
    "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 6, 7],
}
TEXT = np.array([1, 1, 3, 3, 3, 7, 8, 6, 7, 5, 6, 8])


def by_scanning(x, arguments):
    """Counts of every n-gram of the pool, by looking at every start and distance."""
    pool = arguments.get("pool_int64s") or arguments["pool_strings"]
    starts = [*arguments["ngram_counts"], len(pool)]
    grams = [tuple(pool[i : i + n]) for n, (a, b) in enumerate(pairwise(starts), 1) for i in range(a, b, n)]
    counts = np.zeros(len(grams))
    for i, gram in enumerate(grams):
        n = len(gram)
        if arguments["min_gram_length"] <= n <= arguments["max_gram_length"]:
            for distance in range(1, 2 if n == 1 else arguments["max_skip_count"] + 2):
                for start in range(len(x) - (n - 1) * distance):
                    counts[i] += tuple(x[start : start + n * distance : distance][:n]) == gram
    return counts


@pytest.mark.parametrize("skips", [0, 1, 5, 50])
@pytest.mark.parametrize(("low", "high"), [(1, 1), (1, 2), (2, 2), (1, 3)])
def test_counts(skips, low, high):
    arguments = BASE | {"max_skip_count": skips, "min_gram_length": low, "max_gram_length": high}
    np.testing.assert_array_equal(tf_idf_vectorizer(np, TEXT, **arguments), by_scanning(TEXT.tolist(), arguments))
    rows = TEXT.reshape(2, 6).astype(np.int32)
    got = tf_idf_vectorizer(np, rows, **arguments)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, [by_scanning(row.tolist(), arguments) for row in rows])


def test_strings_and_trigrams():
    arguments = BASE | {
        "pool_int64s": None,
        "pool_strings": ["a", "b", "a", "b", "a", "b", "a"],
        "ngram_counts": [0, 2, 4],
        "ngram_indexes": [3, 0, 1, 2],
        "max_gram_length": 3,
    }
    words = np.array(["a", "b", "a", "b", "z"], object)
    expected = np.zeros(4)
    expected[[3, 0, 1, 2]] = by_scanning(words.tolist(), arguments)
    assert expected.tolist() == [2, 2, 1, 2]
    np.testing.assert_array_equal(tf_idf_vectorizer(np, words, **arguments), expected)


def test_weights_belong_to_the_ngrams_of_the_pool():
    arguments = BASE | {"ngram_counts": [0], "ngram_indexes": [2, 0], "pool_int64s": [3, 7], "weights": [0.5, 10.0], "max_gram_length": 1}
    assert tf_idf_vectorizer(np, TEXT, **arguments | {"mode": "TFIDF"}).tolist() == [20, 0, 1.5]
    assert tf_idf_vectorizer(np, TEXT, **arguments | {"mode": "IDF"}).tolist() == [10, 0, 0.5]
    assert tf_idf_vectorizer(np, TEXT, **arguments).tolist() == [2, 0, 3]


def test_empty_input():
    assert tf_idf_vectorizer(np, TEXT[:0], **BASE).tolist() == [0] * 7
    assert tf_idf_vectorizer(np, np.zeros((0, 3), np.int64), **BASE).shape == (0, 7)


@pytest.mark.parametrize("change", [{"ngram_counts": [0, 3]}, {"pool_int64s": None}, {"ngram_indexes": [0]}, {"weights": [1.0]}])
def test_a_pool_that_does_not_fit_is_an_invalid_model(change):
    with pytest.raises(InvalidModel):
        tf_idf_vectorizer(np, TEXT, **BASE | change)

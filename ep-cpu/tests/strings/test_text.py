import numpy as np
import pytest

from sardonyx.errors import NodeError
from sardonyx_ep_cpu.ops.strings.text import regex_full_match, string_concat, string_normalizer, string_split


def strings(*values):
    return np.array(values, object)


def test_normalizer():
    days = strings("Monday", "tuesday", "MONDAY")
    assert string_normalizer(np, days, stopwords=["monday"]).tolist() == ["tuesday"]
    assert string_normalizer(np, days, stopwords=["Monday"], is_case_sensitive=1, case_change_action="UPPER").tolist() == [
        "TUESDAY",
        "MONDAY",
    ]
    assert string_normalizer(np, days[None], case_change_action="LOWER").tolist() == [["monday", "tuesday", "monday"]]
    assert string_normalizer(np, strings("a"), stopwords=["a"]).tolist() == [""]
    assert string_normalizer(np, strings("a")[None], stopwords=["a"]).tolist() == [[""]]
    with pytest.raises(NodeError):
        string_normalizer(np, np.full((2, 2), "a", object))


@pytest.mark.parametrize(
    ("arguments", "texts", "pieces", "counts"),
    [
        ({"delimiter": "."}, ["a.com", "b..com", "", "."], [["a", "com", ""], ["b", "", "com"], ["", "", ""], ["", "", ""]], [2, 3, 1, 2]),
        ({}, ["  a b ", "c", ""], [["a", "b"], ["c", ""], ["", ""]], [2, 1, 0]),
        ({"delimiter": "", "maxsplit": 1}, ["a b c"], [["a", "b c"]], [2]),
        ({"delimiter": "-", "maxsplit": 2}, ["a-b-c-d", "x"], [["a", "b", "c-d"], ["x", "", ""]], [3, 1]),
    ],
)
def test_split(arguments, texts, pieces, counts):
    got, number = string_split(np, strings(*texts), **arguments)
    assert (got.tolist(), number.tolist(), number.dtype) == (pieces, counts, np.int64)


def test_split_shapes():
    got, number = string_split(np, np.full((2, 1), "a b", object))
    assert (got.shape, number.shape) == ((2, 1, 2), (2, 1))
    assert string_split(np, np.array("a b", object))[0].tolist() == ["a", "b"]
    assert string_split(np, np.zeros((0, 3), object))[0].shape == (0, 3, 0)


def test_concat_broadcasts():
    got = string_concat(np, strings("a", "b")[:, None], strings("x", "y"))
    assert got.tolist() == [["ax", "ay"], ["bx", "by"]]
    got = string_concat(np, np.array("a", object), np.array("b", object))
    assert (got.shape, got.dtype, got.tolist()) == ((), object, "ab")


def test_regex_full_match():
    got = regex_full_match(np, strings("www.google.com", "wwwgoogle.com", "x")[None], pattern=r"www\.[\w.-]+\.\bcom\b")
    assert (got.dtype, got.tolist()) == (np.bool_, [[True, False, False]])
    assert regex_full_match(np, np.array("", object)).tolist() is True

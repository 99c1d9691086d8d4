import numpy as np
import pytest

from sardonyx.errors import InvalidInput


@pytest.mark.parametrize(
    ("cast_to", "entries", "dense", "sparse"),
    [
        ("TO_FLOAT", {3: 1.5, 1: 2.25}, np.array([[2.25, 1.5]], np.float32), np.array([[0, 2.25, 0, 1.5, 0]], np.float32)),
        ("TO_FLOAT", {3: "1.5", 1: "2"}, np.array([[2, 1.5]], np.float32), np.array([[0, 2, 0, 1.5, 0]], np.float32)),
        ("TO_INT64", {3: -1.7, 1: 2.2}, np.array([[2, -1]]), np.array([[0, 2, 0, -1, 0]])),
        ("TO_STRING", {3: "x", 1: 2.25}, np.array([["2.250000", "x"]], object), np.array([["0.f", "2.250000", "0.f", "x", "0.f"]], object)),
    ],
)
def test_cast_map(run, cast_to, entries, dense, sparse):
    for form, wanted in (("DENSE", dense), ("SPARSE", sparse)):
        got = run("CastMap", entries, cast_to=cast_to, map_form=form, max_map=5)
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("key", [-1, 5])
def test_cast_map_refuses_keys_outside(run, key):
    with pytest.raises(InvalidInput, match=f"key {key} lies outside"):
        run("CastMap", {key: 1.0}, map_form="SPARSE", max_map=5)


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        ({"a": 4.0, "c": 8.0, "unknown": 1.0}, np.array([[4, 8, 0, 0]], np.float32)),
        ({"a": 4, "b": 8}, np.array([[4, 0, 8, 0]])),
        ({"z": np.float64(2)}, np.array([[0, 0, 0, 2]], np.float64)),
        ({"c": "x"}, np.array([["", "x", "", ""]], object)),
        ({}, np.zeros((1, 4), np.float32)),
        ([{"a": 1.0}, {"z": 2.0}], np.array([[1, 0, 0, 0], [0, 0, 0, 2]], np.float32)),
    ],
)
def test_dict_vectorizer(run, entries, wanted):
    got = run("DictVectorizer", entries, string_vocabulary=["a", "c", "b", "z"])
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got, wanted)


def test_dict_vectorizer_integer_keys(run):
    np.testing.assert_array_equal(run("DictVectorizer", {5: 1.5}, int64_vocabulary=[7, 5]), np.array([[0, 1.5]], np.float32))
    with pytest.raises(InvalidInput, match="exactly one"):
        run("DictVectorizer", {5: 1.5})


def test_zip_map(run):
    x = np.array([[0.25, 0.75], [1, 0]], np.float32)
    assert run("ZipMap", x, classlabels_strings=["a", "b"]) == [{"a": 0.25, "b": 0.75}, {"a": 1.0, "b": 0.0}]
    got = run("ZipMap", x[0], classlabels_int64s=[7, 3])
    assert got == [{7: 0.25, 3: 0.75}]
    assert type(next(iter(got[0]))) is int
    with pytest.raises(InvalidInput, match="3 labels"):
        run("ZipMap", x, classlabels_int64s=[1, 2, 3])

import numpy as np
import pytest

from sardonyx.errors import InvalidInput

NAN = float("nan")


def strings(*values):
    return np.array(values, dtype=object)


def same(got, wanted):
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    np.testing.assert_array_equal(got, wanted)


def test_category_mapper_both_ways(run):
    cats = {"cats_int64s": [10, 20, 30], "cats_strings": ["a", "b", "c"]}
    same(run("CategoryMapper", strings("b", "?", "a").reshape(3, 1), **cats, default_int64=-5), np.array([[20], [-5], [10]]))
    same(run("CategoryMapper", np.array([[30, 7]]), **cats), strings("c", "_Unused").reshape(1, 2))
    with pytest.raises(InvalidInput, match="cats_int64s 2, cats_strings 1"):
        run("CategoryMapper", np.array([1]), cats_int64s=[1, 2], cats_strings=["a"])


def test_label_encoder_1_indexes_the_list(run):
    same(run("LabelEncoder", strings("b", "x"), classes_strings=["a", "b"]), np.array([1, -1]))
    same(run("LabelEncoder", np.array([1, 0, 2, -1]), classes_strings=["a", "b"], default_string="?"), strings("b", "a", "?", "?"))


@pytest.mark.parametrize("since", [2, 4])
def test_label_encoder_finds_nan_and_zero(run, since):
    x = np.array([NAN, -NAN, 0.0, -0.0, 5.0, np.inf], np.float32)
    got = run("LabelEncoder", x, since=since, keys_floats=[NAN, 0.0, np.inf], values_int64s=[10, 20, 30])
    same(got, np.array([10, 10, 20, 20, -1, 30]))


@pytest.mark.parametrize("since", [2, 4])
def test_label_encoder_last_of_equal_keys_counts(run, since):
    same(run("LabelEncoder", np.array([1, 2]), since=since, keys_int64s=[1, 2, 1], values_int64s=[10, 20, 30]), np.array([30, 20]))
    got = run("LabelEncoder", strings("a"), since=since, keys_strings=["a", "a"], values_floats=[1.0, 2.0])
    same(got, np.array([2.0], np.float32))


def test_label_encoder_defaults_by_type_of_values(run):
    x = np.array([[1, 9]])
    same(run("LabelEncoder", x, since=2, keys_int64s=[1], values_strings=["one"]), strings("one", "_Unused").reshape(1, 2))
    got = run("LabelEncoder", x, since=2, keys_int64s=[1], values_floats=[1.5])
    same(got, np.array([[1.5, -0.0]], np.float32))
    assert np.signbit(got[0, 1])


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64, np.float32, np.float64])
def test_label_encoder_tensors(run, dtype):
    keys, values = np.array([3, 1, 2], dtype), np.array([30, 10, 20], dtype)
    x = np.array([[1, 2], [3, 4]], dtype)
    wanted = np.array([[10, 20], [30, -1]], dtype) if dtype().dtype.kind == "i" else np.array([[10, 20], [30, 0]], dtype)
    same(run("LabelEncoder", x, since=4, keys_tensor=keys, values_tensor=values), wanted)
    got = run("LabelEncoder", x, since=4, keys_tensor=keys, values_tensor=values, default_tensor=np.array([42], dtype))
    same(got, np.array([[10, 20], [30, 42]], dtype))


def test_label_encoder_scalar_empty_and_string_tensor(run):
    same(run("LabelEncoder", np.array(2), since=4, keys_int64s=[2], values_strings=["two"]), np.array("two", object))
    same(run("LabelEncoder", np.zeros((0, 3), np.int64), since=4, keys_int64s=[2], values_floats=[1.0]), np.zeros((0, 3), np.float32))
    got = run("LabelEncoder", strings("b", "z"), since=4, keys_tensor=strings("a", "b"), values_tensor=np.array([1, 2], np.int32))
    same(got, np.array([2, -1], np.int32))


def test_label_encoder_refuses_contradictions(run):
    with pytest.raises(InvalidInput, match="exactly one keys_"):
        run("LabelEncoder", np.array([1]), since=4, values_int64s=[1])
    with pytest.raises(InvalidInput, match="keys 2, values 1"):
        run("LabelEncoder", np.array([1]), since=4, keys_int64s=[1, 2], values_int64s=[1])
    with pytest.raises(InvalidInput, match="keys are strings, but the input is int64"):
        run("LabelEncoder", np.array([1]), since=4, keys_strings=["1"], values_int64s=[1])


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_one_hot_encoder(run, dtype):
    got = run("OneHotEncoder", np.array([[4, 1], [7, 9]], dtype), cats_int64s=[1, 4, 9])
    same(got, np.array([[[0, 1, 0], [1, 0, 0]], [[0, 0, 0], [0, 0, 1]]], np.float32))


def test_one_hot_encoder_truncates_and_knows_no_nan(run):
    got = run("OneHotEncoder", np.array([1.9, -0.5, NAN, np.inf, 1e30]), cats_int64s=[1, 0])
    same(got, np.array([[1, 0], [0, 1], [0, 0], [0, 0], [0, 0]], np.float32))


def test_one_hot_encoder_strings_and_unknown(run):
    same(run("OneHotEncoder", strings("b"), cats_strings=["a", "b"]), np.array([[0, 1]], np.float32))
    with pytest.raises(InvalidInput, match="'c' is no category"):
        run("OneHotEncoder", strings("a", "c"), cats_strings=["a", "b"], zeros=0)

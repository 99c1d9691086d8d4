import numpy as np
import pytest

from sardonyx.errors import InvalidInput

NAN = float("nan")
NUMBERS = [np.float32, np.float64, np.int64, np.int32]


def same(got, wanted):
    assert isinstance(got, np.ndarray)
    assert got.dtype == wanted.dtype
    assert got.shape == wanted.shape
    np.testing.assert_array_equal(got, wanted)


def test_array_feature_extractor(run):
    x = np.arange(12.0).reshape(2, 2, 3)
    same(run("ArrayFeatureExtractor", x, np.array([[2, 0]])), x[..., [2, 0]])
    same(run("ArrayFeatureExtractor", np.array(["a", "b"], object), np.array([1])), np.array([["b"]], object))
    same(run("ArrayFeatureExtractor", x, np.zeros(0, np.int64)), np.zeros((2, 2, 0)))


@pytest.mark.parametrize("index", [-1, 3])
def test_array_feature_extractor_refuses_indices_outside(run, index):
    with pytest.raises(InvalidInput, match="indices lie in"):
        run("ArrayFeatureExtractor", np.zeros((2, 3)), np.array([0, index]))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_binarizer(run, dtype):
    same(run("Binarizer", np.array([[-1, 2], [3, 4]], dtype), threshold=2.0), np.array([[0, 0], [1, 1]], dtype))
    same(run("Binarizer", np.array(5, dtype)), np.array(1, dtype))


def test_binarizer_nan_is_not_above(run):
    same(run("Binarizer", np.array([NAN, 1])), np.array([0.0, 1.0]))


def test_feature_vectorizer_cuts_and_pads(run):
    a, b = np.array([[1, 2, 3], [4, 5, 6]]), np.array([[7], [8]])
    same(run("FeatureVectorizer", a, b, inputdimensions=[2, 3]), np.array([[1, 2, 7, 0, 0], [4, 5, 8, 0, 0]], np.float32))
    same(run("FeatureVectorizer", a, b), np.array([[1, 2, 3, 7], [4, 5, 6, 8]], np.float32))


def test_feature_vectorizer_without_rows(run):
    assert run("FeatureVectorizer", np.zeros((0, 2)), np.zeros((0, 1)), inputdimensions=[2, 3]).shape == (0, 5)


@pytest.mark.parametrize("dimensions", [[1], [-1, 2]])
def test_feature_vectorizer_refuses_dimensions(run, dimensions):
    with pytest.raises(InvalidInput, match="a width for each of 2 inputs"):
        run("FeatureVectorizer", np.zeros((1, 2)), np.zeros((1, 1)), inputdimensions=dimensions)


def test_feature_vectorizer_vectors_are_rows(run):
    same(run("FeatureVectorizer", np.array([1.0, 2.0]), np.array([3.0]), inputdimensions=[2, 1]), np.array([[1, 2, 3]], np.float32))
    with pytest.raises(InvalidInput, match="unequal numbers of rows"):
        run("FeatureVectorizer", np.zeros((2, 1)), np.zeros((3, 1)), inputdimensions=[1, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_imputer_replaces_nan_per_feature(run, dtype):
    x = np.array([[NAN, 1], [2, NAN]], dtype)
    got = run("Imputer", x, imputed_value_floats=[8.0, 9.0], replaced_value_float=NAN)
    same(got, np.array([[8, 1], [2, 9]], dtype))


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_imputer_of_integers(run, dtype):
    x = np.array([[[-1, 1], [2, -1]]], dtype)
    same(run("Imputer", x, imputed_value_int64s=[7], replaced_value_int64=-1), np.array([[[7, 1], [2, 7]]], dtype))


def test_imputer_refuses(run):
    with pytest.raises(InvalidInput, match="needs imputed_value_int64s"):
        run("Imputer", np.array([1]), imputed_value_floats=[1.0])
    with pytest.raises(InvalidInput, match="3 values"):
        run("Imputer", np.zeros((4, 2), np.float32), imputed_value_floats=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize(
    ("norm", "wanted"),
    [
        ("MAX", [[-3 / 4, 1, 0], [0, 0, 0], [1, 2, 1]]),
        ("L1", [[-3 / 7, 4 / 7, 0], [0, 0, 0], [-1 / 4, -2 / 4, -1 / 4]]),
        ("L2", [[-3 / 5, 4 / 5, 0], [0, 0, 0], [-1 / 6**0.5, -2 / 6**0.5, -1 / 6**0.5]]),
    ],
)
def test_normalizer(run, dtype, norm, wanted):
    x = np.array([[-3, 4, 0], [0, 0, 0], [-1, -2, -1]], dtype)
    got = run("Normalizer", x, norm=norm)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    np.testing.assert_array_equal(run("Normalizer", x[0], norm=norm), got[0])


def test_normalizer_neither_overflows_nor_minds_emptiness(run):
    np.testing.assert_allclose(run("Normalizer", np.array([[3e30, -4e30]], np.float32), norm="L2"), [[0.6, -0.8]], rtol=1e-6)
    same(run("Normalizer", np.zeros((2, 0)), norm="MAX"), np.zeros((2, 0), np.float32))
    with pytest.raises(InvalidInput, match="L3"):
        run("Normalizer", np.zeros((1, 2)), norm="L3")


@pytest.mark.parametrize("dtype", NUMBERS)
def test_scaler(run, dtype):
    x = np.array([[1, 2], [3, 4]], dtype)
    same(run("Scaler", x, offset=[1.0, 2.0], scale=[2.0, 0.5]), np.array([[0, 0], [4, 1]], np.float32))
    same(run("Scaler", x, offset=[1.0], scale=[2.0]), np.array([[0, 2], [4, 6]], np.float32))
    same(run("Scaler", x, scale=[2.0]), np.array([[2, 4], [6, 8]], np.float32))


def test_scaler_subtracts_large_integers_exactly(run):
    same(run("Scaler", np.array([[16777217]]), offset=[16777216.0], scale=[1.0]), np.array([[1]], np.float32))
    with pytest.raises(InvalidInput, match="offset has 3 values"):
        run("Scaler", np.zeros((1, 2)), offset=[1.0, 2.0, 3.0], scale=[1.0])

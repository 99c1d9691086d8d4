import pytest

from sardonyx.ep.numpy_errors import in_onnx_terms


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("operands could not be broadcast together with shapes (2,3) (2,4) ", "do not broadcast"),
        ("cannot reshape array of size 6 into shape (4,2)", "does not hold as many elements"),
        ("matmul: Input operand 1 has a mismatch in its core dimension 0", "cannot be multiplied"),
        ("all the input array dimensions except for the concatenation axis must match exactly", "cannot be joined"),
        ("cannot convert float NaN to integer", "finite"),
    ],
)
def test_numpy_is_quoted_behind_what_it_means(text, meaning):
    said = in_onnx_terms(text)
    assert meaning in said.split(" (numpy: ")[0]
    assert said.endswith(f"(numpy: {text})")


def test_our_own_words_stay():
    assert in_onnx_terms("its condition must have one element") == "its condition must have one element"

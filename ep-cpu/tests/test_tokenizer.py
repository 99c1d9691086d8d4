import numpy as np
import pytest

from sardonyx.errors import InvalidInput
from sardonyx_ep_cpu.kernels import kernels


def tokenize(texts, **attributes):
    attributes = {"mark": 0, "mincharnum": 1, "pad_value": "#", **attributes}
    kernel = kernels.find("com.microsoft", "Tokenizer", 1)
    return kernel.function(np, np.array(texts, object), **attributes, prepared=kernel.prepare(np, [None], attributes)).tolist()


@pytest.mark.parametrize(
    ("attributes", "texts", "wanted"),
    [
        ({"tokenexp": "[a-z]+"}, ["a bc d", "", "zz"], [["a", "bc", "d"], ["#", "#", "#"], ["zz", "#", "#"]]),
        ({"tokenexp": "a(b)?"}, ["aba"], [["ab", "a"]]),
        ({"tokenexp": "[a-z]+", "mincharnum": 2, "mark": 1}, ["a bc", "d"], [["\x02", "bc", "\x03"], ["\x02", "\x03", "#"]]),
        ({"separators": [" ", ","]}, [["a bc,d", "e"]], [[["a", "bc", "d"], ["e", "#", "#"]]]),
        ({"separators": ["[,;]", "\\s+"]}, ["a, b;c  d"], [["a", "b", "c", "d"]]),
        ({"separators": ["bc", "b"]}, ["abcd"], [["a", "d"]]),
        ({"separators": ["b", "bc"]}, ["abcd"], [["a", "cd"]]),
        ({"separators": [""]}, ["abé", "x"], [["a", "b", "é"], ["x", "#", "#"]]),
        ({"separators": [" "], "mincharnum": 3}, ["abc de éé ééé"], [["abc", "ééé"]]),
        ({"separators": [" "], "mark": 1}, ["", " "], [[], []]),
    ],
)
def test_tokenizer(attributes, texts, wanted):
    assert tokenize(texts, **attributes) == wanted


@pytest.mark.parametrize("attributes", [{}, {"separators": [" "], "tokenexp": "a"}, {"separators": ["", " "]}])
def test_refusals(attributes):
    with pytest.raises(InvalidInput):
        tokenize(["a"], **attributes)

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sardonyx.errors import InvalidModel, NotSupported
from sardonyx_ep_cpu.ops.strings.automaton import Automaton, is_simple
from sardonyx_ep_cpu.ops.strings.re2 import compile_re2

PIECES = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\U00000061", r"(?a:\b)", "^", r"\Z", "(?i:A)"])
PATTERNS = st.recursive(
    PIECES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("({0[0]}|{0[1]})".format),
        st.tuples(inner, st.sampled_from(["", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}"])).map(
            "(?:{0[0]}){0[1]}".format
        ),
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(PATTERNS, st.text("abA\n", max_size=7))
def test_full_matches_are_those_of_re(pattern, text):
    assert (Automaton(pattern).fullmatch(text) is None) == (re.fullmatch(pattern, text) is None)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a|ab)(c|bcd)?", "abcdabac"),
        ("(ab|a)*?b", "aababb"),
        ("a??b?|c+", "abcca"),
        (r"(?:x|(?a:\b)y)+?", "xyx yy"),
        ("(?:a|b){2,3}?c", "ababcabc"),
    ],
)
def test_found_are_the_matches_of_re(pattern, text):
    found = [m.span() for m in re.finditer(pattern, text) if m[0]]
    spans = list(Automaton(pattern).finditer(text))
    assert [(m.start(), m.end()) for m in spans] == found
    assert [m[0] for m in spans] == [text[a:b] for a, b in found]


@pytest.mark.parametrize("pattern", ["(a+)+", "(a|aa)+", "(a|a)*", "a*a*a*a*a*a*", "(a?){30}a{30}", "(a|a)(a|a)" * 15 + "a*"])
def test_no_pattern_takes_exponential_time(pattern):
    match = compile_re2(pattern).fullmatch
    assert match("a" * 2000 + "!") is None


def test_too_large():
    with pytest.raises(NotSupported, match="too large"):
        compile_re2("((a{1,90}){1,90}){1,90}")
    with pytest.raises(InvalidModel, match="repeats more than 1000 times"):
        compile_re2("a{1001}")
    with pytest.raises(InvalidModel, match="is not valid"):
        compile_re2("(" * 20000 + ")" * 20000)


def test_simple_patterns_stay_with_re():
    assert is_simple("[a-z]+x")
    assert is_simple("(foo|bar)")
    assert not is_simple("(a+)+")
    assert not is_simple("a+a+")
    assert not is_simple("(a|b)*")
    assert isinstance(compile_re2("[a-z]+"), re.Pattern)

import pytest

from sardonyx.errors import InvalidModel, NotSupported
from sardonyx_ep_cpu.ops.strings.re2 import compile_re2


@pytest.mark.parametrize(
    ("pattern", "matches", "differs"),
    [
        (r"\d+", "123", "١٢"),
        (r"[\w.]+@[\W]", "a.b@é", "a.b@c"),
        (r"\s", " ", "\v"),
        (r"\S+", "é\v", "a b"),
        (r"é\bb", "éb", "éé"),
        (r"a$\n?", "a", "a\n"),
        (r"(?m)a$\n?", "a\n", "b"),
        (r"[[:alpha:]_]+", "ab_", "a1"),
        (r"[[:^alpha:]]+", "12é", "1a"),
        (r"[^[:space:]]", "a", "\v"),
        (r"\Qa.b\E+", "a.bb", "axb"),
        (r"\x{1F600}[\x{41}-C]", "😀B", "😀D"),
        (r"\101\x41", "AA", "A"),
        (r"[]a]+", "]a", "b"),
        (r"[^]a]", "b", "]"),
        (r"[a[&&~~||b]+", "[&~|", "c"),
        (r"(?<year>\d{4})-(?P<month>\d\d)", "2024-12", "2024-1"),
        (r"x{,3}", "x{,3}", "xx"),
        (r"[(?i)]+", "(?i)", "I"),
        (r"a(?i)b|c", "C", "AB"),
        (r"(x(?i)y)z", "xYz", "xYZ"),
        (r"(?i:a)b", "Ab", "AB"),
        (r"(?s).(?-s).", "\na", "a\n"),
        (r"a.b", "axb", "a\nb"),
        (r"\Aab\z", "ab", "ab\n"),
        (r"(a|ab)(c|bcd)", "abcd", "abd"),
        (r"\p{L}+", "naïveкот", "a1"),
        (r"\pN+", "4٢Ⅷ", "x"),
        (r"\p{Lu}\p{Ll}*", "Über", "über"),
        (r"\P{L}+", "42 ", "4b"),
        (r"\p{^Nd}", "Ⅷ", "4"),
        (r"[\p{L}_\P{C}]", "\N{COMBINING ACUTE ACCENT}", "\x07"),
        (r"(\p{Any}|a)+", "a\n\U0010ffff", ""),
        (r"(?:[^\p{P}\s]+ )*\p{Sc}", "a éé $", "a, $"),
        (r"\p{C}", "\u200d", "\u0378"),
        ("", "", "a"),
    ],
)
def test_matches(pattern, matches, differs):
    assert compile_re2(pattern).fullmatch(matches)
    assert not compile_re2(pattern).fullmatch(differs)


@pytest.mark.parametrize(
    "pattern", ["(?=a)", "(?<!a)b", r"(a)\1", "a++", "a**", "(", ")", "[a", r"\Z", "[[:what:]]", "(?P=a)", "(?#x)", "*", r"\p", r"\p{}"]
)
def test_what_re2_refuses(pattern):
    with pytest.raises(InvalidModel, match="regular expression"):
        compile_re2(pattern)


@pytest.mark.parametrize("pattern", [r"\p{Han}", r"[\p{Greek}]", r"\C", "(?U)a*"])
def test_what_re_cannot_express(pattern):
    with pytest.raises(NotSupported):
        compile_re2(pattern)

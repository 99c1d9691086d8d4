"""RE2 patterns translated for Python's `re`. Syntax: https://github.com/google/re2/wiki/Syntax"""

from __future__ import annotations

import re
from typing import NoReturn

from sardonyx.errors import InvalidModel, NotSupported
from sardonyx_ep_cpu.ops.strings.automaton import Automaton, is_simple
from sardonyx_ep_cpu.ops.strings.categories import is_category, ranges_of_category

__all__ = ["Pattern", "compile_re2"]

Pattern = re.Pattern[str] | Automaton

# Sets of characters as first and last of each range, ascending.
_ESCAPED = {"d": "09", "w": "09AZ__az", "s": "\t\n\f\r  "}
_POSIX = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\0\x7f",
    "blank": "\t\t  ",
    "cntrl": "\0\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": "09AZ__az",
    "xdigit": "09AFaf",
}
MOST_REPEATS = 1000
_TOKEN = re.compile(
    r"""\\Q(?P<quoted>.*?)(?:\\E|\Z)
      | \\x\{(?P<code>[0-9A-Fa-f]{1,6})\}
      | \\(?P<octal>[0-7]{3}|0[0-7]{0,2})
      | \\(?P<sign>[pP])(?:\{(?P<category>\^?\w+)\}|(?P<initial>[A-Z]))
      | \\(?P<escape>.)
      | \[:(?P<negated>\^?)(?P<posix>[a-z]+):\]
      | \(\?P?<(?P<name>[A-Za-z_]\w*)>
      | \(\?(?P<flags>[imsU]*(?:-[imsU]+)?)(?P<scope>[:)])
      | (?P<foreign>\(\?|(?:[*+?]|\{\d+(?:,\d*)?\})\+)
      | (?P<repeat>\{\d+(?:,\d*)?\})
      | (?P<literal>[{}])
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)


def compile_re2(pattern: str) -> Pattern:
    """The compiled form of an RE2 pattern, with `fullmatch` and `finditer`: `re`'s own where that cannot take long.

    \\d, \\w, \\s and \\b are ASCII as in RE2. NotSupported for what `re` cannot express: \\p{...} of a script (general categories
    work), \\C and the flag U. InvalidModel for a pattern that is not valid RE2: look-around, backreferences, possessive
    repetition, more than 1000 repetitions, syntax errors.
    """
    try:
        translated = _Translation(pattern).run()
        compiled = re.compile(translated)
        return compiled if is_simple(translated) else Automaton(translated)
    except (re.error, OverflowError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidModel):
            raise
        raise InvalidModel(f"regular expression {pattern!r} is not valid: {error}") from error


def _ranges(pairs: str, negated: bool) -> str:
    """The inside of a bracket expression for a set of characters or for its complement."""
    bounds = [(ord(a), ord(b)) for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
    if negated:
        starts = [0] + [last + 1 for _, last in bounds]
        ends = [first - 1 for first, _ in bounds] + [0x10FFFF]
        bounds = [(a, b) for a, b in zip(starts, ends, strict=True) if a <= b]
    return "".join(f"\\U{a:08x}-\\U{b:08x}" for a, b in bounds)


class _Translation:
    """One pass over a pattern.

    `re` has no (?i) in mid-pattern: it becomes a group up to the end of the enclosing one, reopened after each `|`. `groups`
    holds the openings of such groups, a list for every level of parentheses.
    """

    def __init__(self, pattern: str):
        self.pattern = pattern
        self.groups: list[list[str]] = [[]]
        self.class_start = -1

    def run(self) -> str:
        pieces = [self._translate(token) for token in _TOKEN.finditer(self.pattern)]
        if self.class_start >= 0:
            self._invalid("missing ]")
        if len(self.groups) != 1:
            self._invalid("missing )")
        return "".join(pieces) + ")" * len(self.groups[0])

    def _invalid(self, why: str) -> NoReturn:
        raise InvalidModel(f"regular expression {self.pattern!r} is not valid RE2: {why}")

    def _translate(self, token: re.Match[str]) -> str:
        if token["code"]:
            return re.escape(chr(int(token["code"], 16)))
        if token["octal"]:
            return re.escape(chr(int(token["octal"], 8)))
        if token["sign"]:
            return self._category(token["category"] or token["initial"], token["sign"] == "P")
        if token["escape"]:
            return self._escape(token["escape"])
        if self.class_start >= 0:
            return self._in_class(token)
        if token["quoted"] is not None:
            return re.escape(token["quoted"])
        if token["foreign"]:
            self._invalid(f"{token[0]} is not supported")
        if token["flags"] is not None:
            return self._flags(token["flags"], token["scope"])
        if token["name"]:
            self.groups.append([])
            return f"(?P<{token['name']}>"
        if token["literal"]:
            return re.escape(token[0])
        if token["repeat"] and any(int(n) > MOST_REPEATS for n in re.findall(r"\d+", token[0])):
            self._invalid(f"{token[0]} repeats more than {MOST_REPEATS} times")
        if token["posix"] or token["repeat"]:
            return token[0]
        return self._plain(token[0], token)

    def _plain(self, text: str, token: re.Match[str]) -> str:
        opened = self.groups[-1]
        if text[0] == "[":
            # A "]" right after "[" or "[^" stands for itself.
            negated = self.pattern.startswith("^", token.start() + 1)
            self.class_start = token.start() + 1 + negated
            return "["
        if text == "(":
            self.groups.append([])
        elif text == ")":
            if len(self.groups) == 1:
                self._invalid("unexpected )")
            return ")" * len(self.groups.pop()) + ")"
        elif text == "|" and opened:
            return ")" * len(opened) + "|" + "".join(opened)
        elif text == "$" and not re.search(r"\(\?[a-zA-Z]*m", self.pattern):
            return r"\Z"
        return text

    def _flags(self, flags: str, scope: str) -> str:
        if "U" in flags:
            raise NotSupported(f"regular expression {self.pattern!r}: the flag U is not supported")
        opening = f"(?{flags}:"
        if scope == ":":
            self.groups.append([])
        else:
            self.groups[-1].append(opening)
        return opening

    def _category(self, name: str, negated: bool) -> str:
        if not is_category(name.removeprefix("^")):
            known = "a general category of Unicode, such as L, Lu, Nd or P, works"
            raise NotSupported(f"regular expression {self.pattern!r}: \\p{{{name}}} is not supported; {known}")
        pairs = ranges_of_category(name.removeprefix("^"))
        negated = negated != name.startswith("^")
        if self.class_start >= 0:
            return _ranges(pairs, negated)
        return f"[{'^' if negated else ''}{_ranges(pairs, False)}]"

    def _escape(self, letter: str) -> str:
        inside = self.class_start >= 0
        if letter.lower() in _ESCAPED:
            ranges = _ranges(_ESCAPED[letter.lower()], letter.isupper())
            return ranges if inside else f"[{ranges}]"
        if letter in "pP":
            self._invalid(f"\\{letter} needs a category, as in \\{letter}{{L}}")
        if letter == "C":
            raise NotSupported(f"regular expression {self.pattern!r}: \\{letter} is not supported")
        if letter in "bB" and not inside:
            return f"(?a:\\{letter})"
        if letter == "z" and not inside:
            return r"\Z"
        if letter.isalnum() and letter not in ("aftnrvx" if inside else "aftnrvxA"):
            self._invalid(f"\\{letter} is not supported")
        return "\\" + letter

    def _in_class(self, token: re.Match[str]) -> str:
        if token["posix"]:
            if token["posix"] not in _POSIX:
                self._invalid(f"{token[0]} is unknown")
            return _ranges(_POSIX[token["posix"]], bool(token["negated"]))
        if token[0] == "]" and token.start() != self.class_start:
            self.class_start = -1
            return "]"
        # `re` warns of [, &, ~ and | as set operations to come.
        return re.sub(r"[\[&~|]", r"\\\g<0>", token[0])

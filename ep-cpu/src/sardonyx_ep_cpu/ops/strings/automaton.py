"""Matching in time linear in the text, for regular expressions on which backtracking may take exponential time.

RE2 promises that time, so a model may hold any expression. The simulation is Pike's (Cox, "Regular Expression Matching: the
Virtual Machine Approach", 2009): all states at once, in order of preference, so that the match found is the one that
backtracking would find.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sardonyx.errors import NotSupported

__all__ = ["Automaton", "Span", "is_simple"]

MOST_STATES = 1 << 16
MOST_CACHED = 1 << 14
MATCH = 0

_TOKEN = re.compile(
    r"""(?P<position>\(\?a:\\[bB]\)|\\[AZ]|\^|\$)
      | (?P<open>\(\?P<\w+>|\(\?[a-zA-Z-]*:|\()
      | (?P<close>\))
      | (?P<bar>\|)
      | (?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})\??)
      | (?P<one>\[\^?\]?(?:\\.|[^\]\\])*\]|\\U[0-9a-f]{8}|\\.|.)""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """A match, with what is used of re.Match."""

    text: str
    first: int
    last: int

    def start(self) -> int:
        """Where it starts."""
        return self.first

    def end(self) -> int:
        """Where it ends."""
        return self.last

    def __getitem__(self, group: int) -> str:
        return self.text[self.first : self.last]


def is_simple(pattern: str) -> bool:
    """Whether backtracking stays quick: the pattern has at most one choice, and no repetition of a group."""
    kinds = [(m.lastgroup, m[0]) for m in _TOKEN.finditer(pattern)]
    repeats = [i for i, (kind, _) in enumerate(kinds) if kind == "repeat"]
    bars = any(kind == "bar" for kind, _ in kinds)
    groups = sum(kind == "open" for kind, _ in kinds)
    if bars:
        return not repeats and groups <= 1
    return len(repeats) <= 1 and all(kinds[i - 1][0] != "close" for i in repeats)


class Automaton:
    """A pattern in the subset of `re`'s syntax that compile_re2 produces, which `re` has found valid."""

    def __init__(self, pattern: str):
        self._pattern = pattern
        self._program: list[Any] = [None]
        self._tables: list[tuple[re.Pattern[str], dict[str, bool]]] = []
        self._tokens = list(_TOKEN.finditer(pattern))
        self._at = 0
        self._timeless = all(t.lastgroup != "position" for t in self._tokens)
        self._start = self._emit(self._parse(""), MATCH)
        self._cache: dict[tuple[tuple[int, ...], str], tuple[int, ...]] = {}

    def fullmatch(self, text: str) -> Span | None:
        """The whole text, if it matches."""
        states = self._closure([self._start], text, 0)
        for i, character in enumerate(text):
            states = self._next(states, character, text, i + 1)
            if not states:
                return None
        return Span(text, 0, len(text)) if MATCH in states else None

    def finditer(self, text: str) -> Iterator[Span]:
        """The matches from left to right that do not overlap, as `re` finds them, but without the empty ones."""
        first, last = self._search(text, 0, False)
        while first >= 0:
            if last > first:
                yield Span(text, first, last)
            first, last = self._search(text, last, last == first)

    def _search(self, text: str, at: int, moving: bool) -> tuple[int, int]:
        """Start and end of the leftmost match from `at` on (not an empty one there, if `moving`), of these the preferred one;
        -1 if there is none."""
        threads: list[tuple[int, int]] = []
        best = (-1, -1)
        for i in range(at, len(text) + 1):
            if best[0] < 0:
                threads.append((self._start, i))
            seen: set[int] = set()
            alive: list[tuple[int, int]] = []
            for state, start in threads:
                for reached in self._closure([state], text, i, seen):
                    if reached != MATCH:
                        alive.append((reached, start))
                    elif not (moving and i == at):
                        best = (start, i)
                        break
                else:
                    continue
                break
            if best[0] >= 0 and not alive:
                break
            if i < len(text):
                threads = [(self._program[s][2], start) for s, start in alive if self._takes(self._program[s][1], text[i])]
        return best

    def _next(self, states: tuple[int, ...], character: str, text: str, position: int) -> tuple[int, ...]:
        known = self._cache.get((states, character)) if self._timeless else None
        if known is None:
            program = self._program
            moved = [program[s][2] for s in states if s != MATCH and self._takes(program[s][1], character)]
            known = self._closure(moved, text, position)
            if self._timeless:
                if len(self._cache) >= MOST_CACHED:
                    self._cache.clear()
                self._cache[states, character] = known
        return known

    def _takes(self, table: int, character: str) -> bool:
        pattern, known = self._tables[table]
        answer = known.get(character)
        if answer is None:
            answer = known[character] = pattern.match(character) is not None
        return answer

    def _closure(self, states: list[int], text: str, position: int, seen: set[int] | None = None) -> tuple[int, ...]:
        """The states that read a character, and MATCH, that the given ones reach, in order of preference."""
        seen = set() if seen is None else seen
        found: list[int] = []
        stack = states[::-1]
        while stack:
            state = stack.pop()
            if state in seen:
                continue
            seen.add(state)
            step = self._program[state]
            if step is None or step[0] == "one":
                found.append(state)
            elif step[0] == "either":
                stack += (step[2], step[1])
            elif step[1].match(text, position):
                stack.append(step[2])
        return tuple(found)

    def _parse(self, flags: str) -> tuple[Any, ...]:
        """The alternatives up to the closing parenthesis; `flags` are the openings of the groups around that set flags."""
        branches: list[list[Any]] = [[]]
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            self._at += 1
            kind, text = token.lastgroup, token[0]
            if kind == "close":
                break
            if kind == "bar":
                branches.append([])
            elif kind == "open":
                branches[-1].append(self._parse(flags + text if text[1:2] == "?" and text[2] not in "P:" else flags))
            elif kind == "repeat":
                branches[-1].append(("repeat", branches[-1].pop(), *_bounds(text)))
            else:
                branches[-1].append((kind, re.compile(flags + text + ")" * flags.count("("))))
        return ("any", branches)

    def _emit(self, node: tuple[Any, ...], then: int) -> int:
        """The state from which the program reads `node` and goes on with state `then`."""
        kind = node[0]
        if kind == "any":
            entries = []
            for branch in node[1]:
                entry = then
                for part in reversed(branch):
                    entry = self._emit(part, entry)
                entries.append(entry)
            entry = entries.pop()
            for other in reversed(entries):
                entry = self._add("either", other, entry)
            return entry
        if kind == "one":
            self._tables.append((node[1], {}))
            return self._add("one", len(self._tables) - 1, then)
        if kind == "position":
            return self._add("position", node[1], then)
        _, inner, least, most, lazy = node
        return self._emit_repeat(inner, least, most, lazy, then)

    def _emit_repeat(self, node: Any, least: int, most: int | None, lazy: bool, then: int) -> int:
        entry = then
        if most is None:
            entry = self._add("either", then, then)
            body = self._emit(node, entry)
            self._program[entry] = ("either", then, body) if lazy else ("either", body, then)
        else:
            for _ in range(most - least):
                body = self._emit(node, entry)
                entry = self._add("either", then, body) if lazy else self._add("either", body, then)
        for _ in range(least):
            entry = self._emit(node, entry)
        return entry

    def _add(self, *step: Any) -> int:
        if len(self._program) >= MOST_STATES:
            raise NotSupported(f"regular expression {self._pattern[:200]!r} is too large: its repetitions need over {MOST_STATES} states")
        self._program.append(step)
        return len(self._program) - 1


def _bounds(text: str) -> tuple[int, int | None, bool]:
    """Least and most repetitions (None: any number) of a quantifier, and whether it is lazy."""
    lazy = len(text) > 1 and text[-1] == "?"
    if lazy:
        text = text[:-1]
    if text in "*+?":
        return int(text == "+"), 1 if text == "?" else None, lazy
    least, comma, most = text[1:-1].partition(",")
    return int(least), (int(most) if most else None) if comma else int(least), lazy

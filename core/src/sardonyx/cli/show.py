"""What commands print: tables and JSON on stdout, notes and errors on stderr, spinners on a terminal only."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["bytes_text", "emit_json", "error", "heading", "line", "note", "shape_text", "status", "table", "time_text"]

WIDE = 200


def line(text: str = "") -> None:
    """One line on stdout."""
    print(text)


def heading(text: str) -> None:
    """A heading: bold on a terminal."""
    print(f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() else text)


def note(text: str) -> None:
    """Something worth knowing, on stderr."""
    _say(f"note: {text}")


def error(text: str) -> None:
    """What went wrong, on stderr."""
    _say(f"error: {text}")


def _say(text: str) -> None:
    """One line on stderr; where that takes none, there is nobody to tell, and the interpreter is not to try once more when it ends."""
    try:
        print(text, file=sys.stderr)
    except OSError:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - the interpreter's own from now on


def emit_json(data: Any) -> None:
    """`data` as JSON on stdout; numbers that JSON has no name for become the strings nan, inf and -inf."""
    print(json.dumps(_plain(data), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {str(k): _plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple, set)):
        return [_plain(v) for v in x]
    if isinstance(x, float) and not math.isfinite(x):
        return str(x)
    if hasattr(x, "item") and not isinstance(x, (int, float, str)):
        return _plain(x.item())
    return x


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[str] = (), title: str = "") -> None:
    """A table on stdout. Columns named in `right` are aligned right; long cells wrap on a terminal only."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    out = Table(box=None, pad_edge=False, title=title or None, title_justify="left", title_style="bold", header_style="bold")
    for c in columns:
        out.add_column(c, justify="right" if c in right else "left", overflow="fold", no_wrap=c in right)
    for row in rows:
        out.add_row(*(Text(str(cell)) for cell in row))
    console = Console(file=sys.stdout, highlight=False)
    if not sys.stdout.isatty():
        console.width = WIDE
    for text in console.render_lines(out, pad=False) if not sys.stdout.isatty() else ():
        print("".join(s.text for s in text).rstrip())
    if sys.stdout.isatty():
        console.print(out)


@contextlib.contextmanager
def status(text: str) -> Iterator[None]:
    """A spinner with a text on stderr while the block runs; nothing where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def bytes_text(count: float | None) -> str:
    """A size: 124.7 kB."""
    if count is None:
        return "?"
    if count < 1000:
        return f"{count:.0f} B"
    power = next((p for p in (1, 2, 3) if count < 1000 ** (p + 1)), 4)
    return f"{count / 1000**power:.1f} {'kMGT'[power - 1]}B"


def time_text(seconds: float) -> str:
    """A duration: 3.21 ms."""
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}" if seconds * scale < 1000 else f"{seconds * scale:.0f} {unit}"
    return f"{seconds * 1e6:.3g} us"


def shape_text(shape: Sequence[Any]) -> str:
    """A shape: [batch, 3, ?, ?]."""
    return "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"

"""Files that options ask for; one that cannot be written is a mistake in the call."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from sardonyx.errors import InvalidInput
from sardonyx.ir.replacing import replacing

__all__ = ["write_page", "writing"]


@contextlib.contextmanager
def writing(option: str, path: str) -> Iterator[None]:
    """Raise InvalidInput, naming the option and the file, where the block fails to write `path`."""
    try:
        yield
    except OSError as e:
        raise InvalidInput(f"{option} {path}: {e.strerror or e}") from e


def write_page(path: str, page: str) -> None:
    """Write an HTML page. Its title may be a file's name that is not UTF-8; such bytes become question marks."""
    with writing("--html", path), replacing(path) as f:
        f.write(page.encode("utf-8", "replace"))

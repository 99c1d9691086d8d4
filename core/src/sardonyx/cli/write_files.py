"""Pages that options ask for."""

from __future__ import annotations

from sardonyx.ir.replacing import writing

__all__ = ["write_page"]


def write_page(path: str, page: str) -> None:
    """Write an HTML page. Its title may be a file's name that is not UTF-8; such bytes become question marks. Raises
    UnwritableFile."""
    with writing(path, "--html") as f:
        f.write(page.encode("utf-8", "replace"))

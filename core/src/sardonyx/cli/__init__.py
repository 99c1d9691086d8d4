"""The command line `sardonyx`. click and rich are imported only in this package, and only when a command runs."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with these arguments (default: the process's own); returns the exit status."""
    from sardonyx.cli.app import run

    return run(arguments)

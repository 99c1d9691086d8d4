"""`python -m sardonyx_conformance --ep NAME [pytest options]`: the suite without remembering pytest's own arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    """Run the suite with these pytest arguments; returns pytest's exit status."""
    return int(pytest.main(["--pyargs", "sardonyx_conformance", "-q", *arguments]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

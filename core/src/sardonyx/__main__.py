"""`python -m sardonyx` is the command `sardonyx`."""

from __future__ import annotations

import sys

from sardonyx.cli import main

if __name__ == "__main__":
    sys.exit(main())

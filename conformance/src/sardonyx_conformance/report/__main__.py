"""`python -m sardonyx_conformance.report A.json B.json -o matrix.html`: one matrix of several providers' reports.

The ending of the output says the form: .html, .md or .json (merged reports).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from sardonyx_conformance.report.data import Report
from sardonyx_conformance.report.matrix import to_html, to_markdown

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m sardonyx_conformance.report", description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", metavar="REPORT.json", help="what --report-json wrote")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="matrix.html, matrix.md or merged.json")
    options = parser.parse_args(arguments)
    try:
        reports = [r for path in options.reports for r in read(Path(path))]
    except (OSError, ValueError, TypeError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    form = Path(options.output).suffix
    makers = {".html": to_html, ".md": to_markdown, ".json": lambda rs: json.dumps([r.to_dict() for r in rs], indent=1)}
    if form not in makers:
        print(f"error: the output ends in {form!r}, not in one of {', '.join(makers)}", file=sys.stderr)
        return 2
    Path(options.output).write_text(makers[form](reports), "utf-8")
    return 0


def read(path: Path) -> list[Report]:
    """The reports in a file, one or a merged list. Raises OSError, or ValueError naming a file that is no report."""
    data = json.loads(path.read_text("utf-8"))
    try:
        return [Report.from_dict(d) for d in (data if isinstance(data, list) else [data])]
    except (TypeError, AttributeError):
        raise ValueError(f"{path} is not a report of the conformance suite") from None


if __name__ == "__main__":
    sys.exit(main())

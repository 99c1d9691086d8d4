"""`sardonyx conformance`: the suite of package sardonyx-conformance, in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import click

from sardonyx.cli import show
from sardonyx.cli.options import json_option
from sardonyx.errors import InvalidInput
from sardonyx.runtime import discovery

__all__ = ["command"]

EXAMPLE = """\b
Examples:
  sardonyx conformance cpu -k test_relu  # takes half a minute
"""


@click.command("conformance", epilog=EXAMPLE, context_settings={"ignore_unknown_options": True})
@click.argument("name", metavar="PROVIDER")
@click.argument("pytest_options", nargs=-1, type=click.UNPROCESSED)
@json_option
def command(name: str, pytest_options: tuple[str, ...], as_json: bool) -> int:
    """Run the conformance suite on a provider: every ONNX backend test, and the suite's own.

    What follows PROVIDER goes to pytest, e.g. -k relu, -x, --report DIR. The status is pytest's. With --json, pytest's
    output goes to stderr and the counts of outcomes to stdout.
    """
    discovery.find(name)
    if importlib.util.find_spec("sardonyx_conformance") is None:
        how = "pip install sardonyx-conformance (in a checkout: pip install ./conformance)"
        raise InvalidInput(f"the suite is a package of its own, and it is not installed: {how}")
    arguments = [sys.executable, "-m", "pytest", "-q", "--pyargs", "sardonyx_conformance", "--ep", name, *pytest_options]
    if not as_json:
        return subprocess.run(arguments, check=False).returncode
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        status = subprocess.run([*arguments, "--report-json", str(report)], stdout=sys.stderr, check=False).returncode
        results = json.loads(report.read_text("utf-8"))["results"] if report.exists() else []
    counts = Counter(r["outcome"] for r in results)
    failed = [r["name"] for r in results if r["outcome"] == "failed"]
    show.emit_json({"provider": name, "status": status, "tests": len(results), "outcomes": counts, "failed": failed})
    return status

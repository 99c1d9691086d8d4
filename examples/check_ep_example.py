"""The walk-through of docs/writing-an-ep.md, done for real: wheels of the core, the suite and the example provider are built,
installed into an empty environment outside of the repository, and the page's commands are run there.

    python examples/check_ep_example.py [--keep FOLDER]

Needs the network for the dependencies. Exit status 0 if every step succeeds.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "writing-an-ep.md"
EXAMPLE = ROOT / "examples" / "ep-example"
TITLED = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def files_of_the_page() -> dict[str, str]:
    """The files that the page has the reader write, by their place in the package."""
    return dict(TITLED.findall(PAGE.read_text("utf-8")))


def differences() -> list[str]:
    """Where the page and the example package differ."""
    told = files_of_the_page()
    there = {p.relative_to(EXAMPLE).as_posix() for p in [EXAMPLE / "pyproject.toml", *EXAMPLE.glob("src/*/*.*")]}
    wrong = [f"{name} is not on the page" for name in sorted(there - told.keys())]
    return wrong + [
        f"{name} differs from the page" for name, text in told.items() if name not in there or (EXAMPLE / name).read_text("utf-8") != text
    ]


def snippets() -> list[str]:
    """The page's Python that is to be run, not saved."""
    return PYTHON.findall(PAGE.read_text("utf-8"))


def run(*command: object, cwd: Path) -> None:
    """Run a command without this repository on its path; raises if it fails."""
    print("+", *command, flush=True)
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    subprocess.run([str(c) for c in command], cwd=cwd, env=clean, check=True)


def check(folder: Path) -> None:
    """All steps, in `folder`."""
    wheels, package, empty = folder / "wheels", folder / "ep-example", folder / "empty"
    for name, text in files_of_the_page().items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, "utf-8")
    empty.mkdir()
    for source in (ROOT / "core", ROOT / "conformance", package):
        run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", wheels, source, cwd=folder)
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", *sorted(wheels.glob("*.whl")), cwd=empty)
    run(folder / "env" / "bin" / "sardonyx", "providers", cwd=empty)
    for text in snippets():
        run(python, "-c", text, cwd=empty)
    report = empty / "report.json"
    run(python, "-m", "pytest", "-q", "--pyargs", "sardonyx_conformance", "--ep", "example", "--report-json", report, cwd=empty)
    passed = sum(r["outcome"] == "passed" for r in json.loads(report.read_text("utf-8"))["results"])
    lines = sum(len(text.splitlines()) for text in files_of_the_page().values())
    print(f"{lines} lines in {len(files_of_the_page())} files: {passed} tests pass, none fails")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--keep", metavar="FOLDER", help="work there, and leave it")
    options = parser.parse_args()
    wrong = differences()
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    if options.keep:
        Path(options.keep).mkdir(parents=True)
        check(Path(options.keep).resolve())
        return 0
    with tempfile.TemporaryDirectory() as folder:
        check(Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())

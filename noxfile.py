"""The checks of this repository. Plain `nox` runs lint, types, tests and the cpu provider's conformance."""

from __future__ import annotations

import sys
from pathlib import Path

import nox

nox.options.sessions = ["lint", "types", "tests", "conformance"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = False

PACKAGES = ["./core", "./ep-cpu", "./conformance"]
CLIENTS = {
    "rapidocr_page": ["rapidocr-onnxruntime"],
    "magika_files": ["magika"],
    "silero_speech": ["silero-vad"],
    "optimum_model": ["optimum-onnx"],
}
EP_PACKAGES = {"cpu": "./ep-cpu", "native": "./ep-native-cpp", "example": "./examples/ep-example"}


@nox.session
def lint(session: nox.Session) -> None:
    """Style: ruff check and format."""
    session.install("ruff>=0.8")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Types: mypy over every package."""
    session.install("mypy>=1.13", "nox", "pytest", *PACKAGES)
    for package in [*PACKAGES, "./ep-native-cpp"]:
        session.run("mypy", f"{package}/src")


@nox.session
def tests(session: nox.Session) -> None:
    """Unit tests of every package."""
    session.install("pytest", "hypothesis", "onnxruntime", "pillow", *PACKAGES, "./examples/ep-example")
    session.run("pytest", "core/tests", "ep-cpu/tests", "conformance/tests", *session.posargs)


@nox.session
def conformance(session: nox.Session) -> None:
    """The conformance suite: `nox -s conformance -- --ep NAME` (default cpu)."""
    args = list(session.posargs)
    if "--ep" not in args:
        args = ["--ep", "cpu", *args]
    ep = args[args.index("--ep") + 1]
    local = EP_PACKAGES.get(ep)
    session.install("./core", "./conformance", "./ep-cpu", *([local] if local and ep != "cpu" else []), "pillow")
    with session.chdir(session.create_tmp()):
        session.run("pytest", "--pyargs", "sardonyx_conformance", *args)


@nox.session(python=["3.12", "3.13"])
def smoke(session: nox.Session) -> None:
    """core and ep-cpu on the other supported Pythons: install, demo, sessions and the command line."""
    session.install("pytest", "hypothesis", "pillow", *PACKAGES, "./examples/ep-example")
    session.run("sardonyx", "demo", "--json")
    session.run("pytest", "core/tests/runtime", "core/tests/cli")


@nox.session
@nox.parametrize("client", list(CLIENTS))
def clients(session: nox.Session, client: str) -> None:
    """Programs of onnxruntime, unmodified, each in an environment of its own, give the same answers: `nox -s clients [-- native]`."""
    providers = [EP_PACKAGES[ep] for ep in session.posargs]
    session.install("onnxruntime", *CLIENTS[client], "./core", "./ep-cpu", *providers)
    session.run("python", "clients/compare.py", client)


@nox.session
def example(session: nox.Session) -> None:
    """The walk-through of docs/writing-an-ep.md, from built wheels in an environment outside of the repository."""
    session.install("build")
    session.run("python", "examples/check_ep_example.py")


@nox.session
def wheels(session: nox.Session) -> None:
    """Build every wheel and sdist, install each provider from them into an empty environment, and run the demo."""
    session.install("build")
    out = Path("dist").absolute()
    folders = [Path(package) for package in PACKAGES]
    for folder in folders:
        session.run("python", "-m", "build", "--outdir", str(out), str(folder), silent=True)
    for kind in ("whl", "tar.gz"):
        for ep in [f for f in folders if f.name.startswith("ep-")]:
            env = Path(session.create_tmp()) / f"{ep.name}-{kind}"
            session.run(sys.executable, "-m", "venv", "--clear", str(env), external=True)
            wanted = [_built(out, "sardonyx", kind), _built(out, f"sardonyx_{ep.name.replace('-', '_')}", kind)]
            session.run(str(env / "bin/pip"), "install", "-q", *wanted, external=True)
            session.run(str(env / "bin/sardonyx"), "providers", external=True)
            if ep.name == "ep-cpu":
                session.run(str(env / "bin/sardonyx"), "demo", "--json", external=True)


def _built(out: Path, name: str, kind: str) -> str:
    pattern = f"{name}-[0-9]*.{kind}"
    return str(max(out.glob(pattern), key=lambda p: p.stat().st_mtime))

"""The checks of this repository.

Plain `nox` runs lint, types, the unit tests, the native provider's too, and the cpu provider's conformance.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nox
from nox.command import CommandFailed

nox.options.sessions = ["lint", "types", "tests", "native", "conformance"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = False

PACKAGES = ["./core", "./ep-cpu", "./conformance"]
EP_PACKAGES = {"cpu": "./ep-cpu", "example": "./examples/ep-example"}
NATIVE = Path("ep-native-cpp")
BUILD = ["scikit-build-core>=0.10", "pybind11>=2.13", "numpy>=2.0", "cmake", "ninja"]
ISAS = ("baseline", "avx2", "avx512", "avx512_vnni")
CLIENTS = {
    "rapidocr_page": ["rapidocr-onnxruntime"],
    "magika_files": ["magika"],
    "silero_speech": ["silero-vad"],
    "optimum_model": ["optimum-onnx"],
    "ddddocr_captchas": ["ddddocr"],
    "piper_vowels": ["piper-tts"],
    "tools_model": ["sympy"],
}
# skl2onnx 1.20 passes numpy's booleans, which protobuf 7 refuses.
CONVERTERS = {
    "from_sklearn": ["skl2onnx", "scikit-learn", "pandas", "protobuf<7"],
    "from_boosters": ["onnxmltools", "skl2onnx", "scikit-learn", "lightgbm", "xgboost", "packaging", "protobuf<7"],
    "from_torch": ["torch", "onnxscript"],
    "from_tensorflow": ["tf2onnx", "tensorflow"],
}


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
    for package in [*PACKAGES, NATIVE]:
        session.run("mypy", f"{package}/src")
    session.run("mypy", *map(str, NATIVE.glob("checks/*.py")))


@nox.session
def tests(session: nox.Session) -> None:
    """Unit tests of every package."""
    session.install("pytest", "hypothesis", "onnxruntime", "pillow", *PACKAGES, "./examples/ep-example")
    session.run("pytest", "core/tests", "ep-cpu/tests", "conformance/tests", *session.posargs)


@nox.session
def native(session: nox.Session) -> None:
    """The native provider's unit tests, and what its machine code must not have."""
    session.install("pytest", "hypothesis", *PACKAGES)
    install_providers(session, "native")
    session.run("pytest", str(NATIVE / "tests"), *session.posargs)
    session.run("python", str(NATIVE / "checks/objects.py"), str(native_wheel(session).parent / "build"))


@nox.session
def conformance(session: nox.Session) -> None:
    """The conformance suite: `nox -s conformance -- --ep NAME` (default cpu); native under each instruction set of the machine."""
    args = list(session.posargs)
    if "--ep" not in args:
        args = ["--ep", "cpu", *args]
    ep = args[args.index("--ep") + 1]
    session.install("./core", "./conformance", "./ep-cpu", "pillow")
    install_providers(session, ep)
    for isa in native_isas(session) if ep == "native" else [""]:
        with session.chdir(session.create_tmp()):
            session.run("pytest", "--pyargs", "sardonyx_conformance", *args, env={"SARDONYX_NATIVE_ISA": isa})


@nox.session
def sanitizers(session: nox.Session) -> None:
    """The native provider under AddressSanitizer and UndefinedBehaviorSanitizer, and its pool under ThreadSanitizer. Needs g++."""
    session.install(*BUILD, "pytest", "hypothesis", "pillow", *PACKAGES)
    build = Path(session.create_tmp()).absolute()
    pybind11 = str(session.run("python", "-m", "pybind11", "--cmakedir", silent=True)).strip()
    settings = ["-GNinja", f"-DPython_EXECUTABLE={session.bin}/python", f"-Dpybind11_DIR={pybind11}", "-DSARDONYX_SANITIZE=thread"]
    session.run("cmake", "-S", str(NATIVE), "-B", f"{build}/pool", "-DSARDONYX_TESTS=ON", *settings)
    session.run("cmake", "--build", f"{build}/pool", "--target", "pool_test")
    session.run(f"{build}/pool/pool_test", external=True)
    defines = {"SARDONYX_SANITIZE": "address,undefined", "SARDONYX_LTO": "OFF", "SARDONYX_ISAS": "baseline;avx2"}
    session.install(
        f"./{NATIVE}",
        f"--config-settings=build-dir={build}/address",
        "--config-settings=install.strip=false",
        *(f"--config-settings=cmake.define.{k}={v}" for k, v in defines.items()),
    )
    # Python itself keeps what it allocated until the end, so leaks are not looked for. A stack for signals in each thread would end
    # the process, not the run, in tests of more threads than there is memory for.
    env = {
        "LD_PRELOAD": " ".join(_library_of_compiler(name) for name in ("libasan.so", "libubsan.so", "libstdc++.so")),
        "ASAN_OPTIONS": "detect_leaks=0:use_sigaltstack=0",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }
    # What a sanitizer prints goes to file descriptor 2, which pytest would hide. It keeps for a while what was freed, so tests
    # that memory does not grow cannot pass.
    options = ["--capture=sys", "-k", "not do_not_leak"]
    session.run("pytest", str(NATIVE / "tests"), "--ignore", str(NATIVE / "tests/checks"), *options, env=env)
    with session.chdir(build):
        for isa in native_isas(session, env):
            session.run("pytest", "--pyargs", "sardonyx_conformance", "--ep", "native", *options, env={**env, "SARDONYX_NATIVE_ISA": isa})


@nox.session
def pgo(session: nox.Session) -> None:
    """A wheel of the native provider with profile-guided optimization, in dist/pgo. Needs g++."""
    session.install("./core", *BUILD)
    session.run("python", str(NATIVE / "checks/variants.py"), session.create_tmp(), "dist/pgo")


@nox.session
def ablation(session: nox.Session) -> None:
    """What the switches of the native provider's build are worth: the figures of docs/ablation.md; `-- --built` times again."""
    session.install("./core", *BUILD)
    session.run("python", str(NATIVE / "checks/ablation.py"), session.create_tmp(), "docs/ablation.md", *session.posargs)


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
    session.install("onnxruntime", *CLIENTS[client], "./core", "./ep-cpu")
    install_providers(session, *session.posargs)
    session.run("python", "clients/compare.py", client)


@nox.session
@nox.parametrize("source", list(CONVERTERS))
def converters(session: nox.Session, source: str) -> None:
    """Models that converters make on the spot predict what their frameworks predict: `nox -s converters [-- native]`."""
    try:
        session.install(*CONVERTERS[source], "./core", "./ep-cpu")
        if source == "from_tensorflow":
            session.run("python", "-c", "import tf2onnx, tensorflow, sardonyx", silent=True)
    except CommandFailed:
        if source != "from_tensorflow":
            raise
        session.skip("TensorFlow, tf2onnx and Sardonyx do not install together here, so models of TensorFlow are NOT checked")
    install_providers(session, *session.posargs)
    session.run("python", f"converters/{source}.py")


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
    for package in PACKAGES:
        session.run("python", "-m", "build", "--outdir", str(out), package, silent=True)
    # Not native's sdist: its wheel is built from it.
    wanted = [
        ("sardonyx_ep_cpu", out, "whl"),
        ("sardonyx_ep_cpu", out, "tar.gz"),
        ("sardonyx_ep_native_cpp", native_wheel(session).parent, "whl"),
    ]
    for name, folder, kind in wanted:
        env = Path(session.create_tmp()) / f"{name}-{kind}"
        session.run(sys.executable, "-m", "venv", "--clear", str(env), external=True)
        session.run(str(env / "bin/pip"), "install", "-q", _built(out, "sardonyx", kind), _built(folder, name, kind), external=True)
        session.run(str(env / "bin/sardonyx"), "providers", external=True)
        session.run(str(env / "bin/sardonyx"), "demo", "--json", external=True)


def install_providers(session: nox.Session, *eps: str) -> None:
    """Install those of the providers that are of this repository. Native's wheel by force: pip keeps one of the same version."""
    for ep in eps:
        if ep == "native":
            session.install("--force-reinstall", "--no-deps", str(native_wheel(session)))
        elif ep in EP_PACKAGES:
            session.install(EP_PACKAGES[ep])


def native_wheel(session: nox.Session) -> Path:
    """The wheel of ep-native-cpp, built through its sdist once for its sources, since compiling takes minutes; beside it, `build`."""
    files = [NATIVE / "CMakeLists.txt", NATIVE / "pyproject.toml", NATIVE / "README.md"]
    for folder in ("cmake", "csrc", "src"):
        files += sorted(f for f in (NATIVE / folder).rglob("*") if f.is_file() and f.suffix not in (".pyc", ".so"))
    digest = hashlib.sha256(sys.version.encode())
    for file in files:
        digest.update(str(file).encode() + file.read_bytes())
    out = Path("dist/native").absolute() / digest.hexdigest()[:16]
    if not list(out.glob("*.whl")):
        shutil.rmtree(out.parent, ignore_errors=True)
        session.install("build")
        session.run("python", "-m", "build", "--outdir", str(out), f"--config-setting=build-dir={out}/build", str(NATIVE), silent=True)
    return next(out.glob("*.whl"))


def native_isas(session: nox.Session, env: dict[str, str] | None = None) -> list[str]:
    """The instruction sets that this machine runs of those the installed native provider has; or the one in SARDONYX_NATIVE_ISA."""
    ask = "from sardonyx_ep_native import _native; print(_native.isa())"
    best = str(session.run("python", "-c", ask, silent=True, env=env)).strip()
    return [best] if os.environ.get("SARDONYX_NATIVE_ISA") else list(ISAS[: ISAS.index(best) + 1])


def _library_of_compiler(name: str) -> str:
    return subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()


def _built(out: Path, name: str, kind: str) -> str:
    pattern = f"{name}-[0-9]*.{kind}"
    return str(max(out.glob(pattern), key=lambda p: p.stat().st_mtime))

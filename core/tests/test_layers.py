"""What may import what, and what importing costs: read off the sources and off fresh interpreters."""

import ast
import importlib
import importlib.util
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import FunctionType

import pytest

import sardonyx

CORE = Path(sardonyx.__file__).parent
ROOT = Path(__file__).parents[2]
EP_SURFACE = ("sardonyx.ep", "sardonyx.ir", "sardonyx.errors")
EPS = {
    name: Path(spec.origin).parent
    for name in ("sardonyx_ep_cpu", "sardonyx_ep_native", "sardonyx_ep_example")
    if (spec := importlib.util.find_spec(name)) is not None and spec.origin
}


def imports(path: Path, package: str):
    """(line, absolute name) of everything a file imports; imports for type checkers included."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            if node.module in ("sardonyx", package):
                yield from ((node.lineno, f"{node.module}.{a.name}") for a in node.names)
            else:
                yield node.lineno, node.module or ""


def offences(folder: Path, package: str, allowed) -> list[str]:
    return [
        f"{path.relative_to(folder)}:{line} imports {name}"
        for path in sorted(folder.rglob("*.py"))
        for line, name in imports(path, package)
        if not allowed(path.relative_to(folder).as_posix(), name)
    ]


def test_core_imports_no_provider():
    assert offences(CORE, "sardonyx", lambda _, name: not name.startswith("sardonyx_") or name == "sardonyx_conformance") == []


@pytest.mark.parametrize("package", EPS)
def test_providers_import_only_the_public_surface(package):
    def allowed(_, name):
        return name.split(".")[0] != "sardonyx" or name.startswith(EP_SURFACE)

    assert offences(EPS[package], package, allowed) == []


@pytest.mark.parametrize(("library", "folder"), [("click", "cli/"), ("rich", "cli/"), ("onnx", "ir/")])
def test_heavy_libraries_stay_in_their_layer(library, folder):
    others = ("cli/", "tools/", "backend.py") if library == "onnx" else ()

    def allowed(path, name):
        return name.split(".")[0] != library or path.startswith((folder, *others))

    assert offences(CORE, "sardonyx", allowed) == []


def test_ir_and_passes_do_not_know_the_runtime():
    lower = ("ir/", "passes/", "ep/")

    def allowed(path, name):
        return not (path.startswith(lower) and name.startswith(("sardonyx.runtime", "sardonyx.cli")))

    assert offences(CORE, "sardonyx", allowed) == []


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    out = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True).stdout
    return {name.split(".")[0] for name in out.split()}


@pytest.mark.parametrize(
    ("statement", "banned"),
    [
        ("import sardonyx", {"onnx", "click", "rich", "pluggy", "scipy", "google"}),
        ("import sardonyx; sardonyx.InferenceSession", {"onnx", "click", "rich", "scipy", "google"}),
        ("import sardonyx; sardonyx.get_available_providers()", {"onnx", "click", "rich", "google"}),
        ("import sardonyx.ep", {"onnx", "click", "rich", "pluggy"}),
        ("import sardonyx.cli", {"onnx", "click", "rich", "numpy"}),
    ],
)
def test_imports_pull_in_nothing_heavy(statement, banned):
    found = loaded_by(statement)
    assert not found & (banned | {"cupy", "pyopencl", "torch", "sardonyx_conformance"})
    if "get_available" not in statement:
        assert not {name for name in found if name.startswith("sardonyx_ep")}


def modules():
    for module in pkgutil.walk_packages([str(CORE)], "sardonyx."):
        if not module.name.endswith("__main__"):
            yield module.name


def test_every_module_says_what_it_offers():
    """`__all__` exists, is sorted as ruff sorts it, and names what is there."""
    for name in ("sardonyx", *modules()):
        module = importlib.import_module(name)
        names = getattr(module, "__all__", None)
        if names is None:
            assert module.__file__.endswith("__init__.py"), f"{name} has no __all__"
            continue
        assert len(set(names)) == len(names), name
        for offered in names:
            assert hasattr(module, offered), f"{name}.__all__ names {offered!r}"


def test_public_names_have_docstrings():
    bare = []
    for name in ("sardonyx", *modules()):
        module = importlib.import_module(name)
        if not module.__doc__:
            bare.append(name)
        for offered in getattr(module, "__all__", ()):
            thing = getattr(module, offered)
            if isinstance(thing, (type, FunctionType)) and not (thing.__doc__ or "").strip():
                bare.append(f"{name}.{offered}")
    assert not bare, ", ".join(bare)


def test_versions_are_equal():
    found = {}
    for path in sorted(ROOT.glob("*/pyproject.toml")):
        project = tomllib.loads(path.read_text("utf-8"))["project"]
        found[path.parent.name] = project["version"]
        for need in project["dependencies"]:
            if need.startswith("sardonyx"):
                assert need == f"sardonyx=={project['version']}", path
    assert set(found.values()) == {sardonyx.__version__}, found
    assert "core" in found


def test_no_provider_is_named_in_core():
    """No `if ep == "x"`: core compares names with no provider's but the floor's, which the design names."""
    names = {"native", "cuda", "opencl", "example"}
    found = []
    for path in sorted(CORE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Compare):
                for side in (node.left, *node.comparators):
                    if isinstance(side, ast.Constant) and side.value in names:
                        found.append(f"{path.relative_to(CORE)}:{node.lineno}")
    assert found == []

"""docs/writing-an-ep.md: what it has the reader write is the example provider, is short, and works."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from sardonyx.runtime import discovery

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def walkthrough() -> ModuleType:
    """examples/check_ep_example.py as a module."""
    spec = importlib.util.spec_from_file_location("check_ep_example", ROOT / "examples" / "check_ep_example.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def example(walkthrough, tmp_path, monkeypatch):
    """The page's package, importable and registered as `example`."""
    for name, text in walkthrough.files_of_the_page().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    plugin = importlib.import_module("sardonyx_ep_example.plugin")
    discovery.register("example", plugin)
    yield plugin
    discovery.unregister("example")


def test_page_is_the_example(walkthrough):
    """File by file."""
    assert walkthrough.differences() == []


def test_size(walkthrough):
    """Five files, 120 lines."""
    files = walkthrough.files_of_the_page()
    assert len(files) <= 5
    assert sum(len(text.splitlines()) for text in files.values()) <= 120


def test_snippets(walkthrough, example):
    """The page's other Python runs."""
    assert len(walkthrough.snippets()) >= 2
    for text in walkthrough.snippets():
        exec(compile(text, "writing-an-ep.md", "exec"), {})


def test_suite(run_suite, example):
    """Nothing that the provider claims fails. (The whole suite is examples/check_ep_example.py's affair.)"""
    names = "relu or softmax_ or test_add or gemm or sigmoid or layouts"
    run = run_suite("sardonyx_conformance.test_onnx", "sardonyx_conformance.contract.test_values", "--ep", "example", "-k", names)
    assert run.status == 0, run.text[-2000:]
    assert not run.failed
    assert "test_case[test_softmax_example-raw]" in run.passed
    assert "its kernel takes float, double" in run.reasons["test_case[test_add_int8-raw]"]

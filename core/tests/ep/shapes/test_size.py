"""The memory guard: what cannot fit is refused before anything is allocated."""

import subprocess
import sys

import pytest

from sardonyx.ep.shapes import available_memory, check_size
from sardonyx.ep.shapes import size as module
from sardonyx.errors import NodeError


def test_small_and_absurd():
    check_size((1 << 20, 64), 4)
    check_size((0, 1 << 62), 8)
    with pytest.raises(NodeError, match=r"\[1000000000, 1000000000\] needs .* GiB"):
        check_size((10**9, 10**9), 1)


def test_what_is_free_decides(monkeypatch):
    monkeypatch.setattr(module, "available_memory", lambda: 1 << 30)
    check_size((1 << 30,), 1)
    with pytest.raises(NodeError, match=r"1\.0 GiB are free"):
        check_size(((1 << 30) + 1,), 1)
    monkeypatch.setattr(module, "available_memory", lambda: None)
    check_size((1 << 60,), 1)


def test_control_group_limits(monkeypatch, tmp_path):
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("600000\n")
    (tmp_path / "memory.stat").write_text("anon 1\ninactive_file 100000\n")
    monkeypatch.setattr(module, "GROUP", tmp_path)
    assert available_memory() == 500_000
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory() != 500_000


def test_address_space_limit():
    text = (
        "import resource; from sardonyx.ep.shapes import available_memory;"
        "resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30)); print(available_memory())"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 3 << 30

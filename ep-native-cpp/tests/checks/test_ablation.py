"""The page about the build's switches, from made-up builds and times."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2] / "checks"))
import ablation
from variants import Variant


@pytest.fixture
def built(tmp_path):
    """Two variants, noted in a work folder."""
    variants = {
        "as shipped": Variant(tmp_path / "0/package", tmp_path / "0/a.whl", 60.0, 2 << 20),
        "without LTO": Variant(tmp_path / "1/package", tmp_path / "1/a.whl", 50.0, 3 << 20),
    }
    made = ablation.Built("baseline;avx2", 100.0, variants)
    made.save(tmp_path)
    return made


def test_builds_are_found_again(built, tmp_path):
    assert ablation.Built.load(tmp_path) == built


@pytest.mark.parametrize(("slower", "told"), [(1.0, "+0.0%"), (0.9, "-10.0%"), (1.25, "+25.0%"), (3.0, "3.0 times")])
def test_table(built, slower, told):
    shipped = np.full(100, 0.002)
    shipped[-2:] = 0.01
    times = {"chain": {"as shipped": shipped, "without LTO": shipped * slower}}
    lines = ablation.table(built.variants, times).splitlines()
    assert lines[0] == "| variant | chain: P50 | P99 | extension | building |"
    assert lines[2] == "| as shipped | 2 ms | 10 ms | 2.00 MiB | 60 s |"
    assert lines[3] == f"| without LTO | {2 * slower:.4g} ms ({told}) | {10 * slower:.4g} ms | 3.00 MiB | 50 s |"
    assert len({line.count("|") for line in lines}) == 1


def test_only_the_figures_of_a_page_are_written_again(tmp_path):
    page = tmp_path / "page.md"
    ablation.write_figures(page, "one\n")
    assert page.read_text() == "# What the build's switches are worth\n\n## Figures\none\n"
    page.write_text("# Title\n\nWhat it shows.\n\n## Figures\none\n")
    ablation.write_figures(page, "two\n")
    assert page.read_text() == "# Title\n\nWhat it shows.\n\n## Figures\ntwo\n"


def test_built_times_what_the_folder_holds(built, tmp_path, monkeypatch):
    monkeypatch.setattr(ablation, "write_models", lambda folder: [folder / "chain.onnx"])
    monkeypatch.setattr(ablation, "build_variants", lambda *_: pytest.fail("nothing is to be built"))
    monkeypatch.setattr(ablation, "time_variants", lambda variants, model, rounds: dict.fromkeys(variants, np.full(9, 0.001)))
    ablation.main([str(tmp_path), str(tmp_path / "page.md"), "--built"])
    text = (tmp_path / "page.md").read_text()
    assert "baseline and avx2" in text
    assert "| without LTO | 1 ms (+0.0%) | 1 ms | 3.00 MiB | 50 s |" in text


def test_built_without_builds(tmp_path, monkeypatch):
    monkeypatch.setattr(ablation, "write_models", lambda folder: [])
    with pytest.raises(FileNotFoundError, match=r"built\.json"):
        ablation.main([str(tmp_path), str(tmp_path / "page.md"), "--built"])

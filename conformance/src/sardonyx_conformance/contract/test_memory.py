"""Runs and sessions give back what they take."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from sardonyx.errors import SardonyxError
from sardonyx_conformance.cases.build import model_of
from sardonyx_conformance.target import Target

MEGABYTE = 2**20
STATUS = "/proc/self/statm"


def resident() -> int:
    """Bytes of memory in use by this process."""
    with open(STATUS) as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grows_by(action: Callable[[], object], warm: int, runs: int) -> int:
    """How much memory in use grows over `runs` calls after `warm` others."""
    for _ in range(warm):
        action()
    gc.collect()
    before = resident()
    for _ in range(runs):
        action()
    gc.collect()
    return resident() - before


def big_chain(columns: int = 16) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A megabyte through four nodes, and 2 KB of weights per column."""
    x = np.random.default_rng(0).standard_normal((512, 512)).astype(np.float32)
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Add", ["a", "x"], ["b"]),
        helper.make_node("Mul", ["b", "k"], ["c"]),
        helper.make_node("MatMul", ["c", "w"], ["y"]),
    ]
    declared = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 512])
    return model_of(nodes, [declared], ["y", "c"], {"k": x[0] + 1, "w": x[:, :columns].copy()}, opset=17), {"x": x}


pytestmark = pytest.mark.skipif(not os.path.exists(STATUS), reason="needs /proc")


def test_runs_do_not_leak(target: Target, variant: str) -> None:
    """200 runs of a megabyte each take no more memory than 10."""
    model, feeds = big_chain()
    session = target.session(model, variant)
    assert grows_by(lambda: session.run(None, feeds), 10, 200) < 8 * MEGABYTE


def test_changing_shapes_do_not_leak(target: Target) -> None:
    """Nor do runs of ever new shapes, beyond what a cache of some of them keeps."""
    model, feeds = big_chain()
    session = target.session(model)
    sizes = iter(range(1, 512))
    assert grows_by(lambda: session.run(None, {"x": feeds["x"][: next(sizes)]}), 100, 300) < 16 * MEGABYTE


def test_sessions_do_not_leak(target: Target) -> None:
    """40 sessions with a megabyte of weights each, one after another."""
    model, feeds = big_chain(512)
    data = model.SerializeToString()
    target.session(data)
    assert grows_by(lambda: target.session(data).run(None, feeds), 5, 40) < 12 * MEGABYTE


def test_failures_do_not_leak(target: Target) -> None:
    """Runs that end in an error free what they had."""
    x = np.ones((512, 512), np.float32)
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Add", ["a", "z"], ["y"])]
    declared = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [f"{n}0", f"{n}1"]) for n in ("x", "z")]
    session = target.session(model_of(nodes, declared, ["y"], opset=17))

    def fail() -> None:
        with pytest.raises(SardonyxError):
            session.run(None, {"x": x, "z": np.ones((3, 3), np.float32)})

    assert grows_by(fail, 10, 100) < 8 * MEGABYTE

"""Random small graphs: optimized and raw sessions agree, and so do a model and what was saved of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings

from sardonyx.ir.load import load
from sardonyx.ir.save import save
from sardonyx_conformance.properties.strategies import quick, random_graph
from sardonyx_conformance.target import Target

Model = tuple[onnx.ModelProto, dict[str, np.ndarray]]
more = settings(quick, max_examples=150)


def same(got: list[np.ndarray], want: list[np.ndarray]) -> None:
    """Equal up to float32's rounding; overflow in the same places."""
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=2e-4, atol=1e-4 * max(1.0, float(np.nanmax(np.abs(w), initial=0, where=np.isfinite(w)))))


@more
@given(pair=random_graph())
def test_optimized_is_raw(pair: Model, target: Target) -> None:
    """Optimizations change no result."""
    model, feeds = pair
    same(target.run(model, feeds, "optimized"), target.run(model, feeds, "raw"))


@quick
@given(pair=random_graph())
def test_saved_is_loaded(pair: Model, target: Target, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A model that was loaded and saved is the same model, valid to onnx's checker."""
    model, feeds = pair
    path = tmp_path_factory.getbasetemp() / "saved.onnx"
    save(load(model), path)
    onnx.checker.check_model(onnx.load(path))
    same(target.run(onnx.load(path), feeds, "raw"), target.run(model, feeds, "raw"))


@quick
@given(pair=random_graph())
def test_optimized_model_can_be_saved(pair: Model, target: Target, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What optimizations make of a model is a valid model with the same results."""
    model, feeds = pair
    path: Path = tmp_path_factory.getbasetemp() / "optimized.onnx"
    options = target.options("optimized")
    options.optimized_model_filepath = str(path)
    import sardonyx

    want = target.run(model, feeds, "raw")
    session = sardonyx.InferenceSession(model, options, providers=[target.ep])
    same(session.run(None, feeds), want)
    same(target.run(onnx.load(path), feeds, "raw"), want)

"""Upsample and old Resize: numbers before and after. onnxruntime judges where it still runs the old form."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx.ir.load import load

X = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)


def test_upsample_1_repeats(tools):
    model = tools.one_node("Upsample", {"x": X}, 1, height_scale=2.0, width_scale=3.0)
    tools.upgraded(model, {"x": X}, [X.repeat(2, 2).repeat(3, 3)], "Resize")


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [[1, 1, 2, 2], [1, 1, 1.5, 2.25], [1, 1, 1, 3]])
def test_upsample_7_and_9(tools, mode, scales):
    old = tools.one_node("Upsample", {"x": X}, 7, mode=mode, scales=[float(s) for s in scales])
    want = tools.onnxruntime(old, {"x": X})
    tools.upgraded(old, {"x": X}, want, "Resize", engine=tools.onnxruntime, rtol=1e-5)
    new = tools.one_node("Upsample", {"x": X}, 9, {"scales": np.float32(scales)}, mode=mode)
    tools.upgraded(new, {"x": X}, want, "Resize", engine=tools.onnxruntime, rtol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("scales", [[1, 1, 2, 1.3], [1, 1, 0.6, 0.6], [1, 1, 0.45, 1]])
def test_resize_10(tools, mode, scales):
    model = tools.one_node("Resize", {"x": X}, 10, {"scales": np.float32(scales)}, mode=mode)
    want = tools.onnxruntime(model, {"x": X})
    tools.upgraded(model, {"x": X}, want, "Resize", engine=tools.onnxruntime, rtol=1e-5)


def test_resize_10_published_case(tools):
    """The onnx case resize_downsample_nearest of opset 10."""
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)
    model = tools.one_node("Resize", {"x": x}, 10, {"scales": np.float32([1, 1, 0.6, 0.6])}, mode="nearest")
    tools.upgraded(model, {"x": x}, [np.float32([[[[1, 3]]]])], "Resize")


def test_resize_10_is_kept_where_unsure(tools):
    up_and_down = tools.one_node("Resize", {"x": X}, 10, {"scales": np.float32([1, 1, 2, 0.5])}, mode="nearest")
    assert load(up_and_down).graph.nodes[0].since == 10
    unknown = tools.one_node("Resize", {"x": X, "s": np.float32([1, 1, 2, 2])}, 10, mode="nearest")
    assert load(unknown).graph.nodes[0].since == 10


def test_resize_11_drops_empty_inputs(tools):
    empty = np.zeros(0, np.float32)
    constants = {"roi": empty, "scales": empty, "sizes": np.array([1, 1, 2, 3])}
    model = tools.one_node("Resize", {"x": X}, 11, constants, mode="linear")
    want = tools.onnxruntime(model, {"x": X})
    loaded = tools.upgraded(model, {"x": X}, want, "Resize", engine=tools.onnxruntime, rtol=1e-5)
    assert loaded.graph.nodes[0].inputs[1:3] == (None, None)


def test_resize_11_crop_keeps_its_roi(tools):
    constants = {"roi": np.float32([0, 0, 0.25, 0, 1, 1, 0.75, 1]), "scales": np.float32([1, 1, 1, 1])}
    model = tools.one_node("Resize", {"x": X}, 11, constants, mode="linear", coordinate_transformation_mode="tf_crop_and_resize")
    assert load(model).graph.nodes[0].inputs[1].name == "roi"


def test_resize_11_tf_half_pixel_is_kept(tools):
    constants = {"roi": np.zeros(0, np.float32), "scales": np.float32([1, 1, 2, 2])}
    model = tools.one_node("Resize", {"x": X}, 11, constants, coordinate_transformation_mode="tf_half_pixel_for_nn")
    assert load(model).graph.nodes[0].since == 11


def test_a_mode_that_upsample_has_not_stays(tools):
    model = tools.one_node("Upsample", {"x": X}, 9, {"scales": np.float32([1, 1, 2, 2])}, mode="bogus")
    assert [n.op for n in load(model).graph.nodes] == ["Upsample"]

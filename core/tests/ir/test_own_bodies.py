"""Bodies in place of ONNX's."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx.ir.functions import expand
from sardonyx.ir.load import load
from sardonyx.ir.own_bodies import own_body
from sardonyx.ir.save import to_proto
from sardonyx.ir.verify import verify


@pytest.mark.parametrize("size", [[1, 1, 2, 3], [2, 1, 1, 3], [1, 1, 2, 1, 2]], ids=str)
def test_affine_grid(tools, size):
    """Of the identity: the points themselves, in a batch of one and for axes of one element too."""
    rank = len(size) - 2
    theta = np.tile(np.eye(rank, rank + 1, dtype=np.float32), (size[0], 1, 1))
    loaded = load(tools.one_node("AffineGrid", {"theta": theta}, 20, {"size": np.array(size)}, ["theta", "size"], align_corners=1))
    assert expand(loaded.graph.nodes[0]) == loaded.graph.nodes
    verify(loaded.graph)
    lines = [np.linspace(-1, 1, n) if n > 1 else np.zeros(1) for n in size[2:]]
    want = np.stack(np.meshgrid(*lines, indexing="ij")[::-1], axis=-1)
    (got,) = tools.reference(to_proto(loaded), {"theta": theta})
    np.testing.assert_allclose(got, np.broadcast_to(want, got.shape), atol=1e-6)


def test_others_are_onnxs():
    assert own_body("", "Gelu") is None
    assert own_body("other", "AffineGrid") is None

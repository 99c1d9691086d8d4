"""Convolutions whose inputs have no channels, or no pixels: sums of nothing, to which the bias is added."""

import numpy as np
import pytest


@pytest.mark.parametrize(("op", "kernel"), [("Conv", 2), ("Conv", 1), ("ConvTranspose", 2)])
@pytest.mark.parametrize("fixed", [(), (1, 2)], ids=["weights given", "weights constant"])
def test_no_channels(node, op, kernel, fixed):
    w = np.ones((40, 0, kernel, kernel) if op == "Conv" else (0, 40, kernel, kernel), np.float32)
    bias = np.arange(40, dtype=np.float32)
    y = node(op, np.ones((2, 0, 4, 4), np.float32), w, bias, fixed=fixed)[0]
    size = {"Conv": 5 - kernel, "ConvTranspose": 3 + kernel}[op]
    np.testing.assert_array_equal(y, np.broadcast_to(bias[:, None, None], (2, 40, size, size)))

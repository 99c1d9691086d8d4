import numpy as np
import pytest

from sardonyx_ep_cpu.kernels import kernels


@pytest.fixture(scope="package")
def run():
    """Run one operator of ai.onnx.ml through the table, as the interpreter does: prepared once, then called."""

    def call(op, *inputs, since=1, **attributes):
        kernel = kernels.find("ai.onnx.ml", op, since)
        prepared = {"prepared": kernel.prepare(np, [None] * len(inputs), dict(attributes))} if kernel.prepare else {}
        for array in inputs:
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
        return kernel.function(np, *inputs, **attributes, **prepared)

    return call

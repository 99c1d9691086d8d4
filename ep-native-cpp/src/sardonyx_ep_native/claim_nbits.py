"""What the engine takes of products with weights quantized in blocks."""

from __future__ import annotations

import numpy as np

from sardonyx.ir.graph import Node
from sardonyx_ep_native.claims import FLOATS, add, dtypes


@add("MatMulNBits", domain="com.microsoft")
def matmul_nbits(node: Node) -> str | None:
    """Constant weights of 2, 4 or 8 bits whose blocks follow one another."""
    a = node.attrs
    bits, block, k = a.get("bits", 4), a.get("block_size", 0), a.get("K", 0)
    if a.get("weight_prepacked", 0):
        return "its weights are packed for CUDA"
    if bits not in (2, 4, 8) or block < 16 or block % 16 or k < 1 or a.get("N", 0) < 1:
        return f"the engine takes no {bits}-bit weights in blocks of {block}"
    for i, name in ((1, "weights"), (2, "scales"), (3, "zero points")):
        v = node.input(i)
        if v is not None and v.const is None:
            return f"its {name} are no constants"
    groups = node.input(4)
    if groups is not None and (groups.const is None or not np.array_equal(groups.const.numpy(), np.arange(k) // block)):
        return "its g_idx does not name consecutive blocks"
    byte = (np.dtype("u1"),)
    return dtypes(node, FLOATS, (0, 2, 5)) or dtypes(node, byte, (1,)) or dtypes(node, (*byte, *FLOATS), (3,))

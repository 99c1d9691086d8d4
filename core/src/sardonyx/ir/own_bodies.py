"""Function bodies in place of ONNX's own, where those do not hold for every input."""

from __future__ import annotations

from typing import Any

__all__ = ["own_body"]

# ONNX's takes a batch of one apart, and divides by zero where corners are aligned and an axis has one element (in its middle).
# Element i of n lies at (2 i - (n - 1)) / (n - align_corners).
_AFFINE_GRID = """
<domain: "", opset_import: ["" : 20]>
AffineGrid <align_corners> (theta, size) => (grid) {
    none = Constant <value_int: int = 0> ()
    single = Constant <value_int: int = 1> ()
    zero = Constant <value_ints: ints = [0]> ()
    one = Constant <value_ints: ints = [1]> ()
    two = Constant <value_ints: ints = [2]> ()
    three = Constant <value_ints: ints = [3]> ()
    third_last = Constant <value_ints: ints = [-3]> ()
    end = Constant <value_ints: ints = [9223372036854775807]> ()
    not_x = Constant <value_ints: ints = [0, 1]> ()
    not_y = Constant <value_ints: ints = [0, 2]> ()
    not_z = Constant <value_ints: ints = [1, 2]> ()
    corners = Constant <value_int: int = @align_corners> ()
    given = Cast <to: int = 9> (corners)
    aligned = Cast <to: int = 7> (given)
    sizes = Slice (size, two, end)
    axes = Shape (sizes)
    at_least_three = Concat <axis: int = 0> (one, sizes)
    dims = Slice (at_least_three, third_last, end)
    most = Sub (dims, one)
    room = Sub (dims, aligned)
    reach = Max (room, one)
    reach_as = CastLike (reach, theta)
    most_as = CastLike (most, theta)
    one_as = CastLike (one, theta)
    d1, h1, w1 = Split <num_outputs: int = 3> (dims)
    dm, hm, wm = Split <num_outputs: int = 3> (most_as)
    dr, hr, wr = Split <num_outputs: int = 3> (reach_as)
    d = Squeeze (d1, zero)
    h = Squeeze (h1, zero)
    w = Squeeze (w1, zero)
    di = Range (none, d, single)
    hi = Range (none, h, single)
    wi = Range (none, w, single)
    dt = CastLike (di, theta)
    ht = CastLike (hi, theta)
    wt = CastLike (wi, theta)
    dd = Add (dt, dt)
    hh = Add (ht, ht)
    ww = Add (wt, wt)
    dc = Sub (dd, dm)
    hc = Sub (hh, hm)
    wc = Sub (ww, wm)
    z1 = Div (dc, dr)
    y1 = Div (hc, hr)
    x1 = Div (wc, wr)
    z3 = Unsqueeze (z1, not_z)
    y3 = Unsqueeze (y1, not_y)
    x3 = Unsqueeze (x1, not_x)
    zs = Expand (z3, dims)
    ys = Expand (y3, dims)
    xs = Expand (x3, dims)
    ones = Expand (one_as, dims)
    z = Unsqueeze (zs, three)
    y = Unsqueeze (ys, three)
    x = Unsqueeze (xs, three)
    last = Unsqueeze (ones, three)
    xyz = Concat <axis: int = 3> (x, y, z)
    used = Slice (xyz, zero, axes, three)
    points = Concat <axis: int = 3> (used, last)
    columns = Add (axes, one)
    rows = ReduceProd <keepdims: int = 1> (dims)
    flat_shape = Concat <axis: int = 0> (rows, columns)
    flat = Reshape <allowzero: int = 1> (points, flat_shape)
    turned = Transpose <perm: ints = [0, 2, 1]> (theta)
    moved = MatMul (flat, turned)
    batch = Slice (size, zero, one)
    shape = Concat <axis: int = 0> (batch, sizes, axes)
    grid = Reshape <allowzero: int = 1> (moved, shape)
}
"""
_TEXTS = {("", "AffineGrid"): _AFFINE_GRID}


def own_body(domain: str, op: str) -> Any:
    """The FunctionProto of an operator whose body is given here, or None."""
    text = _TEXTS.get((domain, op))
    if text is None:
        return None
    from onnx import parser

    return parser.parse_function(text)

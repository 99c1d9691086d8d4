"""Derivatives of convolutions: each is a convolution of the other kind, or one over the batch."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx.ir.gradient.rules import Rules

__all__ = ["Geometry", "geometry", "input_gradient", "rules"]

rules = Rules()


@dataclass(frozen=True)
class Geometry:
    """Strides, dilations and explicit pads (begins, then ends) of windows over `rank` spatial axes."""

    rank: int
    strides: list[int]
    dilations: list[int]
    pads: list[int]

    @property
    def attrs(self):
        """As attributes."""
        return {"strides": self.strides, "dilations": self.dilations, "pads": self.pads}


def geometry(t, x, kernel, auto_pad="NOTSET", dilations=None, pads=None, strides=None):
    """The geometry of windows over x [N, C, *D] with a kernel whose sizes are ints where they are known."""
    rank = len(kernel)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        sizes = x.shape[2:] if x.shape is not None else [None]
        if not all(isinstance(n, int) for n in (*sizes, *kernel)):
            t.refuse(f"its auto_pad is {auto_pad}, and sizes are not known")
        total = [max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0) for n, k, s, d in zip(sizes, kernel, strides, dilations, strict=True)]
        begins = [(n + (auto_pad == "SAME_LOWER")) // 2 for n in total]
        pads = [*begins, *(n - b for n, b in zip(total, begins, strict=True))]
    elif auto_pad == "VALID" or not pads:
        pads = [0] * 2 * rank
    return Geometry(rank, strides, dilations, pads)


def input_gradient(t, g, x, w, geo, group=1, dims=None):
    """The gradient of x, whose spatial shape `dims` is (if not x's), from g = that of conv(x, w)."""
    dims = t.shape(x, 2) if dims is None else dims
    extra, cut = [0] * geo.rank, False
    if any(s > 1 for s in geo.strides):
        extra, cut = [s - 1 for s in geo.strides], True
    y = t("ConvTranspose", g, w, group=group, **geo.attrs, output_padding=extra)
    return _cut(t, y, geo.rank, dims) if cut else y


def _cut(t, y, rank, dims):
    """The first `dims` of the spatial axes."""
    return t("Slice", y, [0] * rank, dims, list(range(2, 2 + rank)))


def _weight_gradient(t, g, x, w, geo, group):
    """The gradient of w [M, C/group, *K] from g [N, M, *O] = that of conv(x, w): x convolved with g, whose channels are the batch."""
    swap = [1, 0, *range(2, geo.rank + 2)]
    turned = t("Transpose", x, perm=swap)
    if group > 1:
        apart = t.reshape(x, t.ints(t.shape(x, 0, 1), [group], t.shape(w, 1, 2), t.shape(x, 2)))
        apart = t("Transpose", apart, perm=[2, 1, 0, *range(3, geo.rank + 3)])
        turned = t.reshape(apart, t.ints(t.shape(w, 1, 2), [-1], t.shape(x, 2)))
    kernel = t("Transpose", g, perm=swap)
    y = t("Conv", turned, kernel, group=group, strides=geo.dilations, dilations=geo.strides, pads=geo.pads)
    if any(s > 1 for s in geo.strides):
        y = _cut(t, y, geo.rank, t.shape(w, 2))
    return t("Transpose", y, perm=swap)


def _bias_gradient(t, g, rank):
    return t("ReduceSum", g, [0, *range(2, rank + 2)], keepdims=0)


def _kernel(t, w, kernel_shape):
    return kernel_shape or list(w.shape[2:] if w.shape is not None else [None] * (t.rank(w) - 2))


@rules.add("Conv")
def conv(t, node, g, x, w, b=None, *, auto_pad="NOTSET", dilations=None, group=1, kernel_shape=None, pads=None, strides=None):
    """A transposed convolution of g with W; one of x with g over the batch; sums of g."""
    geo = geometry(t, x, _kernel(t, w, kernel_shape), auto_pad, dilations, pads, strides)
    return (
        lambda: input_gradient(t, g, x, w, geo, group),
        lambda: _weight_gradient(t, g, x, w, geo, group),
        lambda: _bias_gradient(t, g, geo.rank),
    )


@rules.add("ConvTranspose")
def conv_transpose(
    t,
    node,
    g,
    x,
    w,
    b=None,
    *,
    auto_pad="NOTSET",
    dilations=None,
    group=1,
    kernel_shape=None,
    output_padding=None,
    output_shape=None,
    pads=None,
    strides=None,
):
    """A convolution of g with W; one of g with x over the batch; sums of g."""
    if output_shape or auto_pad not in ("NOTSET", "VALID"):
        t.refuse("its output's shape, not its pads, is given")
    geo = geometry(t, x, _kernel(t, w, kernel_shape), auto_pad, dilations, pads, strides)
    more = any(extra >= s for extra, s in zip(output_padding or [], geo.strides, strict=False))

    def data():
        y = t("Conv", g, w, group=group, **geo.attrs)
        return _cut(t, y, geo.rank, t.shape(x, 2)) if more else y

    return data, lambda: _weight_gradient(t, x, g, w, geo, group), lambda: _bias_gradient(t, g, geo.rank)

"""NonMaxSuppression."""

from __future__ import annotations

from typing import Any

import numpy as np

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError

__all__ = ["non_max_suppression", "ops"]

ops = KernelSet()

_BLOCK = 64


@ops.add("NonMaxSuppression", since=10, host=(2, 3, 4))
def non_max_suppression(
    xp, boxes, scores, max_output_boxes_per_class=None, iou_threshold=None, score_threshold=None, *, center_point_box=0
):
    """The boxes [N, B, 4] to keep for each class of scores [N, classes, B], as int64 [K, 3]: (batch, class, box).

    Best scores first, the lower index first among equals. A box is dropped if its overlap with a kept one is greater than
    `iou_threshold`, or its score is not greater than `score_threshold`.
    """
    if boxes.ndim != 3 or boxes.shape[2] != 4 or scores.ndim != 3 or scores.shape[::2] != boxes.shape[:2]:
        raise NodeError(f"NonMaxSuppression takes boxes [N, B, 4] and scores [N, classes, B], got {boxes.shape} and {scores.shape}")
    most = _scalar(max_output_boxes_per_class, 0)
    overlap = np.float32(_scalar(iou_threshold, 0.0))
    if not 0 <= overlap <= 1:
        raise NodeError(f"iou_threshold must be in [0, 1], got {overlap}")
    least = None if score_threshold is None else _scalar(score_threshold, 0.0)
    if most <= 0:
        return xp.empty((0, 3), xp.int64)
    kept = []
    for n in range(scores.shape[0]):
        corners = _corners(xp, boxes[n], center_point_box)
        for c in range(scores.shape[1]):
            score = scores[n, c]
            order = xp.arange(score.size) if least is None else xp.flatnonzero(score > least)
            order = order[xp.argsort(-score[order], kind="stable")]
            kept += [(n, c, box) for box in _select(xp, corners, order, int(most), overlap)]
    return xp.asarray(kept, dtype=xp.int64).reshape(-1, 3)


def _scalar(value: Any, default: float) -> Any:
    if value is None or value.size == 0:
        return default
    if value.size != 1:
        raise NodeError(f"the limits of NonMaxSuppression are scalars, got shape {value.shape}")
    return value.reshape(-1)[0]


def _corners(xp: Any, boxes: Any, center_point_box: int) -> Any:
    """Boxes [B, 4] as [5, B]: lower and upper corner on both axes, and area."""
    a, b, c, d = boxes.T
    if center_point_box:
        low0, high0, low1, high1 = a - c / 2, a + c / 2, b - d / 2, b + d / 2
    else:
        low0, high0, low1, high1 = xp.minimum(a, c), xp.maximum(a, c), xp.minimum(b, d), xp.maximum(b, d)
    return xp.stack([low0, high0, low1, high1, (high0 - low0) * (high1 - low1)])


def _select(xp: Any, corners: Any, order: Any, most: int, overlap: Any) -> list[int]:
    """Greedily the boxes of `order` that overlap no box chosen before by more than `overlap`.

    Boxes are settled a block at a time, first among themselves, then what remains against those chosen.
    """
    chosen: list[int] = []
    while order.size and len(chosen) < most:
        head, order = order[:_BLOCK], order[_BLOCK:]
        among = _overlaps(xp, corners[:, head], corners[:, head], overlap)
        dropped = xp.zeros(head.size, bool)
        kept = []
        for i in range(head.size):
            if not dropped[i]:
                kept.append(i)
                dropped |= among[i]
        kept = kept[: most - len(chosen)]
        chosen += head[kept].tolist()
        if order.size and len(chosen) < most:
            order = order[~_overlaps(xp, corners[:, head[kept]], corners[:, order], overlap).any(axis=0)]
    return chosen


def _overlaps(xp: Any, first: Any, second: Any, overlap: Any) -> Any:
    """Whether box i of `first` [5, I] and box j of `second` [5, J] overlap by more than `overlap`: bool [I, J]."""
    low0, high0, low1, high1, area = first[:, :, None]
    height = xp.minimum(high0, second[1])
    height -= xp.maximum(low0, second[0])
    width = xp.minimum(high1, second[3])
    width -= xp.maximum(low1, second[2])
    common = xp.maximum(height, 0, out=height)
    common *= xp.maximum(width, 0, out=width)
    union = area + second[4]
    union -= common
    positive = union > 0
    union *= overlap
    return (common > union) & positive

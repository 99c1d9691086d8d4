"""Sum and Mean over any number of tensors that broadcast like numpy; float16 and bfloat16 are added up in float32."""

from __future__ import annotations

from sardonyx.ep import KernelSet
from sardonyx_ep_cpu.precision import widen

__all__ = ["ops"]

ops = KernelSet()


@ops.add("Sum", since=6)
def sum_(xp, *xs):
    if len(xs) <= 2:
        return xs[0] if len(xs) == 1 else xp.add(xs[0], xs[1])
    return _total(xp, xs).astype(xs[0].dtype, copy=False)


@ops.add("Mean", since=6)
def mean(xp, *xs):
    return xs[0] if len(xs) == 1 else (_total(xp, xs) / len(xs)).astype(xs[0].dtype, copy=False)


def _total(xp, xs):
    xs = [widen(x) for x in xs]
    total = xs[0] + xs[1]
    for x in xs[2:]:
        total = total + x
    return total

"""One fuzz case, made from the seed and its number alone."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import onnx

from sardonyx_conformance.fuzz.absurd import absurd
from sardonyx_conformance.fuzz.corpus import Sample
from sardonyx_conformance.fuzz.mutate_bytes import mutate_bytes
from sardonyx_conformance.fuzz.mutate_feeds import mutate_feeds
from sardonyx_conformance.fuzz.mutate_graph import mutate_graph

__all__ = ["KINDS", "FuzzCase", "make_case"]

KINDS = ("bytes", "graph", "feeds", "absurd")
WEIGHTS = (20, 45, 25, 10)


@dataclass
class FuzzCase:
    """`same` holds the sample whose answer the case must give too, where its feeds mean the same. `form` is how the model is
    handed over: bytes, file or proto; `raw` turns optimizations off."""

    index: int
    kind: str
    what: str
    model: bytes
    feeds: dict[str, Any]
    form: str
    raw: bool
    files: dict[str, bytes] = field(default_factory=dict)
    same: Sample | None = None

    @property
    def title(self) -> str:
        """What the case is, in a line."""
        return f"{self.kind} {self.what} [{self.form}{', raw' if self.raw else ''}]"


def make_case(corpus: list[Sample], seed: int, index: int, kinds: tuple[str, ...] = KINDS) -> FuzzCase:
    """Case `index` of the run with that seed."""
    rng = random.Random(seed * 1_000_003 + index)
    weights = [w for k, w in zip(KINDS, WEIGHTS, strict=True) if k in kinds]
    kind = rng.choices([k for k in KINDS if k in kinds], weights)[0]
    raw, form = rng.random() < 0.4, rng.choice(("bytes", "bytes", "file", "proto"))
    if kind == "absurd":
        proto, feeds, what = absurd(rng)
        return FuzzCase(index, kind, what, proto.SerializeToString(), feeds, form, raw)
    sample = rng.choice(corpus)
    form = "file" if sample.files else form
    if kind == "bytes":
        form = "bytes" if form == "proto" else form
        return FuzzCase(index, kind, sample.name, mutate_bytes(sample.model, rng), sample.feeds, form, raw, sample.files)
    if kind == "graph":
        proto = onnx.ModelProto.FromString(sample.model)
        what = mutate_graph(proto, rng)
        feeds = sample.feeds
        if rng.random() < 0.2:
            feeds, more, _ = mutate_feeds(feeds, rng)
            what += f", feeds: {more}"
        return FuzzCase(index, kind, f"{sample.name}: {what}", proto.SerializeToString(), feeds, form, raw, sample.files)
    feeds, what, same = mutate_feeds(sample.feeds, rng)
    return FuzzCase(
        index, kind, f"{sample.name}: {what}", sample.model, feeds, form, raw, sample.files, sample if same and not sample.random else None
    )

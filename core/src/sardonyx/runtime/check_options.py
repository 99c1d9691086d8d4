"""Whether the options of a session have an effect on it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sardonyx.errors import InvalidInput, InvalidType, did_you_mean
from sardonyx.ir.graph import Model
from sardonyx.runtime import arguments, discovery
from sardonyx.runtime.options import SessionOptions

__all__ = ["cautions", "check_passes", "disabled_passes"]

KEYWORDS = ("disabled_optimizers", "enable_fallback", "read_config_from_model")
# Threads for one processor from which on they are no help, but probably a mistake.
MANY = 16


def disabled_passes(options: SessionOptions, keywords: Mapping[str, Any]) -> set[str]:
    """The passes and rules that the options and the keywords of a session leave out. InvalidType for an unknown keyword."""
    for name in keywords:
        if name not in KEYWORDS:
            raise InvalidType(f"InferenceSession has no argument {name!r}{did_you_mean(name, KEYWORDS)}")
    given = keywords.get("disabled_optimizers")
    return options.disabled_optimizers | set(arguments.names("disabled_optimizers", () if given is None else given))


def check_passes(disabled: Collection[str]) -> None:
    """InvalidInput for a name that no pass or rule has."""
    if not disabled:
        return
    from sardonyx.passes import pass_names

    known = pass_names(discovery.passes())
    for name in sorted(disabled):
        if name not in known:
            near = did_you_mean(name, known) or "; `sardonyx explain --passes` lists the passes"
            raise InvalidInput(f"disabled_optimizers: no pass or rule is called {name!r}{near}")


def cautions(model: Model, options: SessionOptions) -> Iterator[str]:
    """What the maker of a session is warned of: the model's own cautions, and options that do nothing, or hardly what is meant."""
    yield from model.cautions
    free = {d for v in model.graph.inputs for d in v.shape or () if isinstance(d, str)}
    for name in options._dims:
        if name not in model.fixed:
            yield f"a free dimension override has no effect: no input has a symbolic dimension {name!r}{did_you_mean(name, free)}"
    for name in options._denotations:
        if name not in model.fixed:
            yield f"a free dimension override has no effect: no input has a free dimension with denotation {name!r}"
    threads, processors = options.intra_op_num_threads, os.cpu_count() or 1
    if threads > MANY * processors:
        yield f"intra_op_num_threads is {threads}, far more than the {processors} processors here: a provider may take fewer"

"""Pipeline: several models chained as one session."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sardonyx.errors import InvalidInput
from sardonyx.ir.chain import chain
from sardonyx.ir.graph import Model, Value
from sardonyx.ir.load import load
from sardonyx.runtime import arguments
from sardonyx.runtime.check_assign import names_of
from sardonyx.runtime.joints import find_joints
from sardonyx.runtime.options import SessionOptions
from sardonyx.runtime.session import InferenceSession
from sardonyx.runtime.sources import portable, source_of

__all__ = ["Pipeline"]


class Pipeline(InferenceSession):
    """Several models as one session: outputs of a stage feed inputs of later stages by name.

    `stages` are models (path, bytes, onnx.ModelProto, or an InferenceSession for its model), each alone or as
    (name, model), in order; or a dict of name -> model. Without a name, a stage is called after its file, else `stage1`,
    `stage2`, ... `mapping` says what names do not: {"stage.input": "stage.output"}, the stage left out where it is clear, and
    None for an input that is not to be fed by a stage.

    Inputs that no stage feeds are the pipeline's; outputs that feed no stage are its outputs. Every tensor can be asked for
    as `stage.name`, and by its name alone where only one stage has it. The models are optimized and placed as one, so
    tensors between them stay where they are. `sess_options.assign` may name a stage. Raises InvalidInput where names are
    missing or ambiguous, and where dtypes or shapes at a joint differ.
    """

    def __init__(
        self,
        stages: Sequence[Any] | Mapping[str, Any],
        sess_options: SessionOptions | None = None,
        providers: Sequence[Any] | None = None,
        provider_options: Sequence[dict[str, Any]] | None = None,
        *,
        mapping: Mapping[str, str | None] | None = None,
        **kwargs: Any,
    ):
        form = "a dict of stage.input -> stage.output, or None"
        self._mapping = dict(arguments.instance("mapping", {} if mapping is None else mapping, Mapping, form))
        for key, value in self._mapping.items():
            arguments.text("an input in mapping", key)
            arguments.instance(f"the output for {key!r} in mapping", value, (str, type(None)), "text, or None for no stage")
        super().__init__(_named(stages), sess_options, providers, provider_options, **kwargs)

    @property
    def stages(self) -> list[str]:
        """The names of the stages, in order."""
        return [name for name, _ in self._source]

    def _read(self) -> Model:
        o = self._options
        models = [
            (name, load(source, external=o._external or None, strict=o.strict, dims=o._dims, denotations=o._denotations))
            for name, source in self._source
        ]
        places = [(name, [v.name for v in m.graph.inputs], [n for n, _ in m.output_types]) for name, m in models]
        return chain(models, find_joints(places, self._mapping))

    def _assignable(self, model: Model) -> set[str]:
        return names_of(model.graph) | set(self.stages)

    def _wishes(self, wishes: dict[str, str], model: Model) -> dict[str, str]:
        stages = {f"{key}.": ep for key, ep in wishes.items() if key in self.stages}
        nodes = [n.name for n in model.graph.walk_nodes()] if stages else []
        return {n: ep for n in nodes for start, ep in stages.items() if n.startswith(start)} | wishes

    def _tensors(self, model: Model) -> dict[str, Value]:
        known = super()._tensors(model)
        short: dict[str, list[Value]] = {}
        for stage in self.stages:
            for name, v in known.items():
                if name.startswith(f"{stage}."):
                    short.setdefault(name.removeprefix(f"{stage}."), []).append(v)
        outputs = {name: v for (name, _), v in zip(model.output_types, model.graph.outputs, strict=True)}
        return {name: values[0] for name, values in short.items() if len(values) == 1} | known | outputs

    def __getstate__(self) -> dict[str, Any]:
        return self._state() | {"source": [(name, portable(source)) for name, source in self._source]}

    def _state(self) -> dict[str, Any]:
        return super()._state() | {"mapping": self._mapping}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._mapping = state["mapping"]
        super().__setstate__(state)


def _named(stages: Any) -> list[tuple[str, Any]]:
    items = list(stages.items()) if isinstance(stages, Mapping) else list(stages) if isinstance(stages, (list, tuple)) else None
    if not items:
        raise InvalidInput("stages are a list of models, each alone or as (name, model), or a dict of name -> model; at least one")
    named: list[tuple[str, Any]] = []
    for i, item in enumerate(items):
        name, model = item if isinstance(item, tuple) and len(item) == 2 else (_default_name(item, i, {n for n, _ in named}), item)
        if not isinstance(name, str) or not name or "." in name:
            raise InvalidInput(f"a stage's name is a text without dots, not {name!r}")
        if name in (n for n, _ in named):
            raise InvalidInput(f"two stages are called {name!r}")
        named.append((name, model._source if isinstance(model, InferenceSession) else source_of(model)))
    return named


def _default_name(model: Any, index: int, taken: set[str]) -> str:
    path = model._model_path if isinstance(model, InferenceSession) else model if isinstance(model, (str, os.PathLike)) else None
    name = Path(path).stem.replace(".", "_") if path is not None else ""
    return name if name and name not in taken else f"stage{index + 1}"

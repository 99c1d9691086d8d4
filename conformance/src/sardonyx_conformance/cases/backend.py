"""The backend tests of the installed onnx: generated in memory since onnx 1.23, read from its files before."""

from __future__ import annotations

import functools
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from sardonyx_conformance.cases.case import Case, DataSet, input_names, operators

__all__ = ["KINDS", "load_cases"]

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
LIGHT = "onnx/backend/test/data/light/"


@functools.cache
def load_cases() -> list[Case]:
    """Every case that needs no download, by kind and name."""
    from onnx.backend.test.loader import load_model_tests

    cases = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for kind in KINDS:
            found = [_case(t, kind) for t in sorted(load_model_tests(kind=kind), key=lambda t: t.name)]
            cases += [c for c in found if c is not None]
    return cases


def _case(test: Any, kind: str) -> Case | None:
    if test.model is not None:
        return Case(test.name, kind, test.rtol, test.atol, lambda: test.model, lambda: _in_memory(test), operators(test.model))
    if test.model_dir is not None:
        folder = Path(test.model_dir)
        return _file_case(test, kind, folder / "model.onnx", lambda model: _from_files(folder, model))
    if test.url is not None and test.url.startswith(LIGHT):
        path = Path(onnx.__file__).parent.parent / test.url
        return _file_case(test, kind, path, lambda model: _light(path, model)) if path.exists() else None
    return None


def _file_case(test: Any, kind: str, path: Path, data: Any) -> Case:
    model = functools.cache(lambda: onnx.load(os.fspath(path)))
    return Case(test.name, kind, test.rtol, test.atol, model, lambda: data(model()), operators(model()))


def _in_memory(test: Any) -> list[DataSet]:
    return [([_value(x) for x in inputs], [_value(y) for y in outputs]) for inputs, outputs in test.data_sets]


def _value(x: Any) -> Any:
    """A fresh copy: what a provider does to it must not reach the case."""
    if isinstance(x, onnx.TensorProto):
        return numpy_helper.to_array(x)
    if isinstance(x, (list, tuple)):
        return [_value(e) for e in x]
    return x if x is None or isinstance(x, dict) else np.array(x)


def _from_files(folder: Path, model: onnx.ModelProto) -> list[DataSet]:
    sets = []
    for place in sorted(folder.glob("test_data_set*")):
        inputs = [_read(place / f"input_{i}.pb", model.graph.input[i]) for i in range(len(list(place.glob("input_*.pb"))))]
        outputs = [_read(place / f"output_{i}.pb", model.graph.output[i]) for i in range(len(list(place.glob("output_*.pb"))))]
        sets.append((inputs, outputs))
    return sets


def _read(path: Path, declared: onnx.ValueInfoProto) -> Any:
    data = path.read_bytes()
    if declared.type.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if declared.type.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def _light(path: Path, model: onnx.ModelProto) -> list[DataSet]:
    """The light models come with expected outputs for a ramp from 0 to 1 as the input."""
    names = set(input_names(model))
    inputs = []
    for v in model.graph.input:
        if v.name in names:
            shape = [d.dim_value if d.HasField("dim_value") else 1 for d in v.type.tensor_type.shape.dim]
            count = int(np.prod(shape))
            inputs.append((np.arange(count).reshape(shape) / count).astype(np.float32))
    outputs = [path.with_name(f"{path.stem}_output_{i}.pb") for i in range(len(model.graph.output))]
    return [(inputs, [numpy_helper.to_array(onnx.TensorProto.FromString(p.read_bytes())) for p in outputs])]

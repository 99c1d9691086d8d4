"""Every kernel's signature is its operator's schema, for every version of the schema that the kernel serves."""

import inspect
from collections import defaultdict

import numpy as np
import pytest
from onnx import defs, helper

from sardonyx.ep.kernels import FILLED
from sardonyx_ep_cpu.kernels import kernels

VARIADIC = defs.OpSchema.FormalParameterOption.Variadic
OPTIONAL = defs.OpSchema.FormalParameterOption.Optional


def served():
    """(kernel, schema) for every schema version of every registered operator of the standard domains."""
    versions = defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        versions["" if schema.domain == "ai.onnx" else schema.domain, schema.name].append(schema)
    for (domain, op), schemas in sorted(versions.items()):
        for schema in sorted(schemas, key=lambda s: s.since_version):
            kernel = kernels.find(domain, op, schema.since_version)
            if kernel is not None:
                yield pytest.param(kernel, schema, id=f"{domain or 'ai.onnx'}-{op}-{schema.since_version}")


def default_of(attribute):
    """What the signature must have as default: the schema's, None if there is none, empty if the attribute is required."""
    if attribute.required:
        return inspect.Parameter.empty
    if not attribute.default_value.type:
        return None
    value = helper.get_attribute_value(attribute.default_value)
    if isinstance(value, bytes):
        return value.decode()
    return (
        [v.decode() if isinstance(v, bytes) else v for v in value]
        if isinstance(value, (list, tuple)) or hasattr(value, "__len__")
        else value
    )


def same(given, wanted):
    if isinstance(wanted, float) and isinstance(given, (int, float)) and not isinstance(given, bool):
        return np.float32(given) == np.float32(wanted)
    if isinstance(wanted, list):
        return list(given) == wanted if isinstance(given, (list, tuple)) else False
    return type(given) is type(wanted) and given == wanted


def mismatches(kernel, schema):
    """One sentence for each difference between the function's signature and the schema."""
    parameters = list(inspect.signature(kernel.function).parameters.values())[1:]
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    keywords = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in FILLED}
    variadic = bool(schema.inputs) and schema.inputs[-1].option == VARIADIC
    fixed = schema.inputs[:-1] if variadic else schema.inputs
    if rest != variadic:
        yield f"variadic inputs: {rest}, in the schema {variadic}"
    if len(positional) != len(fixed):
        yield f"takes {[p.name for p in positional]}, the schema has {[i.name for i in fixed]}"
    for parameter, formal in zip(positional, fixed, strict=False):
        if formal.option == OPTIONAL and not variadic and parameter.default is not None:
            yield f"optional input {formal.name} has no default None"
    if keywords.keys() != schema.attributes.keys():
        yield f"attributes {sorted(keywords.keys() ^ schema.attributes.keys())} are not in both"
    for name in keywords.keys() & schema.attributes.keys():
        wanted = default_of(schema.attributes[name])
        if not same(keywords[name], wanted):
            yield f"default of {name} is {keywords[name]!r}, in the schema {wanted!r}"


@pytest.mark.parametrize(("kernel", "schema"), list(served()))
def test_signature_is_the_schema(kernel, schema):
    assert not list(mismatches(kernel, schema))

"""Models whose graphs, attributes, types and versions have been changed."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from typing import Any

import onnx
from onnx import AttributeProto, TensorProto, helper

__all__ = ["ABSURD", "mutate_graph"]

ABSURD = (0, 1, -1, 2, 3, 7, 255, 65536, 10**6, 2**31 - 1, 2**31, 2**32 + 1, 10**12, 2**62, 2**63 - 1, -2, -7, -(2**31), -(2**63))
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, 3.4e38, float("inf"), float("-inf"), float("nan"))
TEXTS = ("", "x", "linear", "SAME_UPPER", "NOTSET", "Tanh", "é", "\0", "'\"\\\n", "a" * 5000, "(a+)+$", "...,...->...", "ij,jk->ik")
OPSETS = (*range(29), 99, -1, 2**31, 2**63 - 1)


def mutate_graph(model: onnx.ModelProto, rng: random.Random) -> str:
    """Change `model` in place one to three times; returns what was done."""
    done = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change = rng.choice(CHANGES)
        change(model, rng)
        done.append(change.__name__.strip("_"))
    return ", ".join(done)


def _graphs(model: onnx.ModelProto) -> list[Any]:
    """The main graph, the bodies in it, and the functions."""

    def walk(nodes: Any) -> Iterator[Any]:
        for node in nodes:
            for a in node.attribute:
                if a.type == AttributeProto.GRAPH:
                    yield a.g
                    yield from walk(a.g.node)

    found = [model.graph, *walk(model.graph.node)]
    for f in model.functions:
        found += [f, *walk(f.node)]
    return found


def _graph(model: onnx.ModelProto, rng: random.Random) -> Any:
    return rng.choice(_graphs(model))


def _pick(model: onnx.ModelProto, rng: random.Random) -> Any:
    """A node, anywhere."""
    nodes = [n for g in _graphs(model) for n in g.node]
    return rng.choice(nodes) if nodes else model.graph.node.add(op_type="Identity", input=["x"], output=["y"])


def _names(model: onnx.ModelProto) -> list[str]:
    names = {i for g in _graphs(model) for n in g.node for i in (*n.input, *n.output)}
    return sorted(names) or [""]


def _rewire(model: onnx.ModelProto, rng: random.Random) -> None:
    node = _pick(model, rng)
    if node.input:
        node.input[rng.randrange(len(node.input))] = rng.choice(_names(model))


def _cycle(model: onnx.ModelProto, rng: random.Random) -> None:
    node = _pick(model, rng)
    if node.input and node.output:
        node.input[rng.randrange(len(node.input))] = rng.choice(node.output)


def _absent(model: onnx.ModelProto, rng: random.Random) -> None:
    node = _pick(model, rng)
    names = rng.choice((node.input, node.input, node.output))
    if names:
        names[rng.randrange(len(names))] = rng.choice(("", "nowhere"))


def _swap_inputs(model: onnx.ModelProto, rng: random.Random) -> None:
    node = _pick(model, rng)
    names = list(node.input)
    rng.shuffle(names)
    node.input[:] = names


def _arity(model: onnx.ModelProto, rng: random.Random) -> None:
    node = _pick(model, rng)
    names = rng.choice((node.input, node.input, node.output))
    if names and rng.random() < 0.5:
        del names[rng.randrange(len(names))]
    else:
        names.extend(rng.choices(_names(model), k=rng.choice((1, 1, 5))) if names is node.input else [f"new{rng.randrange(3)}"])


def _remove_node(model: onnx.ModelProto, rng: random.Random) -> None:
    g = _graph(model, rng)
    if g.node:
        del g.node[rng.randrange(len(g.node))]


def _duplicate_node(model: onnx.ModelProto, rng: random.Random) -> None:
    g = _graph(model, rng)
    if g.node:
        copy = g.node.add()
        copy.CopyFrom(rng.choice(g.node))
        if rng.random() < 0.7:
            copy.output[:] = [f"{o}_copy" for o in copy.output]


def _swap_nodes(model: onnx.ModelProto, rng: random.Random) -> None:
    g = _graph(model, rng)
    if len(g.node) > 1:
        a, b = rng.sample(range(len(g.node)), 2)
        kept = onnx.NodeProto.FromString(g.node[a].SerializeToString())
        g.node[a].CopyFrom(g.node[b])
        g.node[b].CopyFrom(kept)


@functools.cache
def _operators() -> list[tuple[str, str]]:
    return sorted({(s.domain, s.name) for s in onnx.defs.get_all_schemas()})


def _operator(model: onnx.ModelProto, rng: random.Random) -> None:
    node = _pick(model, rng)
    node.domain, node.op_type = rng.choice(_operators())
    if node.domain and all(o.domain != node.domain for o in model.opset_import):
        model.opset_import.add(domain=node.domain, version=rng.choice((1, 2, 3, 4, 5)))
    if rng.random() < 0.5:
        del node.attribute[:]


def _attribute(model: onnx.ModelProto, rng: random.Random) -> None:
    node = _pick(model, rng)
    if node.attribute and rng.random() < 0.7:
        _change_attribute(rng.choice(node.attribute), rng)
        return
    known = _attributes(node.domain, node.op_type)
    if known:
        name, kind = rng.choice(known)
        for i in reversed(range(len(node.attribute))):
            if node.attribute[i].name == name:
                del node.attribute[i]
        a = node.attribute.add(name=name, type=kind)
        if kind == AttributeProto.INTS:
            a.ints.extend(rng.choices(ABSURD, k=rng.randrange(5)))
        elif kind == AttributeProto.FLOATS:
            a.floats.extend(rng.choices(FLOATS, k=rng.randrange(5)))
        else:
            _change_attribute(a, rng)


@functools.cache
def _attributes(domain: str, op: str) -> list[tuple[str, int]]:
    try:
        s: Any = onnx.defs.get_schema(op, domain)
    except onnx.defs.SchemaError:
        return []
    return [(name, a.type.value) for name, a in s.attributes.items()]


def _change_attribute(a: Any, rng: random.Random) -> None:
    if a.type == AttributeProto.INT:
        a.i = rng.choice(ABSURD)
    elif a.type == AttributeProto.FLOAT:
        a.f = rng.choice(FLOATS)
    elif a.type == AttributeProto.STRING:
        a.s = rng.choice((*(t.encode() for t in TEXTS), b"\xff\xfe"))
    elif a.type == AttributeProto.INTS:
        _change_list(a.ints, ABSURD, rng)
    elif a.type == AttributeProto.FLOATS:
        _change_list(a.floats, FLOATS, rng)
    elif a.type == AttributeProto.STRINGS:
        _change_list(a.strings, [t.encode() for t in TEXTS], rng)
    elif a.type == AttributeProto.TENSOR:
        _change_tensor(a.t, rng)
    else:
        a.type = rng.randrange(15)


def _change_list(values: Any, pool: Any, rng: random.Random) -> None:
    how = rng.randrange(5)
    if how == 0 or not values:
        values.append(rng.choice(pool))
    elif how == 1:
        del values[rng.randrange(len(values))]
    elif how == 2:
        del values[:]
    else:
        values[rng.randrange(len(values))] = rng.choice(pool)


def _drop_attribute(model: onnx.ModelProto, rng: random.Random) -> None:
    node = _pick(model, rng)
    if node.attribute:
        del node.attribute[rng.randrange(len(node.attribute))]


def _odd_attribute(model: onnx.ModelProto, rng: random.Random) -> None:
    node = _pick(model, rng)
    if node.attribute and rng.random() < 0.5:
        a = rng.choice(node.attribute)
        if rng.random() < 0.3:
            node.attribute.add().CopyFrom(a)
        elif rng.random() < 0.5:
            a.type = rng.randrange(15)
        else:
            a.CopyFrom(helper.make_attribute(a.name, rng.choice((1, 2.5, "text", [1, 2], [1.5], ["a"]))))
    else:
        name = rng.choice(("axis", "to", "a=1)#", "None", "é", "", "xp", "self", "n_outputs", "rng", "prepared"))
        node.attribute.append(helper.make_attribute(name, rng.choice((1, 2.5, "text", [1, 2]))))


def _tensors(model: onnx.ModelProto) -> list[Any]:
    graphs = [g for g in _graphs(model) if isinstance(g, onnx.GraphProto)]
    found = [t for g in graphs for t in g.initializer]
    return found + [a.t for g in _graphs(model) for n in g.node for a in n.attribute if a.type == AttributeProto.TENSOR]


def _tensor(model: onnx.ModelProto, rng: random.Random) -> None:
    tensors = _tensors(model)
    if tensors:
        _change_tensor(rng.choice(tensors), rng)


def _change_tensor(t: Any, rng: random.Random) -> None:
    how = rng.randrange(6)
    if how == 0:
        t.data_type = rng.choice((*range(30), 99, -1))
    elif how == 1:
        _change_list(t.dims, ABSURD, rng)
    elif how == 2 and t.raw_data:
        t.raw_data = t.raw_data[: rng.randrange(len(t.raw_data))]
    elif how == 3:
        t.data_location = TensorProto.EXTERNAL
        for key, pool in (("location", ("/etc/passwd", "../x", "", "no.bin", "a\0b")), ("offset", ("-1", "99999999999", "x"))):
            t.external_data.add(key=key, value=rng.choice(pool))
    elif t.data_type == TensorProto.INT64 and t.raw_data:
        raw = bytearray(t.raw_data)
        at = rng.randrange(max(1, len(raw) // 8)) * 8
        raw[at : at + 8] = rng.choice(ABSURD).to_bytes(8, "little", signed=True)
        t.raw_data = bytes(raw)
    elif t.raw_data:
        raw = bytearray(t.raw_data)
        for _ in range(4):
            raw[rng.randrange(len(raw))] = rng.choice((0, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        t.raw_data = bytes(raw)


def _declared(model: onnx.ModelProto, rng: random.Random) -> None:
    graphs = [g for g in _graphs(model) if isinstance(g, onnx.GraphProto)]
    infos = [v for g in graphs for v in (*g.input, *g.output, *g.value_info)]
    if not infos:
        return
    v = rng.choice(infos)
    how = rng.randrange(6)
    if how == 0:
        v.ClearField("type")
    elif how == 1 and v.type.HasField("tensor_type"):
        v.type.tensor_type.elem_type = rng.choice((*range(30), 99, -1))
    elif how == 2:
        v.name = rng.choice((*_names(model), "", "é", 'a"\nb'))
    elif how == 3:
        kind = helper.make_tensor_type_proto(rng.choice((1, 7, 8)), None)
        v.type.CopyFrom(rng.choice((helper.make_sequence_type_proto(kind), helper.make_optional_type_proto(kind))))
    elif v.type.HasField("tensor_type"):
        shape = v.type.tensor_type.shape
        if shape.dim and rng.random() < 0.7:
            d = rng.choice(shape.dim)
            if rng.random() < 0.3:
                d.dim_param = rng.choice(("n", "", "n + 1"))
            else:
                d.dim_value = rng.choice(ABSURD)
        else:
            shape.dim.add(dim_value=rng.choice(ABSURD))


def _version(model: onnx.ModelProto, rng: random.Random) -> None:
    how = rng.randrange(4)
    if how == 0:
        model.ir_version = rng.choice((0, 1, 3, 4, 10, 99, -1, 2**62))
    elif how == 1:
        del model.opset_import[:]
    elif model.opset_import:
        rng.choice(model.opset_import).version = rng.choice(OPSETS)


def _function(model: onnx.ModelProto, rng: random.Random) -> None:
    if not model.functions:
        return
    f = rng.choice(model.functions)
    how = rng.randrange(4)
    if how == 0:
        f.node.add(op_type=f.name, domain=f.domain, input=f.input, output=["again"])
    elif how == 1:
        f.name = rng.choice(("Add", "", "Inner", "Outer"))
    elif how == 2:
        del f.opset_import[:]
    else:
        names = rng.choice((f.input, f.output, f.attribute))
        if names:
            names[rng.randrange(len(names))] = rng.choice(("", "other", "a"))


def _outputs(model: onnx.ModelProto, rng: random.Random) -> None:
    g = model.graph
    how = rng.randrange(4)
    if how == 0:
        del g.output[:]
    elif how == 1 and g.output:
        g.output.add().CopyFrom(g.output[0])
    elif how == 2 and g.input:
        g.output.add().CopyFrom(rng.choice(g.input))
    else:
        g.output.add(name=rng.choice(_names(model)))


CHANGES = (
    *(_attribute,) * 8,
    *(_tensor,) * 4,
    *(_declared,) * 3,
    *(_rewire, _operator, _arity, _version) * 2,
    _cycle,
    _absent,
    _swap_inputs,
    _remove_node,
    _duplicate_node,
    _swap_nodes,
    _drop_attribute,
    _odd_attribute,
    _function,
    _outputs,
)

import pickle
import re
import types

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.ep import CustomOp, custom_op, hook
from sardonyx.errors import InvalidInput, InvalidModel, NodeError, NotSupported
from sardonyx.runtime import discovery

X = np.arange(4, dtype=np.float32)
DOMAIN = "test.custom"


@pytest.fixture
def op():
    """custom_op for one test."""
    made = []

    def decorate(name, domain=DOMAIN, **kwargs):
        def keep(function):
            made.append(custom_op(domain, name, **kwargs)(function))
            return made[-1]

        return keep

    yield decorate
    for one in made:
        one.unregister()


def node(name, inputs, outputs, **attributes):
    return helper.make_node(name, inputs, outputs, domain=attributes.pop("domain", DOMAIN), name=f"the_{name}", **attributes)


def model_of(nodes, inputs=("x",), outputs=("y",), version=1, opset=20, types_of=None):
    def info(n):
        return helper.make_tensor_value_info(n, (types_of or {}).get(n, TensorProto.FLOAT), ["n"] if n in inputs else None)

    graph = helper.make_graph(nodes, "g", [info(i) for i in inputs], [info(o) for o in outputs])
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(DOMAIN, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def open_session(model, providers=("cpu",), options=None):
    return sardonyx.InferenceSession(model, options, providers=list(providers))


@custom_op(DOMAIN, "AtModuleLevel", dtypes=[0], register=False)
def at_module_level(x):
    return x + 1


def test_a_function_stands_for_an_operator(op):
    @op("Scale", dtypes=[0])
    def scale(x, *, factor=2.0):
        return x * np.float32(factor)

    session = open_session(model_of([node("Scale", ["x"], ["a"], factor=3.0), helper.make_node("Neg", ["a"], ["y"])]))
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], -3 * X)
    np.testing.assert_array_equal(session.run(["a"], {"x": X})[0], 3 * X)
    assert {n.op: n.ep for n in session.explain().nodes} == {"Scale": "custom", "Neg": "cpu"}
    assert session.get_providers() == ["cpu"]
    assert scale(X, factor=1.0) is not None


def test_several_outputs_absent_inputs_and_many_inputs(op):
    @op("Split2", dtypes=[0, np.int64])
    def split(x, y=None, *rest):
        return x if y is None else x + y, np.int64(len(rest))

    def run(*inputs):
        used = tuple(dict.fromkeys(i for i in inputs if i))
        return open_session(model_of([node("Split2", inputs, ["y", "n"])], used, ("y", "n"), types_of={"n": TensorProto.INT64})).run(
            None, dict.fromkeys(used, X)
        )

    np.testing.assert_array_equal(run("x")[0], X)
    np.testing.assert_array_equal(run("x", "")[0], X)
    y, n = run("x", "x", "z", "x")
    np.testing.assert_array_equal(y, 2 * X)
    assert n == 2


def test_types_and_shapes_are_known_to_what_follows(op):
    @op("Tail", dtypes=[np.int64], shape=lambda x, *, count: (x[0], count))
    def tail(x, *, count):
        return np.ones((len(x), count), np.int64)

    model = model_of(
        [node("Tail", ["x"], ["a"], count=3), helper.make_node("Shape", ["a"], ["y"], start=1)], types_of={"y": TensorProto.INT64}
    )
    session = open_session(model)
    assert session.explain().nodes == []
    assert session.run(None, {"x": X})[0].tolist() == [3]
    placed = open_session(model_of([node("Tail", ["x"], ["y"], count=3)], types_of={"y": TensorProto.INT64}))
    assert (placed.get_outputs()[0].type, placed.get_outputs()[0].shape) == ("tensor(int64)", ["n", 3])


def test_a_shape_function_may_not_do_arithmetic_with_symbols(op):
    @op("Double", dtypes=[0], shape=lambda x: (2 * x[0],))
    def double(x):
        return np.concatenate([x, x])

    session = open_session(model_of([node("Double", ["x"], ["y"])]))
    assert session.get_outputs()[0].shape in ([], [None])
    assert session.run(None, {"x": X})[0].shape == (8,)


@pytest.mark.parametrize("op_type", ["If", "Loop", "Scan"])
def test_inside_bodies(op, op_type):
    @op("AddOne", dtypes=[0], shape=lambda x: x)
    def add_one(x):
        return x + 1

    def value(name, kind=TensorProto.FLOAT, shape=None):
        return helper.make_tensor_value_info(name, kind, shape)

    if op_type == "If":
        bodies = {k: helper.make_graph([node("AddOne", ["x"], ["r"])], k, [], [value("r")]) for k in ("then_branch", "else_branch")}
        nodes = [helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0), helper.make_node("Cast", ["m"], ["c"], to=TensorProto.BOOL)]
        nodes.append(helper.make_node("If", ["c"], ["y"], **bodies))
        expected = X + 1
    elif op_type == "Loop":
        body_nodes = [helper.make_node("Identity", ["c"], ["c2"]), node("AddOne", ["s"], ["s2"])]
        body = helper.make_graph(body_nodes, "b", [value("i", 7, []), value("c", 9, []), value("s")], [value("c2", 9, []), value("s2")])
        nodes = [
            helper.make_node("Constant", [], ["m"], value_int=3),
            helper.make_node("Loop", ["m", "", "x"], ["y"], body=body),
        ]
        expected = X + 3
    else:
        body = helper.make_graph([node("AddOne", ["e"], ["r"])], "b", [value("e", shape=[])], [value("r", shape=[])])
        nodes = [helper.make_node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1)]
        expected = X + 1
    np.testing.assert_array_equal(open_session(model_of(nodes)).run(None, {"x": X})[0], expected)


def test_beside_a_provider_with_memory_of_its_own(op, device_ep):
    from sardonyx.ep import KernelSet

    @op("AddOne", dtypes=[0])
    def add_one(x):
        assert type(x) is np.ndarray
        return x + 1

    kernels = KernelSet()
    kernels.add("MatMul")(lambda xp, a, b: a @ b)
    kernels.add("Mul")(lambda xp, a, b: a * b)
    device_ep("dev", kernels)
    nodes = [helper.make_node("MatMul", ["x", "x"], ["a"]), node("AddOne", ["a"], ["b"]), helper.make_node("Mul", ["b", "b"], ["y"])]
    session = open_session(model_of(nodes), ["dev"])
    (y,) = session.run(None, {"x": X})
    assert y.shape == ()
    assert y == np.float32((X @ X + 1) ** 2)


def test_strictness_allows_what_was_registered(op):
    @op("AddOne", dtypes=[0])
    def add_one(x):
        return x + 1

    options = sardonyx.SessionOptions()
    options.strict = True
    np.testing.assert_array_equal(open_session(model_of([node("AddOne", ["x"], ["y"])]), options=options).run(None, {"x": X})[0], X + 1)


def test_versions(op):
    for since, add in ((2, 20), (5, 50)):

        @op("Add", dtypes=[0], since=since)
        def added(x, add=add):
            return x + np.float32(add)

        added.where = "redefined"

    def run(version):
        return open_session(model_of([node("Add", ["x"], ["y"])], version=version)).run(None, {"x": X})[0][0]

    assert [run(2), run(4), run(5), run(9)] == [20, 20, 50, 50]
    with pytest.raises(NotSupported, match=r"custom: registered from version 2, 5 of 'test\.custom' on, the model imports version 1"):
        run(1)


def test_what_nobody_registered_says_how_to():
    with pytest.raises(NotSupported) as e:
        open_session(model_of([node("Unknown", ["x"], ["y"])]))
    assert "ONNX does not define test.custom::Unknown: register a Python function for it with " in str(e.value)
    assert "@sardonyx.custom_op('test.custom', 'Unknown', dtypes=[...])" in str(e.value)


def test_overloads_are_of_functions_only(op):
    @op("AddOne", dtypes=[0])
    def add_one(x):
        return x + 1

    model = model_of([node("AddOne", ["x"], ["y"])])
    model.graph.node[0].overload = "fast"
    with pytest.raises(InvalidModel, match=r"calls overload 'fast' of test\.custom::AddOne, which is no function of the model"):
        open_session(model)


@pytest.mark.parametrize(
    ("inputs", "outputs", "attributes", "message"),
    [
        (["x", "x"], ["y"], {"k": 1}, "the node has 2 inputs, its function takes 1"),
        (["x"], ["y", "z"], {"k": 1}, "the node has 2 outputs, its function gives 1"),
        (["x"], ["y"], {"k": 1, "other": 1}, "its function has no attribute 'other' (a keyword-only parameter); it has ['k']"),
        (["x"], ["y"], {}, "the node lacks attribute 'k', which its function requires"),
    ],
)
def test_nodes_that_do_not_fit_the_function(op, inputs, outputs, attributes, message):
    @op("One", dtypes=[0])
    def one(x, *, k):
        return x

    with pytest.raises(NotSupported, match=re.escape("custom: " + message)):
        open_session(model_of([node("One", inputs, outputs, **attributes)], outputs=tuple(outputs)))


@pytest.mark.parametrize(
    ("function", "kwargs", "message"),
    [
        (lambda x: x.astype(np.float64), {"dtypes": [0]}, "output 0 is float64, declared is float32: convert it, e.g. y.astype('float32')"),
        (lambda x: (x, x), {"dtypes": [0]}, "declares 1 outputs, its function returned 2"),
        (lambda x: [1, 2], {"dtypes": [0]}, "output 0 is list, not a numpy array"),
        (lambda x: x[:2], {"dtypes": [0], "shape": lambda s: s}, "output 0 has shape [2], but its shape function says [4]"),
        (lambda x: x.sort(), {"dtypes": [0]}, "read-only"),
        (lambda x: 1 / 0, {"dtypes": [0]}, "division by zero"),
    ],
)
def test_functions_that_break_their_word(op, function, kwargs, message):
    op("Bad", **kwargs)(function)
    with pytest.raises(NodeError, match=re.escape(message)) as e:
        open_session(model_of([node("Bad", ["x"], ["y"])])).run(None, {"x": X})
    assert e.value.node == "the_Bad"


def test_a_declared_output_type_that_is_not_the_functions(op):
    @op("One", dtypes=[np.int64])
    def one(x):
        return np.zeros(1, np.int64)

    model = model_of([node("One", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])])
    model.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [1]))
    with pytest.raises(NotSupported, match="the model declares 'a' as float32, its function gives int64"):
        open_session(model)


@pytest.mark.parametrize(
    ("args", "kwargs", "function", "message"),
    [
        (("", "Relu"), {"dtypes": [0]}, lambda x: x, "'ai.onnx' is ONNX's own domain"),
        (("d", "F"), {"dtypes": [0], "since": 0}, lambda x: x, "since is the first version"),
        (("d", "F"), {"dtypes": []}, lambda x: x, "dtypes is empty"),
        (("d", "F"), {"dtypes": np.float32}, lambda x: x, "dtypes is a list"),
        (("d", "F"), {"dtypes": ["nonsense"]}, lambda x: x, "'nonsense' is not a dtype"),
        (("d", "F"), {"dtypes": [1]}, lambda x: x, "names input 1, but its function has 1 inputs"),
        (("d", "F"), {"dtypes": [0]}, lambda x, **attributes: x, "keyword-only parameters, each by its name"),
    ],
)
def test_declarations_that_cannot_be(args, kwargs, function, message):
    with pytest.raises(InvalidInput, match=re.escape(message)):
        custom_op(*args, register=False, **kwargs)(function)


def test_one_function_for_one_operator(op):
    @op("Same", dtypes=[0])
    def first(x):
        return x

    with pytest.raises(InvalidInput, match=r"test\.custom::Same-1 is registered already, by .*first; unregister"):

        @custom_op(DOMAIN, "Same", dtypes=[0])
        def second(x):
            return x

    def again():
        @op("Cell", dtypes=[0])
        def cell(x):
            return x

        return cell

    again()
    newest = again()
    assert repr(newest).startswith("<custom operator test.custom::Cell-1: ")


def test_operators_of_one_session():
    options = sardonyx.SessionOptions()
    options.register_custom_ops(at_module_level)
    model = model_of([node("AtModuleLevel", ["x"], ["y"])])
    session = open_session(model, options=options)
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], X + 1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(session)).run(None, {"x": X})[0], X + 1)
    with pytest.raises(NotSupported):
        open_session(model)


def test_sources_of_operators(tmp_path, monkeypatch):
    (tmp_path / "my_operators.py").write_text(
        "import sardonyx\n@sardonyx.custom_op('test.custom', 'Twice', dtypes=[0], register=False)\ndef twice(x):\n    return x * 2\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    options = sardonyx.SessionOptions()
    options.register_custom_ops_library("my_operators")
    session = open_session(model_of([node("Twice", ["x"], ["y"])]), options=options)
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], 2 * X)
    with pytest.raises(NotSupported, match="has another interface"):
        options.register_custom_ops_library("/somewhere/libcustom.so")
    with pytest.raises(InvalidInput, match="cannot be imported"):
        options.register_custom_ops("no_such_module_of_operators")
    with pytest.raises(InvalidInput, match="has no custom operators"):
        options.register_custom_ops(types)


def test_a_package_gives_operators_through_its_hook(register):
    module = types.ModuleType("plugin_of_operators")

    def sardonyx_custom_ops():
        return [at_module_level]

    module.sardonyx_custom_ops = hook(sardonyx_custom_ops)
    register("operators", module=module)
    session = open_session(model_of([node("AtModuleLevel", ["x"], ["y"])]))
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], X + 1)
    assert "operators" not in [p.name for p in discovery.providers()]
    with pytest.raises(sardonyx.SardonyxError, match="has no provider, only sardonyx_custom_ops"):
        open_session(model_of([node("AtModuleLevel", ["x"], ["y"])]), ["operators"])


def test_equal_nodes_are_not_merged(op):
    calls = []

    @op("Count", dtypes=[0])
    def count(x):
        calls.append(1)
        return x

    nodes = [node("Count", ["x"], ["a"]), node("Count", ["x"], ["b"]), helper.make_node("Add", ["a", "b"], ["y"])]
    open_session(model_of(nodes)).run(None, {"x": X})
    assert len(calls) == 2


def test_strings_and_python_scalars(op):
    @op("Text", dtypes=[str, np.float32])
    def text(x):
        return np.array(["a", "b"]), 1.5

    model = model_of([node("Text", ["x"], ["y", "z"])], outputs=("y", "z"), types_of={"y": TensorProto.STRING})
    y, z = open_session(model).run(None, {"x": X})
    assert y.tolist() == ["a", "b"]
    assert (z.dtype, z.tolist()) == (np.float32, 1.5)
    assert isinstance(text, CustomOp)


def test_a_saved_model_keeps_its_custom_nodes(op, tmp_path):
    @op("Add", dtypes=[0], since=3)
    def added(x, *, k=1):
        return x + np.float32(k)

    options = sardonyx.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    open_session(model_of([node("Add", ["x"], ["y"], k=4)], version=7), options=options)
    saved = onnx.load(options.optimized_model_filepath)
    assert {o.domain: o.version for o in saved.opset_import}[DOMAIN] == 7
    np.testing.assert_array_equal(open_session(options.optimized_model_filepath).run(None, {"x": X})[0], X + 4)

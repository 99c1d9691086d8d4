"""Whatever goes wrong inside leaves a session as a SardonyxError that says what failed, and the session works on."""

import dataclasses

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import sardonyx
from sardonyx.ep import Executable
from sardonyx.errors import InternalError, InvalidInput, InvalidModel, NodeError, ProviderError, SardonyxError
from sardonyx.passes.dims import reshape_dims
from sardonyx.runtime import discovery
from sardonyx.runtime import session as session_module

X = np.ones(4, np.float32)
discovery_find = discovery.find


def model_of(nodes, outputs=("y",), inputs=("x",)):
    def info(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [4])

    graph = helper.make_graph(nodes, "g", [info(i) for i in inputs], [info(o) for o in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def relu():
    return model_of([helper.make_node("Relu", ["x"], ["y"], name="r")])


def session_of(model):
    return sardonyx.InferenceSession(model, providers=["cpu"])


def test_a_provider_that_fails_while_compiling(monkeypatch):
    from sardonyx_ep_cpu.provider import CpuProvider

    def broken(self, graph, context):
        raise KeyError("no such thing")

    monkeypatch.setattr(CpuProvider, "compile", broken)
    with pytest.raises(ProviderError, match=r"provider 'cpu': compiling 1 nodes failed: KeyError"):
        session_of(relu())


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (lambda options: 7, r"provider 'cpu': its create\(options\) returned int"),
        (lambda options: {}["x"], r"'cpu': making it failed: KeyError"),
    ],
)
def test_a_provider_that_cannot_be_made(monkeypatch, create, message):
    state = discovery.find("cpu")[0]
    changed = dataclasses.replace(state, info=dataclasses.replace(state.info, create=create))
    monkeypatch.setattr(discovery, "find", lambda name: (changed, *discovery_find(name)[1:]))
    with pytest.raises(ProviderError, match=message):
        session_of(relu())


@pytest.mark.parametrize("error", [RuntimeError("device lost"), MemoryError()])
def test_a_provider_that_fails_while_running(monkeypatch, error):
    from sardonyx_ep_cpu.provider import CpuProvider

    class Broken(Executable):
        def run(self, inputs, *, outputs=None, ctx=None):
            raise error

    monkeypatch.setattr(CpuProvider, "compile", lambda self, graph, context: Broken())
    with pytest.raises(SardonyxError, match="memory" if isinstance(error, MemoryError) else "device lost") as caught:
        session_of(relu()).run(None, {"x": X})
    assert caught.value.__cause__ is error


def test_a_fault_of_our_own_is_an_internal_error(monkeypatch):
    monkeypatch.setattr(session_module, "load", lambda *args, **kwargs: [][0])
    with pytest.raises(InternalError, match="making the session failed: IndexError"):
        session_of(relu())


def test_outputs_that_do_not_fit_memory(monkeypatch):
    session = session_of(relu())

    def full(*args):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(session_module, "own", full)
        with pytest.raises(SardonyxError, match="ran out of memory"):
            session.run(None, {"x": X})
    np.testing.assert_array_equal(session.run(None, {"x": X})[0], X)


def test_what_a_kernel_cannot_prepare_names_the_node():
    node = helper.make_node("Einsum", ["x"], ["y"], name="sum", equation="1i->i")
    with pytest.raises(NodeError, match="'sum'"):
        session_of(model_of([node])).run(None, {"x": X})


def test_interrupts_and_warnings_are_not_errors(monkeypatch):
    session = session_of(relu())
    for error in (KeyboardInterrupt(), UserWarning("asked for as an error")):

        def raising(*args, error=error):
            raise error

        with monkeypatch.context() as patch:
            patch.setattr(session_module, "own", raising)
            with pytest.raises(type(error)):
                session.run(None, {"x": X})


@pytest.mark.parametrize("names", ["y", 3, b"y", [None], [["y"]]], ids=repr)
def test_names_of_outputs_that_are_none(names):
    with pytest.raises(InvalidInput, match="list of names"):
        session_of(relu()).run(names, {"x": X})


@pytest.mark.parametrize("names", [("y",), {"y"}, np.array(["y"]), [], None], ids=repr)
def test_names_of_outputs_in_any_collection(names):
    np.testing.assert_array_equal(session_of(relu()).run(names, {"x": X})[0], X)


def test_one_node_that_nobody_takes_beside_one_that_expands(monkeypatch):
    nodes = [helper.make_node("Nope", ["x"], ["a"], domain="nowhere"), helper.make_node("Softsign", ["a"], ["y"])]
    model = model_of(nodes)
    model.opset_import.add(domain="nowhere", version=1)
    kernels = sardonyx.runtime.discovery.find("cpu")[0].info.create({}).kernels
    found = kernels.find
    monkeypatch.setattr(type(kernels), "find", lambda self, domain, op, since: None if op == "Softsign" else found(domain, op, since))
    with pytest.raises(sardonyx.errors.NotSupported, match="Nope"):
        session_of(model)


def test_a_model_nested_deeper_than_protobuf_allows():
    model = relu()
    graph = model.graph
    for depth in range(200):
        node = graph.node.add(op_type="If", input=["x"], output=[f"o{depth}"])
        graph = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g
    with pytest.raises(InvalidModel):
        session_of(model)


def test_feeds_of_bytes_that_are_not_utf8():
    node = helper.make_node("Identity", ["x"], ["y"])
    info = helper.make_tensor_value_info("x", TensorProto.STRING, [1])
    graph = helper.make_graph([node], "g", [info], [helper.make_tensor_value_info("y", TensorProto.STRING, [1])])
    session = session_of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    assert session.run(None, {"x": np.array([b"a\xff"])})[0].tolist() == ["a\udcff"]


NAMES = ['a"b', "a'b", "a\nb", "a\\", "x)#", "None", "a\0b", "\u2028", "i0", "k0", "xp", '"""', "é" * 10_000]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_no_name_reaches_the_generated_program(name):
    nodes = [helper.make_node("Neg", [name], [name + "1"], name=name), helper.make_node("Abs", [name + "1"], ["y"], name=name)]
    session = session_of(model_of(nodes, inputs=(name,)))
    np.testing.assert_array_equal(session.run(None, {name: X})[0], X)
    np.testing.assert_array_equal(session.run([name + "1"], {name: X})[0], -X)


TEXTS = ['"', "\\", "\n", "\r", "\udcff", "'''", "{}", "\u2028", "\0", "a" * 10_000]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_texts_of_attributes_arrive_as_they_are(text):
    node = helper.make_node("StringSplit", ["x"], ["y", "n"])
    node.attribute.add(name="delimiter", type=onnx.AttributeProto.STRING, s=text.encode("utf-8", "surrogateescape"))
    info = helper.make_tensor_value_info("x", TensorProto.STRING, [1])
    graph = helper.make_graph([node], "g", [info], [helper.make_tensor_value_info("y", TensorProto.STRING, None)])
    session = session_of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    assert session.run(None, {"x": np.array([f"p{text}q"], object)})[0].tolist() == [["p", "q"]]


def test_a_body_that_is_no_graph():
    node = helper.make_node("Scan", ["x"], ["y"], num_scan_inputs=1)
    node.attribute.add(name="body", type=onnx.AttributeProto.TYPE_PROTO)
    with pytest.raises(InvalidModel, match="'body' is a type that says nothing"):
        session_of(model_of([node]))


def test_a_permutation_that_is_none():
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[7]), helper.make_node("Relu", ["t"], ["y"])]
    with pytest.raises(SardonyxError) as caught:
        session_of(model_of(nodes)).run(None, {"x": X})
    assert not isinstance(caught.value, InternalError)


def test_outputs_declared_twice_keep_their_places():
    nodes = [helper.make_node("Neg", ["x"], ["y"]), helper.make_node("Abs", ["x"], ["z"])]
    session = session_of(model_of(nodes, outputs=("y", "y", "z")))
    assert [o.name for o in session.get_outputs()] == ["y", "y", "z"]
    for got, want in zip(session.run(None, {"x": X}), (-X, -X, X), strict=True):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(session.run(["z"], {"x": X})[0], X)


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"])
def test_more_outputs_than_the_operator_gives(level):
    """BatchNormalization gives running statistics in training mode only: a node that names them otherwise gets no None."""
    names = ["x", "s", "s", "s", "s"]
    node = helper.make_node("BatchNormalization", names, ["y", "mean", "var"], name="norm")
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
    infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4]), helper.make_tensor_value_info("s", TensorProto.FLOAT, [4])]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in ("y", "mean", "var")]
    model = helper.make_model(helper.make_graph([node], "g", infos, outputs), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    session = sardonyx.InferenceSession(model, options, providers=["cpu"])
    with pytest.raises(NodeError, match="gives 1 outputs, but the node names 3"):
        session.run(None, {"x": np.ones((2, 4), np.float32), "s": X})


@pytest.mark.parametrize("level", ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"])
def test_a_branch_that_gives_an_outer_value_which_nothing_else_outside_reads(level):
    then = helper.make_graph([], "then", [], [helper.make_tensor_value_info("a", TensorProto.FLOAT, [4])])
    other = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["n"])], "else", [], [helper.make_tensor_value_info("n", TensorProto.FLOAT, [4])]
    )
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("ReduceSum", ["a"], ["s"], keepdims=0),
        helper.make_node("Cast", ["s"], ["c"], to=TensorProto.BOOL),
        helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
    ]
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = getattr(sardonyx.GraphOptimizationLevel, level)
    session = sardonyx.InferenceSession(model_of(nodes), options, providers=["cpu"])
    np.testing.assert_array_equal(session.run(None, {"x": -X})[0], X)


def test_dims_whose_product_is_no_dim():
    assert reshape_dims((2**40, 2**40), [-1], 0) == (None,)
    assert reshape_dims((2**40, 2**20), [-1], 0) == (2**60,)
    shape = helper.make_tensor("shape", TensorProto.INT64, [1], [-1])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2**40, 2**40])
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["t"]), helper.make_node("Softmax", ["t"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [shape])
    session = session_of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
    with pytest.raises(InvalidInput, match="shape"):
        session.run(None, {"x": X.reshape(2, 2)})

import gc
import os
import weakref

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import sardonyx
from sardonyx.ep import WeightStore
from sardonyx.ir.load import load
from sardonyx.ir.tensor import Tensor

X = np.ones((1, 64), np.float32)


def write(path, fill, producer=""):
    """y = x @ w for a w of 64 x 64, all `fill`; `producer` moves the weights in the file, so that they are not aligned."""
    w = numpy_helper.from_array(np.full((64, 64), fill, np.float32), "w")
    x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, 64]) for n in "xy")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [w])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9, producer_name=producer)
    onnx.save(model, path)
    return model


def weight(source):
    return next(v.const for v in load(source).graph.constants())


def test_tensors_of_one_file_have_one_identity(tmp_path):
    path = tmp_path / "m.onnx"
    write(path, 1)
    first = weight(path)
    assert weight(path).identity == first.identity
    assert weight(path).region[0] is first.region[0]
    data = path.read_bytes()
    assert weight(data).identity == weight(data).identity != first.identity
    write(tmp_path / "other.onnx", 1)
    assert weight(tmp_path / "other.onnx").identity != first.identity


def test_a_file_that_changed_is_another(tmp_path):
    path, new = tmp_path / "m.onnx", tmp_path / "new.onnx"
    write(path, 1)
    kept = weight(path)
    write(new, 2)
    os.replace(new, path)
    assert weight(path).identity != kept.identity
    session = sardonyx.InferenceSession(path, providers=["cpu"])
    assert session.run(None, {"x": X})[0][0, 0] == 128


def test_values_without_a_place_are_known_by_their_digest():
    a = np.arange(4096, dtype=np.float32)
    assert Tensor.of(a).identity == Tensor.of(a.copy()).identity
    others = [Tensor.of(a + 1), Tensor.of(a.view(np.int32)), Tensor.of(a.reshape(64, 64)), Tensor.of(a, "one of its own")]
    assert Tensor.of(a).identity not in [t.identity for t in others]
    assert Tensor.of(a[:3]).identity is None
    assert Tensor.of(np.array(["text"] * 5000)).identity is None


@pytest.mark.parametrize("form", ["path", "bytes", "proto"])
def test_sessions_that_come_and_go_have_their_own_weights(tmp_path, form):
    kept = []
    for fill in range(12):
        path = tmp_path / f"{fill}.onnx"
        model = write(path, fill, "p" * (fill % 4))
        source = {"path": path, "bytes": path.read_bytes(), "proto": model}[form]
        kept.append(sardonyx.InferenceSession(source, providers=["cpu"]))
        del model, source
        gc.collect()
    assert [s.run(None, {"x": X})[0][0, 0] for s in kept] == [64 * fill for fill in range(12)]


def test_packed_weights_are_shared_as_long_as_somebody_uses_them(tmp_path):
    path = tmp_path / "m.onnx"
    for fill in range(4):
        write(path, 1, "p" * fill)
        if not weight(path).numpy().flags.aligned:
            break
    store = WeightStore()
    a, b = store.array(weight(path)), store.array(weight(path))
    assert a is b
    assert not a.flags.writeable
    gone = weakref.ref(a)
    del a, b
    gc.collect()
    assert gone() is None


def test_what_is_prepared_is_shared_by_recipe_and_values():
    store, made = WeightStore(), []

    def make():
        made.append(1)
        return [len(made)]

    big, small = np.ones(4096, np.float32), np.ones(3, np.float32)
    first = store.share([Tensor.of(big), None, Tensor.of(small)], "r", make)
    assert store.share([Tensor.of(big.copy()), None, Tensor.of(small)], "r", make) is first
    for tensors, recipe in (
        ([Tensor.of(big), None, Tensor.of(small)], "other"),
        ([Tensor.of(big), None, Tensor.of(2 * small)], "r"),
        ([Tensor.of(big), Tensor.of(small), None], "r"),
        ([Tensor.of(small)], "r"),
    ):
        assert store.share(tensors, recipe, make) is not first
    assert store.share([Tensor.of(small)], "r", make) is not store.share([Tensor.of(small)], "r", make)


def test_a_replaced_initializer_is_not_shared(tmp_path):
    path = tmp_path / "m.onnx"
    write(path, 1)
    w = np.full((64, 64), 3, np.float32)
    options = sardonyx.SessionOptions()
    options.add_initializer("w", w)
    first = sardonyx.InferenceSession(path, options, providers=["cpu"])
    second_options = sardonyx.SessionOptions()
    second_options.add_initializer("w", w.copy())
    second = sardonyx.InferenceSession(path, second_options, providers=["cpu"])
    w[:] = 5
    assert second.run(None, {"x": X})[0][0, 0] == 192
    assert first.run(None, {"x": X})[0].shape == (1, 64)

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from sardonyx.cli.inputs import bind_dims, parse_dims
from sardonyx.cli.read_values import Target, read_value
from sardonyx.cli.save_values import save_values
from sardonyx.errors import InvalidInput
from sardonyx.ir.dtypes import from_name
from sardonyx.runtime.session import NodeArg
from sardonyx.tools.random_values import random_value


def target(type_: str = "float", shape: tuple = (), **kwargs) -> Target:
    return Target(NodeArg("x", f"tensor({type_})" if "(" not in type_ else type_, list(shape)), **kwargs)


@pytest.mark.parametrize("name", ["float", "float16", "bfloat16", "float8e4m3fn", "int4", "int64", "bool", "complex64", "string", "double"])
def test_random_values_have_the_declared_type(name):
    x = random_value(NodeArg("x", f"tensor({name})", []), [3, 4], np.random.default_rng(0), 2)
    assert (x.dtype, x.shape) == (from_name(name), (3, 4))
    scalar = random_value(NodeArg("x", f"tensor({name})", []), [], np.random.default_rng(0), 2)
    assert (scalar.dtype, scalar.shape) == (from_name(name), ())


def test_random_integers_are_below_the_bound_and_masks_are_ones():
    rng = np.random.default_rng(0)
    x = random_value(NodeArg("ids", "tensor(int64)", []), [1000], rng, 7)
    assert (x.min(), x.max()) == (0, 6)
    assert (random_value(NodeArg("attention_mask", "tensor(int64)", []), [5], rng, 7) == 1).all()


def test_no_random_value_for_a_sequence_or_an_absurd_size():
    with pytest.raises(InvalidInput, match="give --input s="):
        random_value(NodeArg("s", "seq(tensor(float))", []), [], np.random.default_rng(0), 2)
    with pytest.raises(InvalidInput, match="smaller --dims"):
        random_value(NodeArg("s", "tensor(float)", []), [1 << 20, 1 << 20], np.random.default_rng(0), 2)


def test_dims_bind_by_place_symbol_and_star():
    arg = NodeArg("x", "tensor(float)", ["batch", 3, None, "w"])
    free: dict[str, int] = {}
    assert bind_dims(arg, parse_dims("batch=2,x.2=320"), free) == [2, 3, 320, 1]
    assert free == {"w": 1}
    assert bind_dims(arg, parse_dims("*=5,x.0=4")) == [4, 3, 5, 5]


@pytest.mark.parametrize(
    ("text", "type_", "shape", "expected"),
    [
        ("16000", "int64", (), np.array(16000)),
        ("16000", "int64", (1,), np.array([16000])),
        ("[1, 2.5]", "float", (2,), np.array([1, 2.5], np.float32)),
        ("true", "bool", (), np.array(True)),
        ("hello", "string", (), np.array("hello", object)),
        ('["a", "b"]', "string", ("n",), np.array(["a", "b"], object)),
    ],
)
def test_literals(text, type_, shape, expected):
    value = read_value(text, target(type_, shape))
    assert value.dtype == expected.dtype
    np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize(("text", "type_"), [("1.5", "int64"), ("300", "uint8"), ("[[1], [1, 2]]", "float"), ('"a"', "float")])
def test_literals_that_do_not_fit(text, type_):
    with pytest.raises(InvalidInput, match=r"--input x: .* is not a tensor"):
        read_value(text, target(type_))


@pytest.mark.parametrize("name", ["float", "bfloat16", "int4", "string", "bool"])
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_what_is_saved_is_read_back(tmp_path, name, ending):
    x = random_value(NodeArg("x", f"tensor({name})", []), [2, 3], np.random.default_rng(0), 5)
    path = str(tmp_path / f"x.{ending}")
    save_values(path, {"x": x})
    np.testing.assert_array_equal(read_value(path, target(name, (2, 3))).astype(x.dtype), x)


def test_saving_sequences_and_refusals(tmp_path):
    path = str(tmp_path / "x.npz")
    save_values(path, {"s": [np.zeros(2), np.ones(3)]})
    with np.load(path) as saved:
        assert saved.files == ["s.0", "s.1"]
    with pytest.raises(InvalidInput, match="one array, these are 2"):
        save_values(str(tmp_path / "x.npy"), {"a": np.zeros(1), "b": np.zeros(1)})
    with pytest.raises(InvalidInput, match="a dict"):
        save_values(path, {"m": {1: 2.0}})


def test_protobuf_files(tmp_path):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    path = tmp_path / "x.pb"
    path.write_bytes(numpy_helper.from_array(x).SerializeToString())
    np.testing.assert_array_equal(read_value(str(path), target("float", (2, 3))), x)
    path.write_bytes(numpy_helper.from_list([x, x[:1]]).SerializeToString())
    values = read_value(str(path), target("seq(tensor(float))"))
    assert [v.shape for v in values] == [(2, 3), (1, 3)]
    for junk in (b"", b"\xff\xff\xff", onnx.ModelProto(ir_version=3).SerializeToString()):
        path.write_bytes(junk)
        with pytest.raises(InvalidInput, match=r"x\.pb"):
            read_value(str(path), target())


@pytest.fixture
def picture(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pixels = np.zeros((4, 6, 3), np.uint8)
    pixels[:, :3, 0] = 255
    path = tmp_path / "red.png"
    image.fromarray(pixels).save(path)
    return str(path), pixels


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((1, 3, 4, 6), (2, 0, 1)),
        (("n", 3, "h", "w"), (2, 0, 1)),
        ((1, 4, 6, 3), (0, 1, 2)),
        ((3, 4, 6), (2, 0, 1)),
        ((None, None, 3), (0, 1, 2)),
    ],
)
def test_pictures_take_the_layout_of_the_input(picture, shape, axes):
    path, pixels = picture
    expected = pixels.transpose(axes)[None] if len(shape) == 4 else pixels.transpose(axes)
    np.testing.assert_array_equal(read_value(path, target("uint8", shape)), expected)
    np.testing.assert_array_equal(read_value(path, target("float", shape)), expected.astype(np.float32) / 255)


def test_pictures_are_resized_and_normalised(picture):
    path, _ = picture
    x = read_value(path, target("float", (1, 3, "h", "w"), dims={"h": 2, "x.3": 3}, mean=[0.5], std=[0.5, 0.5, 0.25]))
    assert x.shape == (1, 3, 2, 3)
    np.testing.assert_allclose(x[0, :, 0, 0], [1, -1, -2], atol=0.01)
    gray = read_value(path, target("float16", (1, 1, 4, 6)))
    assert gray.dtype == np.float16
    np.testing.assert_allclose(gray[0, 0, 0, [0, 5]], [0.299, 0], atol=0.01)


def test_pictures_that_do_not_fit(picture, tmp_path):
    path, _ = picture
    for wrong, message in ((target("float", (5,)), "not a picture"), (target("uint8", (1, 3, 4, 6), mean=[1.0]), "--mean and --std")):
        with pytest.raises(InvalidInput, match=message):
            read_value(path, wrong)
    junk = tmp_path / "junk.png"
    junk.write_text("hello")
    with pytest.raises(InvalidInput, match=r"junk\.png is not a readable picture"):
        read_value(str(junk), target("float", (1, 3, 4, 6)))

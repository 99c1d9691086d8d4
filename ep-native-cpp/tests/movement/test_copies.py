import itertools

import numpy as np
import pytest

from sardonyx.errors import SardonyxError


def i64(*values):
    return np.array(values, np.int64)


def test_transpose_all_orders(run, dtype, numbers):
    for perm in itertools.permutations(range(4)):
        x = numbers((3, 5, 4, 7), dtype)
        np.testing.assert_array_equal(run("Transpose", x, perm=perm), x.transpose(perm))


@pytest.mark.parametrize("shape", [(4, 4), (16, 16), (64, 48), (65, 131), (3, 200), (200, 3), (1, 9), (0, 4), (33, 8)])
def test_transpose_matrix(run, dtype, shape, numbers):
    x = numbers(shape, dtype)
    np.testing.assert_array_equal(run("Transpose", x), x.T)


def test_transpose_large_and_deep(run, numbers):
    for shape, perm in [
        ((600, 700), (1, 0)),
        ((2, 128, 12, 64), (0, 2, 1, 3)),
        ((1, 3, 160, 160), (0, 2, 3, 1)),
        ((2, 3, 2, 2, 3, 2, 2, 2), (7, 0, 6, 1, 5, 2, 4, 3)),
    ]:
        x = numbers(shape, np.float32)
        np.testing.assert_array_equal(run("Transpose", x, perm=perm), x.transpose(perm))


def test_transpose_of_a_scalar(run):
    assert run("Transpose", np.float32(3).reshape(())).item() == 3


def test_transpose_refuses_a_bad_perm(run, numbers):
    with pytest.raises(SardonyxError):
        run("Transpose", numbers((2, 3)), perm=[0, 0])


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_concat(run, dtype, axis, numbers):
    shapes = [[2, 3, 4], [2, 3, 4], [2, 3, 4], [2, 3, 4]]
    for n, s in enumerate(shapes):
        s[axis] = (1, 5, 0, 2)[n]
    parts = [numbers(s, dtype) for s in shapes]
    np.testing.assert_array_equal(run("Concat", *parts, axis=axis), np.concatenate(parts, axis))


def test_concat_of_single_elements_interleaves(run, numbers):
    a, b = numbers((9, 7, 1)), numbers((9, 7, 1))
    np.testing.assert_array_equal(run("Concat", a, b, axis=-1), np.concatenate([a, b], -1))


def test_concat_of_one(run, numbers):
    x = numbers((2, 3))
    np.testing.assert_array_equal(run("Concat", x, axis=1), x)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_split(run, dtype, axis, numbers):
    x = numbers((7, 7, 7), dtype)
    for part, want in zip(run("Split", x, i64(2, 0, 5), outputs=3, axis=axis), np.split(x, [2, 2], axis), strict=True):
        np.testing.assert_array_equal(part, want)
    for part, want in zip(run("Split", x, outputs=3, axis=axis, num_outputs=3), np.split(x, [3, 6], axis), strict=True):
        np.testing.assert_array_equal(part, want)


def test_split_without_outputs_that_nobody_wants(run, numbers):
    x = numbers((7, 2))
    for part, want in zip(run("Split", x, outputs=2, num_outputs=4), np.split(x, [2, 4])[:2], strict=True):
        np.testing.assert_array_equal(part, want)


def test_split_sizes_must_add_up(run, numbers):
    with pytest.raises(SardonyxError, match="split"):
        run("Split", numbers((5,)), i64(2, 2), outputs=2)


LIMITS = [np.iinfo(np.int64).max, np.iinfo(np.int64).min, np.iinfo(np.int32).max, np.iinfo(np.int32).min]


@pytest.mark.parametrize("step", [1, 2, 3, -1, -2, -3, *LIMITS])
def test_slice_of_a_line(run, step):
    x = np.arange(6, dtype=np.int32)
    for start, end in itertools.product([0, 1, 5, 6, 9, -1, -6, -7, *LIMITS], repeat=2):
        run.same("Slice", x, i64(start), i64(end), i64(0), i64(step))


def test_slice_known_cases(run):
    x = np.arange(5, dtype=np.float32)
    assert run("Slice", x, i64(-1), i64(LIMITS[0]), i64(0), i64(-1)).size == 0
    np.testing.assert_array_equal(run("Slice", x, i64(-1), i64(LIMITS[1]), i64(0), i64(-1)), x[::-1])
    assert run("Slice", x, i64(0), i64(5), i64(0), i64(-1)).size == 0


def test_slice_of_several_axes(run, dtype, numbers):
    x = numbers((5, 6, 7, 8), dtype)
    np.testing.assert_array_equal(run("Slice", x, i64(1, 5, 0), i64(4, -7, 8), i64(0, 1, -1), i64(1, -2, 3)), x[1:4, 5:-7:-2, :, 0:8:3])
    np.testing.assert_array_equal(run("Slice", x, i64(1), i64(4)), x[1:4])
    np.testing.assert_array_equal(run("Slice", x, np.array([2], np.int32), np.array([4], np.int32), np.array([2], np.int32)), x[:, :, 2:4])


@pytest.mark.parametrize(
    ("shape", "target"),
    [((3, 1), (2, 1, 6)), ((3, 1), (3, 4)), ((1,), (4, 5)), ((), (2, 3)), ((2, 3), (1, 1)), ((1, 3), (0, 3)), ((4, 1, 5), (4, 3, 1))],
)
def test_expand(run, dtype, shape, target, numbers):
    x = numbers(shape, dtype)
    np.testing.assert_array_equal(run("Expand", x, i64(*target)), x * np.ones(target, dtype))


@pytest.mark.parametrize("repeats", [(1, 1, 1), (2, 1, 3), (1, 4, 1), (0, 1, 2), (3, 2, 2)])
def test_tile(run, dtype, repeats, numbers):
    for shape in [(2, 3, 4), (2, 3, 1), (1, 5, 0)]:
        x = numbers(shape, dtype)
        np.testing.assert_array_equal(run("Tile", x, i64(*repeats)), np.tile(x, repeats))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_depth_to_space_and_back(run, dtype, mode, block, numbers):
    x = numbers((2, 2 * block * block, 3, 5), dtype)
    run.same("DepthToSpace", x, mode=mode, blocksize=block)
    y = run("DepthToSpace", x, mode=mode, blocksize=block)
    np.testing.assert_array_equal(
        run("SpaceToDepth", y, opset=28 if mode == "CRD" else 24, blocksize=block, **({"mode": mode} if mode == "CRD" else {})), x
    )

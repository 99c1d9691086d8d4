"""Constant conditions and dead nodes."""

from __future__ import annotations

import pytest

from sardonyx.passes.basic.remove_dead_nodes import remove_dead_nodes

IF = """(float[2] x) => (float[2] y) <bool c = {%d}> { t = Neg(x)
    y = If(c) <then_branch = a () => (float[2] p) { u = Sqrt(x) p = Add(u, t) }, else_branch = b () => (float[2] q) { q = Abs(t) }> }"""


@pytest.mark.parametrize(("condition", "ops"), [(1, {"Neg": 1, "Sqrt": 1, "Add": 1}), (0, {"Neg": 1, "Abs": 1})])
def test_constant_if_is_inlined(check, condition, ops):
    assert check(IF % condition, level="basic").ops == ops


def test_nested_ifs_and_branches_of_outer_values(check):
    done = check(
        """(float[2] x) => (float[2] y) <bool t = {1}> {
            y = If(t) <then_branch = a () => (float[2] p) {
                p = If(t) <then_branch = c () => (float[2] r) { r = Identity(x) }, else_branch = d () => (float[2] s) { s = Neg(x) }> },
              else_branch = b () => (float[2] q) { q = Abs(x) }> }""",
        level="basic",
    )
    assert done.ops == {"Identity": 1}


def test_branches_of_constants(check):
    """ort#3900: an If whose branches hold nothing but a constant."""
    done = check(
        """(bool c, float[1] x) => (float[1] y) {
            k = If(c) <then_branch = a () => (float[1] p) { p = Constant<value_floats = [3.0]>() },
                       else_branch = b () => (float[1] q) { q = Constant<value_floats = [4.0]>() }> y = Add(k, x) }"""
    )
    assert done.ops == {"If": 1, "Add": 1}


def test_condition_that_is_not_constant_stays(check):
    done = check(
        """(bool c, float[2] x) => (float[2] y) {
            y = If(c) <then_branch = a () => (float[2] p) { p = Sqrt(x) }, else_branch = b () => (float[2] q) { q = Abs(x) }>
        }""",
        level="basic",
    )
    assert done.ops["If"] == 1


def test_dead_nodes_go_in_bodies_too(build):
    graph = build(
        """(bool c, float[2] x) => (float[2] y) { d = Sqrt(x) e = Neg(d) f = Abs(x)
            y = If(c) <then_branch = a () => (float[2] p) { z = Sin(f) p = Sqrt(x) },
                       else_branch = b () => (float[2] q) { q = Abs(x) }> }"""
    ).graph
    assert remove_dead_nodes(graph) == 4
    assert [n.op for n in graph.walk_nodes()] == ["If", "Sqrt", "Abs"]

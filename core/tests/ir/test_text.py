"""The text of a model."""

from __future__ import annotations

from onnx import parser

from sardonyx.ir.load import load
from sardonyx.ir.text import dump

SOURCE = """<ir_version: 8, opset_import: ["": 17], producer_name: "me">
g (float[N,3] x, bool c) => (y) {
    k = Constant<value: tensor = float[3] {1, 2.5, -3}>()
    a = Add(x, k)
    t = Clip(a, , k0)
    y = If(c) <then_branch = t () => (p) { p = Transpose<perm = [1, 0]>(t) }, else_branch = e () => (q) { q = Neg(t) }>
}"""


def test_all_that_matters_is_there():
    text = dump(load(parser.parse_model(SOURCE.replace(", , k0", ""))))
    lines = text.splitlines()
    assert lines[0] == "model me, IR 8, ai.onnx 17"
    assert lines[1].startswith("graph g (x: float[N, 3], c: bool[]) -> (y: float[")
    assert "  %k = float[3] 1 2.5 -3" in lines
    assert "  [Add] a: float[N, 3] = Add-14(x, %k)" in lines
    assert any("= If-" in line and line.endswith("(c)") for line in lines)
    assert "    then_branch: graph t () -> (p: float[3, N])" in lines
    assert any(line.startswith("      [If/Transpose]") and line.endswith("{perm: [1, 0]}") for line in lines)


def test_long_constants_are_cut():
    values = ", ".join(str(i) for i in range(200))
    body = f"g () => (y) {{ k = Constant<value_ints = [{values}]>() y = Neg(k) }}"
    text = dump(load(parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]>\n{body}')).graph)
    assert "%k = int64[200] 0 1 2 3 4 5 6 7 ...\n" in text


def test_a_graph_alone():
    assert dump(load(parser.parse_model('<ir_version: 8, opset_import: ["": 17]>\ng (float[2] x) => (y) { y = Neg(x) }')).graph) == (
        "graph g (x: float[2]) -> (y: float[2])\n  [Neg] y: float[2] = Neg-13(x)\n"
    )

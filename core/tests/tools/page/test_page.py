"""The page as text; test_browser.py loads it in a browser."""

import json
import re

import numpy as np
import pytest

import sardonyx
from sardonyx.runtime.profiler import Profile


def data_of(html: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


@pytest.fixture
def session(mlp):
    return sardonyx.InferenceSession(mlp, providers=["cpu"])


def test_a_placement(session):
    html = session.explain().to_html(title="mlp.onnx")
    data = data_of(html)
    assert "<title>mlp.onnx</title>" in html
    assert [n["op"] for n in data["nodes"]] == ["Gemm", "Relu", "MatMul", "Swish", "Exp", "Tanh"]
    assert all(a < b for a, b, *_ in data["edges"])
    assert data["shares"] == {"cpu": 1.0}
    assert data["unit"] == "node"
    assert len(data["memory"]) == len(data["nodes"]) == len(data["events"])


def test_a_profile(session, feeds):
    data = data_of(session.profile(feeds, runs=3).to_html())
    assert data["runs"] == 3
    assert data["unit"] == "us"
    assert data["sizes"] == {"N": 3}
    assert [n["calls"] for n in data["nodes"]] == [3] * len(data["nodes"])
    assert len(data["events"]) == len(data["nodes"])
    assert sum(n["share"] for n in data["nodes"]) == pytest.approx(1)
    starts = [e[1] for e in data["events"]]
    assert starts == sorted(starts)
    assert starts[0] == 0


def test_memory_is_freed_after_the_last_reader(build):
    model = build(
        '<ir_version: 8, opset_import: ["": 17]> g (float[N] x) => (float[N] y) { a = Exp(x) b = Sin(a) c = Add(a, b) y = Cos(c) }'
    )
    session = sardonyx.InferenceSession(model, providers=["cpu"])
    data = data_of(session.profile({"x": np.ones(100, np.float32)}, runs=1).to_html())
    assert data["memory"] == [400, 800, 1200, 800]
    assert data_of(session.explain().to_html())["memory"] == [4, 8, 12, 8]


def test_memory_of_a_loop_does_not_pile_up(build):
    model = build(
        """<ir_version: 8, opset_import: ["": 17]> g (int64 n, float[K] x) => (float[K] y) {
        y = Loop(n, , x) <body = b (int64 i, bool on, float[K] s) => (bool go, float[K] r) { go = Identity(on) t = Exp(s) r = Tanh(t) }>
    }"""
    )
    session = sardonyx.InferenceSession(model, providers=["cpu"])
    data = data_of(session.profile({"n": np.array(10), "x": np.ones(1000, np.float32)}, runs=1).to_html())
    assert len(data["events"]) >= 20
    assert max(data["memory"]) < 10 * 4000 * 2
    inner = [n for n in data["nodes"] if n["within"]]
    assert {"Exp", "Tanh"} <= {n["op"] for n in inner}
    index = {n["name"]: i for i, n in enumerate(data["nodes"])}
    loop = index[inner[0]["within"]]
    assert any(a == loop and label == "" for a, _, label, *_ in data["edges"])


def test_reasons_are_told(mlp, plugin):
    from sardonyx.ep import Provider, ProviderInfo, Refusal

    class Picky(Provider):
        def claim(self, graph):
            return {n: Refusal(f'{n.op} is not <nice> & "clean"') for n in graph.nodes}

    plugin("picky", sardonyx_provider=lambda: ProviderInfo(name="picky", create=Picky, priority=-1))
    with pytest.warns(RuntimeWarning, match="not on the providers asked for"):
        placement = sardonyx.InferenceSession(mlp, providers=["picky"]).explain()
    data = data_of(placement.to_html())
    assert data["nodes"][0]["reasons"] == {"picky": f'{data["nodes"][0]["op"]} is not <nice> & "clean"'}


def test_names_cannot_break_out(build):
    model = build('<ir_version: 8, opset_import: ["": 17]> g (float[N] x) => (float[N] y) { y = Exp(x) }')
    model.graph.node[0].name = "</script><script>alert(1)</script>@SCRIPT@"
    html = sardonyx.InferenceSession(model, providers=["cpu"]).explain().to_html(title="<b>@DATA@")
    assert "alert(1)</script>" not in html
    assert "<b>" not in html
    assert data_of(html)["nodes"][0]["name"] == model.graph.node[0].name


def test_nothing_is_fetched(session):
    html = session.explain().to_html()
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?!data:)[\w/.]""", html)
    assert not re.findall(r"https?://|@import|url\(|fetch\(|XMLHttpRequest|import\(", html)


def test_a_profile_without_a_placement(session, feeds):
    measured = session.profile(feeds, runs=1)
    data = data_of(Profile(measured.events, 1).to_html())
    assert len(data["nodes"]) == len(measured.events)
    assert data["edges"] == []


def test_an_empty_model(build):
    model = build('<ir_version: 8, opset_import: ["": 17]> g (float[N] x) => (float[N] x) { }')
    data = data_of(sardonyx.InferenceSession(model, providers=["cpu"]).explain().to_html())
    assert data["nodes"] == data["events"] == []

"""The page in a real browser: its script runs, draws, answers keys, and asks for nothing from outside."""

import re
import shutil
import subprocess

import numpy as np
import pytest

import sardonyx

BROWSER = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium is installed (Debian: apt-get install chromium)")

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,900", "--virtual-time-budget=5000")
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND"

# Presses keys in the page, and tells in an attribute what came of it.
KEYBOARD = """<script>
const press = (key, target = document.body) => target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const told = [];
press("n"); told.push(nodes[state.selected].op);
press("n"); told.push(nodes[state.selected].op);
press("p"); told.push(nodes[state.selected].op);
const before = view.scale; press("+"); told.push(view.scale > before);
const top0 = view.y; press("ArrowUp", canvas); told.push(view.y > top0);
const span0 = span.to - span.from; press("+", strip); told.push(span.to - span.from < span0);
const look0 = document.documentElement.dataset.theme; press("t"); told.push(document.documentElement.dataset.theme !== look0);
press("/"); told.push(document.activeElement === search);
search.value = "tanh"; search.dispatchEvent(new Event("input")); told.push(state.matches.length);
press("Enter", search); told.push(nodes[state.selected].op);
press("Escape", search); told.push(state.matches === null);
press("3"); told.push(tab);
press("Escape"); told.push(state.selected);
press("?"); told.push($("keys").open);
document.documentElement.dataset.told = JSON.stringify(told);
</script>"""


def dom(tmp_path, html, name="page.html", fragment=""):
    """The document after its script ran."""
    file = tmp_path / name
    file.write_text(html, "utf-8")
    arguments = [BROWSER, *FLAGS, OFFLINE, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", file.as_uri() + fragment]
    out = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    assert "data-error" not in out.partition("<head>")[0]
    return out


@pytest.fixture
def profile(mlp, feeds):
    return sardonyx.InferenceSession(mlp, providers=["cpu"]).profile(feeds, runs=2)


def test_a_profile_is_drawn(tmp_path, profile):
    out = dom(tmp_path, profile.to_html(title="mlp.onnx"))
    count = len({e.node for e in profile.events})
    assert f'data-ready="{count} nodes, {count} events"' in out
    assert len(re.findall(r"<tr data-node=", out)) == count
    assert "Last of 2 runs" in out
    assert "values between nodes: at most" in out


def test_keys(tmp_path, profile):
    out = dom(tmp_path, profile.to_html().replace("</body>", KEYBOARD + "</body>"))
    told = re.search(r'data-told="(.*?)"', out)[1].replace("&quot;", '"')
    assert told == '["Gemm","Relu","Gemm",true,true,true,true,true,1,"Tanh",true,"operators",-1,true]'


def test_a_placement_with_control_flow_is_drawn_and_searched(tmp_path, branches):
    html = sardonyx.InferenceSession(branches, providers=["cpu"]).explain().to_html()
    out = dom(tmp_path, html, fragment="#sin")
    assert "1 found" in out
    assert re.search(r"<dt>in a body of</dt><dd>if_e</dd>", out)
    assert "Order of execution: 5 nodes" in out


def test_a_thousand_nodes_are_drawn(tmp_path, build):
    body = " ".join(f"a{i} = Sin(x{i}) b{i} = Cos(x{i}) x{i + 1} = Add(a{i}, b{i})" for i in range(500))
    model = build(f'<ir_version: 8, opset_import: ["": 17]> g (float[N] x0) => (float[N] x500) {{ {body} }}')
    session = sardonyx.InferenceSession(model, providers=["cpu"])
    out = dom(tmp_path, session.profile({"x0": np.ones(2, np.float32)}, runs=1).to_html())
    assert 'data-ready="1500 nodes, 1500 events"' in out


def test_the_canvas_has_the_colours_of_the_providers(tmp_path, profile):
    image = pytest.importorskip("PIL.Image", reason="the picture is read with Pillow")
    file, picture = tmp_path / "page.html", tmp_path / "page.png"
    file.write_text(profile.to_html(), "utf-8")
    arguments = [BROWSER, *FLAGS, OFFLINE, f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={picture}", file.as_uri()]
    subprocess.run(arguments, capture_output=True, check=True)
    pixels = np.asarray(image.open(picture).convert("RGB")).astype(int)
    red, green, blue = pixels[180:, :700].reshape(-1, 3).T
    boxes = (blue - red > 40) & (blue - green > 15)
    assert boxes.sum() > 3000

// The graph on a canvas: boxes in layers, moved and scaled by `view`; only what is in sight is drawn.
const STEP_X = 176, STEP_Y = 74, BOX_W = 156, BOX_H = 44, MAP_W = 100;
const canvas = $("canvas"), map = $("map");
const at = nodes.map((n) => [n.x * STEP_X + BOX_W / 2, n.y * STEP_Y + BOX_H / 2]);
const extent = at.reduce(([x, y], p) => [Math.max(x, p[0]), Math.max(y, p[1])], [0, 0]).map((v, k) => v + [BOX_W, BOX_H][k] / 2);
const view = { x: 0, y: 0, scale: 1 };
const hottest = nodes.reduce((t, n) => Math.max(t, n.us || 0), 1e-9);

function pathOf([a, b, , bend]) {
  const points = [[at[a][0], at[a][1] + BOX_H / 2], ...(bend || []).map(([x, y]) => [x * STEP_X + BOX_W / 2, y * STEP_Y + BOX_H / 2])];
  points.push([at[b][0], at[b][1] - BOX_H / 2]);
  return points;
}
const paths = edges.map(pathOf);

function drawEdge(c, points, far) {
  c.beginPath();
  c.moveTo(...points[0]);
  for (let k = 1; k < points.length; k++) {
    const [x0, y0] = points[k - 1], [x1, y1] = points[k], d = far ? Math.min(160, (y1 - y0) / 4) : (y1 - y0) / 2;
    c.bezierCurveTo(x0 + (far ? d : 0), y0 + d, x1 + (far ? d : 0), y1 - d, x1, y1);
  }
  c.stroke();
}

function clip(c, text, width) {
  if (c.measureText(text).width <= width) return text;
  let n = Math.max(1, Math.floor((text.length * width) / c.measureText(text).width) - 1);
  while (n > 1 && c.measureText(text.slice(0, n) + "…").width > width) n--;
  return text.slice(0, n) + "…";
}

function drawGraph() {
  const [c, w, h] = fitted(canvas);
  c.translate(view.x, view.y);
  c.scale(view.scale, view.scale);
  const left = -view.x / view.scale, top = -view.y / view.scale, right = left + w / view.scale, bottom = top + h / view.scale;
  const chosen = state.selected, edgeColour = style("--edge"), accent = style("--accent"), mark = style("--mark");
  c.lineWidth = 1.3 / Math.max(0.5, view.scale);
  edges.forEach((e, k) => {
    const points = paths[k], end = points[points.length - 1];
    if (points[0][1] > bottom || end[1] < top) return;
    const near = e[0] === chosen || e[1] === chosen;
    const far = !e[3] && nodes[e[1]].y - nodes[e[0]].y > 12;
    c.strokeStyle = near ? accent : edgeColour;
    c.globalAlpha = near ? 1 : far ? 0.18 : 0.8;
    c.setLineDash(e[2] === "" ? [5, 4] : []);
    drawEdge(c, points, far);
  });
  c.setLineDash([]);
  const detail = view.scale > 0.42, dark = theme() === "dark", text = style("--text"), dim = style("--dim");
  nodes.forEach((n, i) => {
    const [x, y] = [at[i][0] - BOX_W / 2, at[i][1] - BOX_H / 2];
    if (x > right || x + BOX_W < left || y > bottom || y + BOX_H < top) return;
    c.globalAlpha = missed(i) ? 0.22 : 1;
    c.fillStyle = colour(n.ep, detail ? (dark ? 0.45 : 0.3) : 0.9);
    c.strokeStyle = i === chosen ? mark : colour(n.ep, 1);
    c.lineWidth = i === chosen ? 3 / Math.min(1, view.scale) : 1.2;
    c.beginPath();
    c.roundRect(x, y, BOX_W, BOX_H, 7);
    c.fill();
    if (n.within) c.setLineDash([4, 3]);
    c.stroke();
    c.setLineDash([]);
    if (n.us) {
      c.fillStyle = mark;
      c.fillRect(x + 6, y + BOX_H - 5, (BOX_W - 12) * (n.us / hottest), 3);
    }
    if (!detail) return;
    c.fillStyle = text;
    c.font = "600 13px system-ui, 'DejaVu Sans', sans-serif";
    c.fillText(clip(c, n.op, BOX_W - (n.us || fusedInto(i) >= 0 ? 66 : 16)), x + 8, y + 17);
    c.font = "11px system-ui, 'DejaVu Sans', sans-serif";
    c.fillStyle = dim;
    c.fillText(clip(c, n.outputs.length ? n.outputs[0][1] : n.name, BOX_W - 16), x + 8, y + 32);
    if (n.us || fusedInto(i) >= 0) {
      c.textAlign = "right";
      c.fillText(n.us ? time(n.us) : "fused", x + BOX_W - 8, y + 16);
      c.textAlign = "left";
    }
  });
  c.globalAlpha = 1;
  drawMap(w, h);
}

function mapScale() { return Math.min(0.12, (map.clientWidth - 8) / extent[0], (map.clientHeight - 8) / extent[1]); }
function drawMap(w, h) {
  map.style.display = extent[1] * view.scale > h * 1.2 || extent[0] * view.scale > w * 1.2 ? "" : "none";
  if (map.style.display) return;
  const [c, mw, mh] = fitted(map), s = mapScale();
  c.fillStyle = style("--card");
  c.globalAlpha = 0.9;
  c.fillRect(0, 0, mw, mh);
  c.globalAlpha = 1;
  nodes.forEach((n, i) => {
    c.fillStyle = state.matches && !missed(i) ? style("--mark") : colour(n.ep, 0.8);
    c.fillRect(4 + (at[i][0] - BOX_W / 2) * s, 4 + (at[i][1] - BOX_H / 2) * s, Math.max(2, BOX_W * s), Math.max(1, BOX_H * s));
  });
  c.strokeStyle = style("--accent");
  c.lineWidth = 1.5;
  c.strokeRect(4 - (view.x / view.scale) * s, 4 - (view.y / view.scale) * s, (w / view.scale) * s, Math.max(3, (h / view.scale) * s));
}

function zoom(factor, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
  const scale = Math.min(3, Math.max(0.02, view.scale * factor)), k = scale / view.scale;
  view.x = x - (x - view.x) * k;
  view.y = y - (y - view.y) * k;
  view.scale = scale;
  drawGraph();
}
function fit() {
  const w = canvas.clientWidth, h = canvas.clientHeight;
  view.scale = Math.min(1, (w - 24) / extent[0], (h - 24) / extent[1]);
  view.x = (w - extent[0] * view.scale) / 2;
  view.y = (h - extent[1] * view.scale) / 2;
  drawGraph();
}
function start() {
  // The beginning in a size that can be read, the first node in the middle.
  const w = canvas.clientWidth - MAP_W;
  view.scale = Math.max(0.6, Math.min(1, (w - 24) / extent[0]));
  view.x = extent[0] * view.scale < w ? (w - extent[0] * view.scale) / 2 : w / 2 - (at.length ? at[0][0] : 0) * view.scale;
  view.y = 14;
  drawGraph();
}
function centre(i) {
  if (view.scale < 0.42) view.scale = 0.8;
  view.x = (canvas.clientWidth - MAP_W) / 2 - at[i][0] * view.scale;
  view.y = canvas.clientHeight / 2 - at[i][1] * view.scale;
}
function nodeAt(x, y) {
  const gx = (x - view.x) / view.scale, gy = (y - view.y) / view.scale;
  return at.findIndex(([cx, cy]) => Math.abs(gx - cx) <= BOX_W / 2 && Math.abs(gy - cy) <= BOX_H / 2);
}

let held = null;
canvas.addEventListener("pointerdown", (e) => { held = { x: e.offsetX, y: e.offsetY, moved: false }; canvas.setPointerCapture(e.pointerId); });
canvas.addEventListener("pointermove", (e) => {
  if (held) {
    held.moved ||= Math.hypot(e.offsetX - held.x, e.offsetY - held.y) > 3;
    if (held.moved) {
      view.x += e.movementX;
      view.y += e.movementY;
      drawGraph();
    }
    return;
  }
  const i = nodeAt(e.offsetX, e.offsetY);
  canvas.style.cursor = i >= 0 ? "pointer" : "grab";
  showTip(i >= 0 ? tipOf(i) : "", e.clientX, e.clientY);
});
canvas.addEventListener("pointerup", (e) => {
  if (held && !held.moved) select(nodeAt(e.offsetX, e.offsetY), false);
  held = null;
});
canvas.addEventListener("pointerleave", () => showTip(""));
canvas.addEventListener("wheel", (e) => {
  e.preventDefault();
  if (e.ctrlKey || e.metaKey || !e.shiftKey) zoom(Math.exp(-e.deltaY * 0.0015), e.offsetX, e.offsetY);
  else { view.x -= e.deltaY; drawGraph(); }
}, { passive: false });
map.addEventListener("pointerdown", (e) => {
  const s = mapScale();
  view.x = canvas.clientWidth / 2 - ((e.offsetX - 4) / s) * view.scale;
  view.y = canvas.clientHeight / 2 - ((e.offsetY - 4) / s) * view.scale;
  drawGraph();
});
$("closer").addEventListener("click", () => zoom(1.3));
$("farther").addEventListener("click", () => zoom(1 / 1.3));
$("whole").addEventListener("click", fit);
state.listeners.push((what) => {
  if (what === "selection" && state.selected >= 0) centre(state.selected);
  drawGraph();
});

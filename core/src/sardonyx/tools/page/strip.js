// The timeline of the last run (or the order of the nodes) over the bytes that are alive; both share their axis.
const strip = $("timeline"), events = data.events, memory = data.memory, LANE = 20;
const threads = new Set(events.map((e) => e[3])).size;
const laneOf = (e) => `${e[0] >= 0 ? nodes[e[0]].ep : "?"}${threads > 1 ? ` thread ${e[3]}` : ""}`;
const lanes = [...new Set(events.map((e) => laneOf(e)))];
const laneIndex = events.map((e) => lanes.indexOf(laneOf(e)));
const total = events.reduce((t, e) => Math.max(t, e[1] + e[2]), 0) || 1;
const peak = memory.reduce((a, b) => Math.max(a, b), 1), peakAt = memory.indexOf(peak);
const span = { from: 0, to: total };
strip.style.height = `${Math.min(6, lanes.length) * LANE + 112}px`;

$("strip-title").textContent = data.unit === "us"
  ? `Last of ${data.runs} runs: ${time(total)}, ${events.length} steps`
  : `Order of execution: ${events.length} nodes`;
{
  const known = Object.entries(data.sizes).map(([k, v]) => `${k} = ${v}`);
  const sizes = known.slice(0, 4).join(", ") + (known.length > 4 ? ", …" : "");
  $("strip-hint").textContent = memory.length ? `values between nodes: at most ${bytes(peak)}${sizes ? ` with ${sizes}` : ""}, weights aside` : "";
}

function drawStrip() {
  const [c, w, h] = fitted(strip), x0 = 64, scale = (w - x0 - 8) / (span.to - span.from);
  const X = (t) => x0 + (t - span.from) * scale, base = h - 16, top = lanes.length * LANE + 22;
  c.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  c.fillStyle = style("--dim");
  lanes.forEach((lane, k) => c.fillText(clip(c, lane, x0 - 8), 2, k * LANE + 17));
  c.fillText("memory", 2, top + 4);
  c.fillText(bytes(peak), 2, top + 18);
  c.save();
  c.beginPath();
  c.rect(x0, 0, w - x0, h);
  c.clip();
  events.forEach((e, k) => {
    const x = X(e[1]), width = Math.max(0.6, e[2] * scale);
    if (x > w || x + width < x0) return;
    const dull = missed(e[0]);
    c.globalAlpha = dull ? 0.2 : 1;
    c.fillStyle = e[0] === state.selected && e[0] >= 0 ? style("--mark") : colour(e[0] >= 0 ? nodes[e[0]].ep : "?", k % 2 ? 0.75 : 0.95);
    c.fillRect(x, laneIndex[k] * LANE + 5, width - (width > 4 ? 0.5 : 0), LANE - 4);
    if (width > 44 && e[0] >= 0) {
      c.fillStyle = theme() === "dark" ? "#fff" : "#000";
      c.fillText(clip(c, nodes[e[0]].op, width - 8), x + 4, laneIndex[k] * LANE + 17);
    }
  });
  c.globalAlpha = 1;
  if (memory.length) {
    c.beginPath();
    c.moveTo(X(events[0][1]), base);
    events.forEach((e, k) => {
      const y = base - (memory[k] / peak) * (base - top);
      c.lineTo(X(e[1]), y);
      c.lineTo(X(k + 1 < events.length ? events[k + 1][1] : e[1] + e[2]), y);
    });
    c.lineTo(X(total), base);
    c.closePath();
    c.fillStyle = style("--accent");
    c.globalAlpha = 0.25;
    c.fill();
    c.globalAlpha = 1;
    c.strokeStyle = style("--accent");
    c.lineWidth = 1.2;
    c.stroke();
    const px = X(events[peakAt][1] + events[peakAt][2] / 2);
    c.fillStyle = style("--mark");
    c.beginPath();
    c.arc(px, top, 3, 0, 7);
    c.fill();
  }
  c.strokeStyle = style("--line");
  c.fillStyle = style("--dim");
  for (const t of ticks(span.from, span.to, (w - x0) / 110)) {
    c.beginPath();
    c.moveTo(X(t), 0);
    c.lineTo(X(t), base + 3);
    c.globalAlpha = 0.5;
    c.stroke();
    c.globalAlpha = 1;
    c.fillText(data.unit === "us" ? time(t) : String(t), X(t) + 3, h - 4);
  }
  c.restore();
}
function ticks(from, to, count) {
  const raw = (to - from) / Math.max(1, count), power = 10 ** Math.floor(Math.log10(raw));
  let step = power * [1, 2, 5, 10].find((m) => m * power >= raw);
  if (data.unit === "node") step = Math.max(1, Math.round(step));
  const found = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) found.push(Number(t.toPrecision(12)));
  return found;
}
function stretch(factor, x = strip.clientWidth / 2) {
  const t = timeAt(x), least = total / Math.max(20, events.length * 20);
  const width = Math.min(total, Math.max(least, (span.to - span.from) * factor));
  const share = (t - span.from) / (span.to - span.from);
  span.from = Math.min(total - width, Math.max(0, t - share * width));
  span.to = span.from + width;
  drawStrip();
}
function slide(dt) {
  const width = span.to - span.from;
  span.from = Math.min(total - width, Math.max(0, span.from + dt));
  span.to = span.from + width;
  drawStrip();
}
function timeAt(x) { return span.from + ((x - 64) / (strip.clientWidth - 72)) * (span.to - span.from); }
function eventAt(x, y) {
  const t = timeAt(x), lane = Math.floor((y - 3) / LANE), slack = (span.to - span.from) / strip.clientWidth;
  const over = (k) => t >= events[k][1] - slack && t <= events[k][1] + events[k][2] + slack;
  const inLane = events.findIndex((e, k) => laneIndex[k] === lane && over(k));
  return inLane >= 0 || lane < lanes.length ? inLane : events.findIndex((e, k) => over(k));
}
let slid = null;
strip.addEventListener("pointerdown", (e) => { slid = { x: e.offsetX, moved: false }; strip.setPointerCapture(e.pointerId); });
strip.addEventListener("pointermove", (e) => {
  if (slid) {
    slid.moved ||= Math.abs(e.offsetX - slid.x) > 3;
    if (slid.moved) slide((-e.movementX * (span.to - span.from)) / (strip.clientWidth - 72));
    return;
  }
  const k = eventAt(e.offsetX, e.offsetY);
  if (k < 0) return showTip("");
  const own = events[k], what = own[0] >= 0 ? tipOf(own[0]) : own[4];
  const when = data.unit === "us" ? `\nat ${time(own[1])} for ${time(own[2])}` : "";
  showTip(`${what}${when}${memory.length ? `\n${bytes(memory[k])} alive` : ""}`, e.clientX, e.clientY);
});
strip.addEventListener("pointerup", (e) => {
  const k = slid && !slid.moved ? eventAt(e.offsetX, e.offsetY) : -1;
  slid = null;
  if (k >= 0 && events[k][0] >= 0) select(events[k][0]);
});
strip.addEventListener("pointerleave", () => showTip(""));
strip.addEventListener("wheel", (e) => { e.preventDefault(); stretch(Math.exp(e.deltaY * 0.0015), e.offsetX); }, { passive: false });
state.listeners.push(drawStrip);

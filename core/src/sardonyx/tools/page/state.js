"use strict";
// What is shown, what is selected, and what the other parts share.
const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes, edges = data.edges;
const $ = (id) => document.getElementById(id);
window.addEventListener("error", (e) => { document.documentElement.dataset.error = e.message; });

const readers = nodes.map(() => []), sources = nodes.map(() => []);
edges.forEach(([a, b], k) => { readers[a].push(k); sources[b].push(k); });
const makers = new Map();
nodes.forEach((n, i) => n.outputs.forEach(([name]) => makers.set(name, i)));
const words = nodes.map((n) => [n.name, n.op, n.ep, ...n.origins, ...n.inputs, ...n.outputs.map((o) => o.join(" "))].join(" ").toLowerCase());

const state = { selected: -1, matches: null, matched: new Set(), listeners: [] };
const missed = (i) => state.matches !== null && !state.matched.has(i);
function changed(what) { for (const f of state.listeners) f(what); }
function select(i, centre = true) { state.selected = i; changed(centre ? "selection" : "selection-here"); }

const eps = Object.keys(data.shares);
const HUES = [212, 30, 150, 285, 345, 55, 185];
function colour(ep, strength = 1) {
  const k = eps.indexOf(ep), dark = theme() === "dark";
  if (ep === "host" || k < 0) return dark ? `hsl(220 10% ${42 * strength}%)` : `hsl(220 12% ${100 - 42 * strength}%)`;
  return dark ? `hsl(${HUES[k % 7]} 55% ${20 + 30 * strength}%)` : `hsl(${HUES[k % 7]} 70% ${96 - 42 * strength}%)`;
}
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
function theme() { return document.documentElement.dataset.theme; }
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

const digits = (v, n = 3) => (v >= 1000 ? Math.round(v).toLocaleString("en") : Number(v.toPrecision(n)).toString());
const time = (us) => (us >= 1e6 ? `${digits(us / 1e6)} s` : us >= 1e3 ? `${digits(us / 1e3)} ms` : `${digits(us)} µs`);
const bytes = (b) => (b >= 1e9 ? `${digits(b / 1e9)} GB` : b >= 1e6 ? `${digits(b / 1e6)} MB` : b >= 1e3 ? `${digits(b / 1e3)} kB` : `${b} B`);

// Elements by code, text always as text: names come from a model that anybody may have made.
function make(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes)) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (k === "style") e.style.cssText = v;
    else e.setAttribute(k, v);
  }
  e.append(...children.filter((c) => c !== null && c !== undefined));
  return e;
}

function fitted(canvas) {
  const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
    canvas.width = Math.round(w * ratio);
    canvas.height = Math.round(h * ratio);
  }
  const c = canvas.getContext("2d");
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, w, h);
  return [c, w, h];
}

const tip = $("tip");
function showTip(text, x, y) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = `${Math.min(x + 14, innerWidth - tip.offsetWidth - 8)}px`;
  tip.style.top = `${Math.min(y + 14, innerHeight - tip.offsetHeight - 8)}px`;
}
const fusedInto = (i) => (data.fused[i] ?? -1);
function tipOf(i) {
  const n = nodes[i], lines = [`${n.op}  ${n.name}`, `on ${n.ep}`];
  if (n.us !== undefined) lines.push(`${time(n.us)} a run, ${digits(100 * n.share)} % of the time`);
  if (fusedInto(i) >= 0) lines.push(`fused into ${nodes[fusedInto(i)].op}  ${nodes[fusedInto(i)].name}`);
  for (const [name, type] of n.outputs) lines.push(`${name}: ${type}`);
  return lines.join("\n");
}

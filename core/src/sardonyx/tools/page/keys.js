// The head of the page, search, keys, and the first drawing.
const KEYS = [["/", "search; Enter and Shift+Enter go through what is found, Escape ends it"], ["n  p", "next and previous node in the order of execution"],
  ["↑ ↓ ← →", "move the graph, or the timeline where it has the focus"], ["+  −", "zoom"], ["0", "show the whole graph"], ["1 … 5", "the lists at the right"],
  ["t", "light or dark"], ["Escape", "nothing selected"], ["?", "this help"]];
const search = $("search");

function drawHead() {
  const parts = [`${nodes.length} nodes`, `${edges.length} edges`];
  if (data.runs) parts.push(`${data.runs} runs measured`);
  parts.push(`providers in order: ${data.providers.join(", ")}`, `Sardonyx ${data.version}`);
  $("facts").textContent = parts.join("  ·  ");
  $("shares").setAttribute("aria-label", eps.map((ep) => `${ep} ${Math.round(100 * data.shares[ep])} %`).join(", "));
  $("shares").replaceChildren(...eps.map((ep) => make("div", { style: `flex:${data.shares[ep]};background:${colour(ep)}` })));
  $("legend").replaceChildren(...eps.map((ep) => make("li", {}, dot(ep), `${ep} ${digits(100 * data.shares[ep])} %`)));
}
function look(text) {
  const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
  state.matches = wanted.length ? nodes.map((_, i) => i).filter((i) => wanted.every((word) => words[i].includes(word))) : null;
  state.matched = new Set(state.matches || []);
  $("found").textContent = state.matches ? `${state.matches.length} found` : "";
  if (state.matches && tab === "node") tab = "nodes";
  changed("search");
}
function step(by) {
  const among = state.matches && state.matches.length ? state.matches : nodes.map((_, i) => i);
  if (!among.length) return;
  const here = among.indexOf(state.selected);
  select(among[here < 0 ? (by > 0 ? 0 : among.length - 1) : (here + by + among.length) % among.length]);
}
function toggleTheme() {
  document.documentElement.dataset.theme = theme() === "dark" ? "light" : "dark";
  drawHead();
  changed("theme");
}
search.addEventListener("input", () => look(search.value));
search.addEventListener("keydown", (e) => {
  if (e.key === "Enter") step(e.shiftKey ? -1 : 1);
  else if (e.key === "Escape") { search.value = ""; look(""); search.blur(); }
  else return;
  e.preventDefault();
});
$("theme").addEventListener("click", toggleTheme);
$("help").addEventListener("click", () => $("keys").showModal());
$("keys").querySelector("dl").append(...KEYS.flatMap(([key, what]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, what)]));

document.addEventListener("keydown", (e) => {
  if (e.target === search || e.ctrlKey || e.metaKey || e.altKey || $("keys").open) return;
  const onStrip = e.target === strip, width = span.to - span.from;
  const move = (dx, dy) => { if (onStrip) slide((-dx / 400) * width); else { view.x += dx; view.y += dy; drawGraph(); } };
  const actions = {
    "/": () => { search.focus(); search.select(); }, n: () => step(1), p: () => step(-1), t: toggleTheme, "?": () => $("keys").showModal(),
    0: () => (onStrip ? stretch(1e9) : fit()), "+": () => (onStrip ? stretch(1 / 1.4) : zoom(1.3)), "=": () => (onStrip ? stretch(1 / 1.4) : zoom(1.3)),
    "-": () => (onStrip ? stretch(1.4) : zoom(1 / 1.3)), Escape: () => select(-1),
  };
  if (e.target === canvas || onStrip) Object.assign(actions, { ArrowLeft: () => move(60, 0), ArrowRight: () => move(-60, 0), ArrowUp: () => move(0, 60), ArrowDown: () => move(0, -60) });
  TABS.forEach(([key], k) => { actions[k + 1] = () => showTab(key); });
  if (actions[e.key]) { actions[e.key](); e.preventDefault(); }
});
new ResizeObserver(() => { drawGraph(); drawStrip(); }).observe(document.body);
drawHead();
drawPanel();
start();
drawStrip();
if (location.hash.length > 1) { search.value = decodeURIComponent(location.hash.slice(1)); look(search.value); step(1); }
document.documentElement.dataset.ready = `${nodes.length} nodes, ${events.length} events`;

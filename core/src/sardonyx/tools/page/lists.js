// The panel at the right: the selected node, and lists of nodes, operators, reasons and passes.
const panel = $("panel");
const TABS = [["node", "Node"], ["nodes", "Nodes"], ["operators", "Operators"], ["reasons", "Refusals"], ["passes", "Passes"]];
let tab = "nodes", sorting = { key: nodes.some((n) => n.us !== undefined) ? "us" : "order", down: true };
const dot = (ep) => make("span", { class: "dot", style: `background:${colour(ep)}` });
const link = (i) => make("button", { class: "link", onclick: () => select(i) }, `${nodes[i].op}  ${nodes[i].name}`);
const shown = () => (state.matches ? state.matches : nodes.map((_, i) => i));

function showTab(name) {
  tab = name;
  drawPanel();
}
function drawPanel() {
  $("tabs").replaceChildren(...TABS.map(([key, title], k) =>
    make("button", { role: "tab", "aria-selected": key === tab, title: `${title} (${k + 1})`, onclick: () => showTab(key) }, title)));
  panel.replaceChildren({ node: nodePart, nodes: nodesPart, operators: operatorsPart, reasons: reasonsPart, passes: passesPart }[tab]());
}
const empty = (text) => make("p", { class: "empty" }, text);

function nodePart() {
  const n = nodes[state.selected];
  if (!n) return empty("No node is selected: click one, or press n.");
  const facts = make("dl", { class: "facts" });
  const add = (name, ...values) => { if (values.length) facts.append(make("dt", {}, name), make("dd", {}, ...values)); };
  const lines = (items) => items.map((x) => make("div", {}, x));
  add("name", n.name);
  add("operator", `${n.op}-${n.since}`);
  add("runs on", dot(n.ep), n.ep, n.group >= 0 ? `, subgraph ${n.group}` : "");
  if (n.us !== undefined) add("time", `${time(n.us)} a run (${digits(100 * n.share)} %), ${n.calls} calls`);
  if (fusedInto(state.selected) >= 0) add("time", "fused into ", link(fusedInto(state.selected)));
  add("refused by", ...lines(Object.entries(n.reasons).map(([ep, why]) => `${ep}: ${why}`)));
  add("reads", ...lines(n.inputs.map((name) => (makers.has(name) ? make("span", {}, `${name} from `, link(makers.get(name))) : `${name} (input)`))));
  add("gives", ...lines(n.outputs.map(([name, type]) => `${name}: ${type}`)));
  add("read by", ...lines([...new Set(readers[state.selected].map((k) => edges[k][1]))].map(link)));
  add("made from", ...lines(n.origins));
  if (n.within) add("in a body of", n.within);
  return facts;
}

function table(columns, rows) {
  const head = columns.map(([key, title, number]) => make("th", { class: number ? "number" : "" },
    key ? make("button", { onclick: () => { sorting = { key, down: sorting.key === key ? !sorting.down : true }; drawPanel(); } },
      title + (sorting.key === key ? (sorting.down ? " ↓" : " ↑") : "")) : title));
  return make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
}
const number = (text) => make("td", { class: "number" }, text);

function nodesPart() {
  const timed = nodes.some((n) => n.us !== undefined);
  const keys = { order: (i) => -i, us: (i) => nodes[i].us ?? -1, op: (i) => nodes[i].op, name: (i) => nodes[i].name, ep: (i) => nodes[i].ep };
  const key = keys[sorting.key] || keys.order;
  const sorted = [...shown()].sort((a, b) => (key(a) < key(b) ? 1 : key(a) > key(b) ? -1 : a - b) * (sorting.down ? 1 : -1));
  const rows = sorted.map((i) => {
    const n = nodes[i];
    const cells = [number(String(i + 1)), make("td", {}, n.op), make("td", {}, n.name), make("td", {}, dot(n.ep), n.ep)];
    if (timed) cells.push(make("td", { class: "number" }, n.us === undefined ? "" : time(n.us),
      n.us === undefined ? null : make("span", { class: "bar", style: `width:${(100 * n.us) / hottest}%;background:${colour(n.ep)}` })));
    const row = make("tr", { "data-node": i, class: i === state.selected ? "selected" : "", onclick: () => select(i) }, ...cells);
    return row;
  });
  const columns = [["order", "#", true], ["op", "operator"], ["name", "node"], ["ep", "runs on"]];
  if (timed) columns.push(["us", "a run", true]);
  return rows.length ? table(columns, rows) : empty("Nothing matches.");
}

function operatorsPart() {
  if (data.operators.length) {
    const rows = data.operators.map(([op, ep, count, us, share]) => make("tr", {}, make("td", {}, op), make("td", {}, dot(ep), ep), number(String(count)),
      number(time(us)), make("td", { class: "number" }, `${digits(100 * share)} %`,
        make("span", { class: "bar", style: `width:${100 * share}%;background:${colour(ep)}` }))));
    return table([["", "operator"], ["", "runs on"], ["", "nodes", true], ["", "a run", true], ["", "share", true]], rows);
  }
  const counts = new Map();
  for (const n of nodes) counts.set(`${n.op}\n${n.ep}`, (counts.get(`${n.op}\n${n.ep}`) || 0) + 1);
  const rows = [...counts].sort((a, b) => b[1] - a[1]).map(([key, count]) => {
    const [op, ep] = key.split("\n");
    return make("tr", {}, make("td", {}, op), make("td", {}, dot(ep), ep), number(String(count)));
  });
  return table([["", "operator"], ["", "runs on"], ["", "nodes", true]], rows);
}

function reasonsPart() {
  const groups = new Map();
  nodes.forEach((n, i) => {
    for (const [ep, why] of Object.entries(n.reasons)) {
      const key = `${ep}\n${why}\n${n.op}`;
      groups.set(key, [...(groups.get(key) || []), i]);
    }
  });
  if (!groups.size) return empty("No provider refused a node that it was offered.");
  const rows = [...groups].sort((a, b) => b[1].length - a[1].length).map(([key, which]) => {
    const [ep, why, op] = key.split("\n");
    const more = which.length > 6 ? `and ${which.length - 6} more` : null;
    return make("tr", {}, make("td", {}, dot(ep), ep), make("td", {}, why), make("td", {}, op),
      make("td", {}, ...which.slice(0, 6).map((i) => make("div", {}, link(i))), more));
  });
  return table([["", "refused by"], ["", "why"], ["", "operator"], ["", "nodes"]], rows);
}

function passesPart() {
  if (!data.passes.length) return empty("No pass ran.");
  const rows = data.passes.map(([name, ms, edits], k) => make("tr", {}, number(String(k + 1)), make("td", {}, name), number(String(edits)), number(time(1000 * ms))));
  return table([["", "#", true], ["", "pass"], ["", "edits", true], ["", "time", true]], rows);
}

state.listeners.push((what) => {
  if (what.startsWith("selection")) tab = state.selected >= 0 ? "node" : tab === "node" ? "nodes" : tab;
  drawPanel();
});

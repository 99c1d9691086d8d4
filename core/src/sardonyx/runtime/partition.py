"""Who runs which node: claims in priority order, function bodies for what is refused, and convex groups."""

from __future__ import annotations

from dataclasses import dataclass, field

from sardonyx.ep.claims import claim_node
from sardonyx.ep.provider import Claim, Provider
from sardonyx.ep.shape_kernels import shape_kernels
from sardonyx.errors import NotSupported
from sardonyx.ir.attribute_values import undefined_attribute
from sardonyx.ir.chain import EXPECT
from sardonyx.ir.dtypes import STRING
from sardonyx.ir.graph import Graph, Node, Value
from sardonyx.ir.schema import schema
from sardonyx.ir.types import TensorType, type_string

__all__ = ["CONTROL", "HOST", "JOINT", "Assignment", "Group", "assign", "group", "reads_metadata", "small_islands"]

HOST = "host"
CONTROL = "control flow"
JOINT = "joint"
ALONE = frozenset({CONTROL, JOINT})
MAX_EXPANSION = 16
SMALL_ISLAND = 2
REGISTER = (
    "register a Python function for it with @sardonyx.custom_op({0!r}, {1!r}, dtypes=[...]) before making the session, "
    "or install a package that has it"
)
HEAVY = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm", "Attention", "LSTM", "GRU", "RNN", "Einsum"})


@dataclass
class Assignment:
    """For every node the name of its provider (or HOST, CONTROL), its claim, and why others refused it."""

    owner: dict[Node, str] = field(default_factory=dict)
    claims: dict[Node, Claim] = field(default_factory=dict)
    refusals: dict[str, dict[str, str]] = field(default_factory=dict)


# Operators of moderate results whose ONNX body overflows on the way (it takes exp of its input as it is).
OVERFLOWING = frozenset({"Softplus", "ReduceLogSumExp"})


def assign(
    graph: Graph,
    providers: list[Provider],
    *,
    forced: dict[str, dict[str, str]] | None = None,
    wishes: dict[str, str] | None = None,
) -> Assignment:
    """Assign every node of `graph` (bodies are assigned when their own plan is made). The graph may change: a node that
    nobody claims is replaced by its operator's function body, unless its attributes have values that ONNX does not define.

    `forced` holds refusals by node and provider (from CompileRefused); `wishes` maps a node, an origin or an operator to
    the provider it should run on. Raises NotSupported naming every node that nobody takes, with the reasons.
    """
    result = Assignment()
    shapes = _shape_nodes(graph)
    devices = any(p.memory != "host" for p in providers)
    result.owner |= {n: JOINT for n in graph.nodes if n.key == EXPECT}
    pending = [n for n in graph.nodes if n not in result.owner]
    for depth in range(MAX_EXPANSION + 1):
        _claim(graph, pending, providers, result, forced or {}, wishes or {})
        open_nodes = [n for n in pending if n not in result.owner]
        for node in open_nodes:
            if node.bodies and node.op in ("If", "Loop", "Scan"):
                result.owner[node] = CONTROL
            elif (node in shapes or (reads_metadata(node) and devices)) and isinstance(claim_node(node, shape_kernels), Claim):
                result.owner[node] = HOST
        _prefer_host(graph, shapes, providers, result, wishes or {})
        open_nodes = [n for n in open_nodes if n not in result.owner]
        if not open_nodes:
            break
        pending = [new for node in open_nodes for new in _expand(graph, node)] if depth < MAX_EXPANSION else []
        if not pending:
            break
    stuck = [n for n in graph.nodes if n not in result.owner]
    if not stuck:
        return result
    raise NotSupported(
        _complaint(stuck, providers, result),
        {n.name: dict(result.refusals.get(n.name, {})) for n in stuck},
        {n.name: (n.domain, n.op, n.since) for n in stuck},
    )


def _claim(
    graph: Graph,
    pending: list[Node],
    providers: list[Provider],
    result: Assignment,
    forced: dict[str, dict[str, str]],
    wishes: dict[str, str],
) -> None:
    """Offer the pending nodes to each provider in turn; a wish goes first, and refuses the others."""
    pending_set = set(pending)
    for provider in providers:
        if all(node in result.owner for node in pending):
            break
        answers = provider.claim(graph)
        for node in pending:
            if node in result.owner:
                continue
            reasons = result.refusals.setdefault(node.name, {})
            wish = _wish(node, wishes)
            answer = answers.get(node)
            if provider.memory != "host" and not _dense(node):
                reasons[provider.name] = "a value is not a dense tensor of numbers"
            elif provider.name in forced.get(node.name, {}):
                reasons[provider.name] = forced[node.name][provider.name]
            elif wish is not None and wish != provider.name and any(p.name == wish for p in providers):
                reasons[provider.name] = f"assigned to {wish!r}"
            elif isinstance(answer, Claim):
                result.owner[node] = provider.name
                result.claims[node] = answer
            elif answer is not None or not provider.partial:
                reasons[provider.name] = answer.reason if answer is not None else "not claimed"
    for node in pending_set:
        if not result.refusals.get(node.name):
            result.refusals.pop(node.name, None)


def _wish(node: Node, wishes: dict[str, str]) -> str | None:
    if not wishes:
        return None
    for key in (node.name, *node.origins, node.title, node.op):
        if key in wishes:
            return wishes[key]
    return None


def _dense(node: Node) -> bool:
    for v in (*node.inputs, *node.outputs):
        if v is None or v.type is None:
            continue
        if not isinstance(v.type, TensorType) or v.dtype == STRING:
            return False
    return True


def _prefer_host(graph: Graph, shapes: set[Node], providers: list[Provider], result: Assignment, wishes: dict[str, str]) -> None:
    """Shape nodes offered to a device stay with core's own kernels, even if the device claims them: their results are
    needed on the host, and copies cost more. So does every Shape and Size, which needs no more than metadata."""
    first_device = next((i for i, p in enumerate(providers) if p.memory != "host"), len(providers))
    late = {p.name: p.memory for p in providers[first_device:]}
    for node in (*shapes, *(n for n in graph.nodes if reads_metadata(n) and late)):
        owner = result.owner.get(node)
        if owner in late and _wish(node, wishes) is None and isinstance(claim_node(node, shape_kernels), Claim):
            result.owner[node] = HOST
            if late[owner] != "host":
                result.refusals.setdefault(node.name, {})[owner] = "computes shapes, which are needed on the host"


def reads_metadata(node: Node) -> bool:
    """Whether a node looks only at the shape of its input, wherever that lies."""
    return node.domain == "" and node.op in ("Shape", "Size")


# operator -> inputs that are shapes, axes, counts or indices of shape arithmetic
SHAPE_INPUTS: dict[str, tuple[int, ...]] = {
    "Reshape": (1,),
    "Expand": (1,),
    "Tile": (1,),
    "ConstantOfShape": (0,),
    "Slice": (1, 2, 3, 4),
    "Resize": (1, 2, 3),
    "Pad": (1, 3),
    "Squeeze": (1,),
    "Unsqueeze": (1,),
    "Range": (0, 1, 2),
    "Split": (1,),
    "TopK": (1,),
    "OneHot": (1,),
    "CenterCropPad": (1,),
    "ReduceSum": (1,),
    "ReduceMean": (1,),
    "ReduceMax": (1,),
    "ReduceMin": (1,),
    "ReduceProd": (1,),
}


def _shape_nodes(graph: Graph) -> set[Node]:
    """Nodes whose results are only used as shapes, axes or counts (directly or through other such nodes), and which read
    no tensor data: they start from Shape, Size and constants."""
    small: set[Node] = set()
    for node in graph.nodes:
        if (node.op in ("Shape", "Size") and node.domain == "") or (
            node.domain == "" and node.inputs and all(v is None or _small(v, small) for v in node.inputs)
        ):
            small.add(node)
    wanted: set[Node] = set()
    outputs = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node not in small or node.bodies:
            continue
        uses = [(v, u, i) for v in node.outputs if v is not None for u, i in v.uses]
        if uses and all(v not in outputs for v in node.outputs) and all(u in wanted or i in SHAPE_INPUTS.get(u.op, ()) for _, u, i in uses):
            wanted.add(node)
    return wanted


def _small(v: Value, small: set[Node]) -> bool:
    return v.const.nbytes <= 1024 if v.const is not None else v.producer in small


def _expand(graph: Graph, node: Node) -> list[Node]:
    from sardonyx.ir.functions import expand

    return [] if node.op in OVERFLOWING else expand(node) or []


def _complaint(nodes: list[Node], providers: list[Provider], result: Assignment) -> str:
    names = ", ".join(p.name for p in providers if not p.partial) or "none"
    lines = [f"{len(nodes)} node{'s' if len(nodes) > 1 else ''} cannot run on the providers asked for ({names}):"]
    for node in nodes[:20]:
        types = ", ".join("-" if v is None else type_string(v.type) for v in node.inputs)
        lines.append(f"  {node.name!r} ({node.title}-{node.since}; {types})")
        reasons = result.refusals.get(node.name, {})
        lines += [f"    {ep}: {reason}" for ep, reason in reasons.items()]
        undefined = undefined_attribute(node)
        if undefined is not None and undefined not in reasons.values():
            lines.append(f"    {undefined}")
        if schema(node.domain, node.op, node.since) is None and not any(p.partial and p.name in reasons for p in providers):
            lines.append(f"    ONNX does not define {node.title}: {REGISTER.format(node.domain, node.op)}")
    if len(nodes) > 20:
        lines.append(f"  ... and {len(nodes) - 20} more")
    if not providers:
        lines.append("no provider is installed: pip install sardonyx-ep-cpu")
    return "\n".join(lines)


@dataclass
class Group:
    """A convex set of nodes of one owner, with the values that cross its border."""

    owner: str
    nodes: list[Node] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)


def group(graph: Graph, owner: dict[Node, str]) -> list[Group]:
    """The nodes in the largest convex groups of one owner each, in an order in which they can run.

    A node joins an open group of its owner unless a path from that group through another one leads to the node.
    Control-flow nodes and the checks between models are groups of their own.
    """
    groups: list[Group] = []
    before: list[set[int]] = []
    of: dict[Node, int] = {}
    latest: dict[str, list[int]] = {}
    for node in graph.nodes:
        name = owner[node]
        needs = {of[v.producer] for v in _reads(node) if v.producer in of}
        home = None
        if name not in ALONE:
            for g in reversed(latest.get(name, [])):
                others = needs - {g}
                if not any(g in before[h] for h in others):
                    home = g
                    break
        if home is None:
            home = len(groups)
            groups.append(Group(name))
            before.append(set())
            latest.setdefault(name, []).append(home)
        groups[home].nodes.append(node)
        of[node] = home
        needs.discard(home)
        new = set().union(*(before[g] | {g} for g in needs)) - {home} - before[home] if needs else None
        if new:
            for g in range(len(groups)):
                if g == home or home in before[g]:
                    before[g] |= new
    order = sorted(range(len(groups)), key=lambda g: (len(before[g]), g))
    outputs = set(graph.outputs)
    # A body may give an outer value as its own result, which no node of it uses.
    outputs.update(v for node in graph.nodes if owner[node] == CONTROL for v in _reads(node))
    for made in groups:
        _border(made, outputs)
    return [groups[g] for g in order]


def _reads(node: Node) -> list[Value]:
    values = [v for v in node.inputs if v is not None]
    for body in node.bodies:
        values += body.captures()
    return values


def _border(g: Group, graph_outputs: set[Value]) -> None:
    inside = set(g.nodes)
    seen: dict[Value, None] = {}
    for node in g.nodes:
        for v in _reads(node):
            if v.const is None and v.producer not in inside:
                seen[v] = None
    g.inputs = list(seen)
    for node in g.nodes:
        for body in node.bodies:
            inside.update(body.walk_nodes())
    for node in g.nodes:
        for out in node.outputs:
            if out is not None and (out in graph_outputs or any(u not in inside for u, _ in out.uses)):
                g.outputs.append(out)


def small_islands(groups: list[Group], spaces: dict[str, str]) -> dict[str, dict[str, str]]:
    """Refusals for device groups that are too small to pay for the copies of what crosses their border."""
    refusals: dict[str, dict[str, str]] = {}
    for g in groups:
        if spaces.get(g.owner, "host") == "host" or len(g.nodes) > SMALL_ISLAND or any(n.op in HEAVY for n in g.nodes):
            continue
        neighbours = {n for v in g.inputs for n in _before(v)} | {n for v in g.outputs for n in _after(v)}
        owners = {h.owner for h in groups for n in neighbours if n in h.nodes}
        if owners and all(spaces.get(o, "host") == "host" for o in owners):
            for n in g.nodes:
                refusals[n.name] = {g.owner: "a small island among host nodes: the copies would cost more than they save"}
    return refusals


def _before(v: Value) -> list[Node]:
    """The node that gives a value; where that is a check between models, the node before it."""
    while v.producer is not None and v.producer.key == EXPECT:
        v = v.producer.inputs[0]  # type: ignore[assignment]
    return [] if v.producer is None else [v.producer]


def _after(v: Value) -> list[Node]:
    """The nodes that use a value, those behind checks between models included."""
    return [n for user, _ in v.uses for n in (_after(user.outputs[0]) if user.key == EXPECT else [user])]  # type: ignore[arg-type]

"""One self-contained HTML page about a placement, and about a profile where there is one: it needs no network."""

from __future__ import annotations

import json
import re
from html import escape
from importlib import resources
from typing import Any

from sardonyx.runtime import arguments
from sardonyx.runtime.explain import Placement
from sardonyx.runtime.profiler import Profile
from sardonyx.tools.page.data import page_data

__all__ = ["page"]

SCRIPTS = ("state.js", "graph.js", "strip.js", "lists.js", "keys.js")


def page(placement: Placement, profile: Profile | None = None, *, title: str = "") -> str:
    """The page: the graph with the providers' colours, the reasons of refusals, every node, what each pass did, the memory of
    the values over the order of execution; for a profile also the times and a timeline of its last run."""
    folder = resources.files("sardonyx.tools.page")
    name = arguments.text("title", title) or ("Profile" if profile is not None else "Placement")
    # A "<" inside of a script element could end it; JSON may write it as an escape.
    data = json.dumps(page_data(placement, profile, name), separators=(",", ":"), default=_plain).replace("<", "\\u003c")
    parts: dict[str, str] = {
        "TITLE": escape(name),
        "STYLE": (folder / "style.css").read_text("utf-8"),
        "DATA": data,
        "SCRIPT": "\n".join((folder / script).read_text("utf-8") for script in SCRIPTS),
    }
    return re.sub("@([A-Z]+)@", lambda m: parts[m[1]], (folder / "page.html").read_text("utf-8"))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)

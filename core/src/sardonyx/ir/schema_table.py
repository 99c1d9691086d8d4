"""The schemas of one release of onnx as a file of this package, so that onnx need not register its operators to be asked.

The file serves where that release is installed; with any other, onnx.defs is asked. Its first line names the release. A line
`= N TYPES` is the N-th set of type strings; every other line is a schema: domain, operator, version, and a JSON list of
inputs, outputs, their bounds, type variables (name to number of a set), attributes (name to [type, required, default]), and
whether it is deprecated and has a function body. `python -m sardonyx.ir.schema_table` writes the file anew.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sardonyx.ir.schema_record import Formal, Schema, dtypes_of

__all__ = ["Table", "installed_table", "table_text"]

FILE = Path(__file__).with_name("schemas.txt")
NAMES = {"": "ai.onnx"}
OPTIONS = ("Single", "Optional", "Variadic")


class Table:
    """The schemas of a text as `table_text` makes it; each is parsed when it is asked for."""

    def __init__(self, text: str):
        self.sets: list[str] = []
        self.versions: dict[tuple[str, str], list[int]] = {}
        self._lines: dict[tuple[str, str, int], str] = {}
        self.release, *lines = text.splitlines()
        domains = {name: domain for domain, name in NAMES.items()}
        for line in lines:
            domain, op, rest = line.split(" ", 2)
            if domain == "=":
                self.sets.append(rest)
                continue
            version, record = rest.split(" ", 1)
            key = domains.get(domain, domain), op
            self.versions.setdefault(key, []).append(int(version))
            self._lines[*key, int(version)] = record

    def version(self, domain: str, op: str, opset: int) -> int | None:
        """The version of an operator of the table in force at `opset`; None before its first. KeyError for others."""
        return max((v for v in self.versions[domain, op] if v <= opset), default=None)

    def is_deprecated(self, domain: str, op: str, version: int) -> bool:
        """Whether a version ends the operator."""
        return self._lines[domain, op, version].rsplit(", ", 2)[1] == "true"

    def schema(self, domain: str, op: str, version: int) -> Schema:
        """The record of a version of an operator."""
        inputs, outputs, low, high, most, variables, attributes, deprecated, function = json.loads(self._lines[domain, op, version])
        strings = {f[1]: frozenset((f[1],)) for f in (*inputs, *outputs)}
        strings |= {name: _type_set(self.sets[n]) for name, n in variables.items()}
        return Schema(
            domain=domain,
            op=op,
            since=version,
            inputs=tuple(_formal(*f) for f in inputs),
            outputs=tuple(_formal(*f) for f in outputs),
            min_input=low,
            max_input=high,
            max_output=most,
            types={name: dtypes_of(allowed) for name, allowed in strings.items()},
            type_strings=strings,
            attributes={name: default for name, (_, _, default) in attributes.items()},
            attribute_types={name: kind for name, (kind, _, _) in attributes.items()},
            required=frozenset(name for name, (_, required, _) in attributes.items() if required),
            deprecated=deprecated,
            has_function=function,
        )


@cache
def _type_set(text: str) -> frozenset[str]:
    return frozenset(text.split(";"))


def _formal(name: str, type: str, option: int = 0) -> Formal:
    return Formal(name, type, option == 1, option == 2)


@cache
def installed_table() -> Table | None:
    """The package's table, if it describes the onnx that is installed."""
    import onnx

    with FILE.open(encoding="utf-8") as f:
        release = f.readline().strip()
        return Table(f"{release}\n{f.read()}") if release == onnx.__version__ else None


def table_text(schemas: Sequence[Any], release: str) -> str:
    """The text of a table of these OpSchemas."""
    from sardonyx.ir.schema_onnx import read

    sets: dict[str, int] = {}
    lines = []
    for s in sorted(schemas, key=lambda s: (s.domain, s.name, s.since_version)):
        r = read(s)
        variables = {c.type_param_str: sets.setdefault(";".join(sorted(c.allowed_type_strs)), len(sets)) for c in s.type_constraints}
        attributes = {name: [r.attribute_types[name], name in r.required, r.attributes[name]] for name in sorted(r.attributes)}
        formals = [[_formal_text(f) for f in formals] for formals in (r.inputs, r.outputs)]
        record = [*formals, r.min_input, r.max_input, r.max_output, variables, attributes, r.deprecated, r.has_function]
        lines.append(f"{NAMES.get(s.domain, s.domain)} {s.name} {s.since_version} {json.dumps(record)}")
    types = [f"= {n} {text}" for text, n in sets.items()]
    return "\n".join((release, *types, *lines)) + "\n"


def _formal_text(f: Formal) -> list[Any]:
    return [f.name, f.type, *([1] if f.optional else [2] if f.variadic else [])]


if __name__ == "__main__":
    import onnx

    FILE.write_text(table_text(onnx.defs.get_all_schemas_with_history(), onnx.__version__), encoding="utf-8")

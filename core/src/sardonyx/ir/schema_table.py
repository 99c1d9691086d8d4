"""The schemas of one release of onnx as a file of this package, so that onnx need not register its operators to be asked.

The file serves where that release is installed; with any other, onnx.defs is asked. Its first line names the release. A line
`= N TYPES` is the N-th set of type strings; every other line is a schema: domain, operator, version, and a JSON list of
inputs, outputs, their bounds, type variables (name to number of a set), attributes (name to [type, required, default]), and
whether it is deprecated and has a function body. `python -m sardonyx.ir.schema_table` writes the file anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sardonyx.ir.schema_record import Formal, Schema, dtypes_of

__all__ = ["Table", "installed_table", "table_text"]

FILE = Path(__file__).with_name("schemas.txt")
NAMES = {"": "ai.onnx"}
DOMAIN = re.compile(r"[\w.]*")
OPTIONS = ("Single", "Optional", "Variadic")


class Table:
    """The schemas of a text as `table_text` makes it; lines are looked for, and parsed, when they are asked for."""

    def __init__(self, text: str):
        self.release = text[: text.index("\n")]
        self._text = text
        self._sets: dict[int, frozenset[str]] = {}
        self._records: dict[tuple[str, str], dict[int, str]] = {}

    def _find(self, domain: str, op: str) -> dict[int, str]:
        """By version the records of an operator; none for one that is not in the table."""
        known = self._records.get((domain, op))
        if known is None:
            known = self._records[domain, op] = {}
            if op.isidentifier() and DOMAIN.fullmatch(domain) and domain not in NAMES.values():
                head, text = f"\n{NAMES.get(domain, domain)} {op} ", self._text
                at = text.find(head)
                while at >= 0:
                    end = text.index("\n", at + 1)
                    version, record = text[at + len(head) : end].split(" ", 1)
                    known[int(version)] = record
                    at = end if text.startswith(head, end) else -1
        return known

    def _set(self, n: int) -> frozenset[str]:
        if n not in self._sets:
            head = f"\n= {n} "
            at = self._text.index(head) + len(head)
            self._sets[n] = frozenset(self._text[at : self._text.index("\n", at)].split(";"))
        return self._sets[n]

    def has(self, domain: str, op: str) -> bool:
        """Whether the table has the operator."""
        return bool(self._find(domain, op))

    def version(self, domain: str, op: str, opset: int) -> int | None:
        """The version of an operator of the table in force at `opset`; None before its first."""
        return max((v for v in self._find(domain, op) if v <= opset), default=None)

    def is_deprecated(self, domain: str, op: str, version: int) -> bool:
        """Whether a version ends the operator."""
        return self._find(domain, op)[version].rsplit(", ", 2)[1] == "true"

    def schema(self, domain: str, op: str, version: int) -> Schema:
        """The record of a version of an operator."""
        inputs, outputs, low, high, most, variables, attributes, deprecated, function = json.loads(self._find(domain, op)[version])
        strings = {f[1]: frozenset((f[1],)) for f in (*inputs, *outputs)}
        strings |= {name: self._set(n) for name, n in variables.items()}
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


def _formal(name: str, type: str, option: int = 0) -> Formal:
    return Formal(name, type, option == 1, option == 2)


@cache
def installed_table() -> Table | None:
    """The package's table, if it describes the onnx that is installed."""
    import onnx

    table = Table(FILE.read_text(encoding="utf-8"))
    return table if table.release == onnx.__version__ else None


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

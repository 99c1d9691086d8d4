"""The ledger of a provider: what it promises, in a file `conformance.toml` of its own package.

[claimed]                # by onnx version: at least so many of onnx's cases are claimed in each variant
"1.23.2" = 2033

[tolerances]             # by dtype, where the cases' own are too narrow: [rtol, atol]
float16 = [2e-3, 1e-3]

[xfail]                  # case -> reason; one that passes fails the run
test_bernoulli = "compares random draws"
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["FILE", "Ledger", "LedgerError", "find_ledger", "parse_ledger"]

FILE = "conformance.toml"


class LedgerError(ValueError):
    """A ledger that says something it cannot mean, with the file and the key."""


@dataclass(frozen=True)
class Ledger:
    """`claimed` by onnx version, `tolerances` as (rtol, atol) by dtype name, `xfail` reasons by case, and where it is from."""

    claimed: dict[str, int] = field(default_factory=dict)
    tolerances: dict[str, tuple[float, float]] = field(default_factory=dict)
    xfail: dict[str, str] = field(default_factory=dict)
    source: str = "no ledger"


def find_ledger(module: ModuleType | None, path: str | None = None) -> Ledger:
    """The ledger at `path`, or the one in the package of the provider's entry-point module; empty where there is none."""
    if path is not None:
        return parse_ledger(_read(Path(path)), path)
    package = getattr(module, "__package__", None)
    if not package:
        return Ledger()
    file = resources.files(package.partition(".")[0]) / FILE
    return parse_ledger(file.read_text("utf-8"), str(file)) if file.is_file() else Ledger()


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as e:
        raise LedgerError(f"the ledger {path} cannot be read: {e.strerror}") from None


def parse_ledger(text: str, source: str) -> Ledger:
    """A ledger from its text. Raises LedgerError for anything unknown or ill-typed."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise LedgerError(f"{source}: {e}") from None
    unknown = data.keys() - {"claimed", "tolerances", "xfail"}
    if unknown:
        raise LedgerError(f"{source}: unknown key {sorted(unknown)[0]!r}; a ledger has claimed, tolerances, xfail")
    for key, table in data.items():
        if not isinstance(table, dict):
            raise LedgerError(f"{source}: {key} is a table")
    return Ledger(
        {k: _count(source, k, v) for k, v in data.get("claimed", {}).items()},
        {k: _tolerance(source, k, v) for k, v in data.get("tolerances", {}).items()},
        {k: _reason(source, k, v) for k, v in data.get("xfail", {}).items()},
        source,
    )


def _count(source: str, version: str, value: Any) -> int:
    if type(value) is not int or value < 0:
        raise LedgerError(f"{source}: claimed.{version!r} is a number of cases, not {value!r}")
    return value


def _tolerance(source: str, dtype: str, value: Any) -> tuple[float, float]:
    from sardonyx.ir.dtypes import FROM_ONNX

    if dtype not in {np.dtype(d).name for d in FROM_ONNX.values()}:
        raise LedgerError(f"{source}: tolerances.{dtype} is not a dtype")
    pair = (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(x, (int, float)) and not isinstance(x, bool) and x >= 0 for x in value)
    )
    if not pair:
        raise LedgerError(f"{source}: tolerances.{dtype} is [rtol, atol], not {value!r}")
    return float(value[0]), float(value[1])


def _reason(source: str, case: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise LedgerError(f"{source}: xfail.{case} needs a reason")
    return value

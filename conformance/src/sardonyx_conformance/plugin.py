"""The pytest plugin: options, the provider under test, the ledger's xfails and its promise, and the reports.

It is loaded in every pytest run of an environment that has the suite, so it imports nothing heavy until a test of the
suite is collected.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

__all__: list[str] = []

PROPERTY = "sardonyx_conformance"
SUITE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """The suite's options."""
    group = parser.getgroup("sardonyx", "Sardonyx conformance")
    group.addoption("--ep", metavar="NAME", help="the execution provider to test")
    group.addoption("--ledger", metavar="PATH", help="its ledger (default: conformance.toml in its package)")
    group.addoption("--variant", choices=("raw", "optimized", "both"), default="both", help="optimizations off, on, or both (default)")
    group.addoption("--report", metavar="DIR", help="write NAME.json, NAME.md and NAME.html there")
    group.addoption("--report-json", metavar="FILE", help="write the JSON report there")


def variants(config: pytest.Config) -> list[str]:
    """The variants asked for."""
    chosen = config.getoption("--variant")
    return ["raw", "optimized"] if chosen == "both" else [chosen]


def make_target(config: pytest.Config) -> Any:
    """The provider under test, made once per run. Raises UsageError without --ep, or if it cannot be used."""
    if not hasattr(config, "_sardonyx_target"):
        from sardonyx.errors import SardonyxError
        from sardonyx_conformance.ledger import LedgerError
        from sardonyx_conformance.target import Target

        name = config.getoption("--ep")
        if not name:
            raise pytest.UsageError("the conformance suite needs --ep NAME, the execution provider to test")
        try:
            config._sardonyx_target = Target(name, config.getoption("--ledger"))  # type: ignore[attr-defined]
        except (SardonyxError, LedgerError) as e:
            raise pytest.UsageError(str(e)) from e
    return config._sardonyx_target  # type: ignore[attr-defined]


@pytest.fixture(scope="session")
def target(request: pytest.FixtureRequest) -> Any:
    """The provider under test (a `sardonyx_conformance.target.Target`)."""
    return make_target(request.config)


@pytest.fixture(scope="session")
def run_op(target: Any, form: str) -> Any:
    """A function that runs one operator; see `sardonyx_conformance.cases.build.OpRunner`. One test per form."""
    from sardonyx_conformance.cases.build import OpRunner

    return OpRunner(target, form)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Let the report know which operators a test runs."""
    facts: Any = dict(item.user_properties).get(PROPERTY)
    runner = getattr(item, "funcargs", {}).get("run_op")
    if facts is not None and runner is not None:
        runner.used = facts["operators"]


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per variant for tests that take `variant`, and per form (constant inputs besides) for those that run operators."""
    if not _is_ours(Path(str(metafunc.definition.path))):
        return
    if "form" in metafunc.fixturenames:
        chosen = variants(metafunc.config)
        metafunc.parametrize("form", [*chosen, *(["constants"] if "optimized" in chosen else [])], scope="session")
    elif "variant" in metafunc.fixturenames and "case" not in metafunc.fixturenames:
        metafunc.parametrize("variant", variants(metafunc.config), scope="session")


def _is_ours(path: Path) -> bool:
    return SUITE in path.parents


def pytest_configure(config: pytest.Config) -> None:
    """Collect results where the report is made: in the controlling process."""
    if config.getoption("--ep") and not hasattr(config, "workerinput"):
        from sardonyx_conformance.report.collect import Collector

        config.pluginmanager.register(Collector(config), "sardonyx-conformance-report")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the ledger's expected failures, and tell the report what each test is."""
    ours = [i for i in items if _is_ours(i.path)]
    if not ours:
        return
    ledger = make_target(config).ledger
    for item in ours:
        facts = _facts(item)
        reason = ledger.xfail.get(facts["name"])
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=_is_certain(item)))
        item.user_properties.append((PROPERTY, facts))


def _is_certain(item: pytest.Item) -> bool:
    """Whether a test cannot pass by luck: it draws no random numbers."""
    from sardonyx_conformance.cases.case import determined

    case = item.callspec.params.get("case") if hasattr(item, "callspec") else None
    return case is None or determined(case.model())


def _facts(item: pytest.Item) -> dict[str, Any]:
    """What the report wants to know about a test: plain data that a worker process can send."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    case = params.get("case")
    variant = params.get("variant", params.get("form", ""))
    if case is not None and item.path.parent == SUITE:
        return {"name": case.name, "kind": case.kind, "variant": variant, "operators": [list(o) for o in case.operators]}
    name = item.name.replace(f"[{variant}-", "[").replace(f"-{variant}]", "]").replace(f"[{variant}]", "")
    name = f"{item.path.stem.removeprefix('test_')}.{name}"
    return {"name": name, "kind": item.path.parent.name, "variant": variant, "operators": []}

import sys
import textwrap
import types

import pytest
from onnx import helper

import sardonyx
from sardonyx.ep import API_VERSION, Device, Option, Provider, ProviderInfo, Unavailable, hook
from sardonyx.errors import InvalidInput, ProviderError
from sardonyx.runtime import discovery, log


@pytest.fixture
def install(tmp_path, monkeypatch):
    """install(distribution, name, code): a package as pip would leave it, with a provider entry point."""
    monkeypatch.syspath_prepend(tmp_path)

    def refresh():
        discovery._entry_points.cache_clear()
        discovery._load.cache_clear()

    def add(distribution: str, name: str, code: str) -> None:
        module = distribution.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(code))
        info = tmp_path / f"{module}-1.5.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(f"[sardonyx.providers]\n{name} = {module}\n")
        refresh()

    yield add
    monkeypatch.undo()
    refresh()
    for file in tmp_path.glob("*.py"):
        sys.modules.pop(file.stem, None)


GOOD = """
    from sardonyx.ep import Provider, ProviderInfo, hook

    @hook
    def sardonyx_provider():
        return ProviderInfo(name="good", create=Provider)
"""


def state(name):
    return next(s for s in discovery.providers() if s.name == name)


def test_an_installed_package_is_found(install):
    install("good-ep", "good", GOOD)
    found = state("good")
    assert (found.usable, found.distribution, found.version) == (True, "good-ep", "1.5")
    assert "good" in sardonyx.get_available_providers()


def test_a_broken_plug_in_is_a_reason_for_those_who_did_not_ask(install):
    install("broken-ep", "broken", "import no_such_library")
    assert state("broken").reason == "its module broken_ep cannot be imported: ModuleNotFoundError: No module named 'no_such_library'"
    assert "broken" in sardonyx.get_all_providers()
    assert "broken" not in sardonyx.get_available_providers()
    assert "cpu" in sardonyx.get_available_providers()


def test_a_broken_plug_in_raises_for_those_who_ask(install):
    install("broken-ep", "broken", "raise RuntimeError('driver too old')")
    with pytest.raises(ProviderError, match=r"'broken' cannot be used: .*driver too old") as e:
        discovery.find("broken")
    assert isinstance(e.value.__cause__, RuntimeError)


def test_even_sys_exit_in_a_plug_in_is_only_a_reason(install):
    install("rude-ep", "rude", "import sys; sys.exit(3)")
    assert "SystemExit: 3" in state("rude").reason


def test_two_plug_ins_of_one_name(install):
    install("first-ep", "twice", GOOD)
    install("second-ep", "twice", GOOD)
    assert state("twice").reason == "two packages provide 'twice': first-ep and second-ep; uninstall one of them"
    with pytest.raises(ProviderError, match="first-ep and second-ep"):
        discovery.find("twice")


@pytest.mark.parametrize(("version", "who"), [(API_VERSION - 1, "upgrade old-ep"), (API_VERSION + 1, "upgrade sardonyx")])
def test_the_message_says_who_upgrades(install, version, who):
    install("old-ep", "old", GOOD.replace("create=Provider", f"create=Provider, api_version={version}"))
    assert state("old").reason.endswith(who)


def test_a_module_without_the_hook(register):
    register("empty", module=types.ModuleType("empty"))
    assert "no sardonyx_provider hook" in state("empty").reason


def test_a_hook_that_returns_something_else(register):
    module = types.ModuleType("odd")
    module.sardonyx_provider = hook(lambda: "provider")
    module.sardonyx_provider.__name__ = "sardonyx_provider"
    register("odd", module=module)
    assert "returns a ProviderInfo" in state("odd").reason


@pytest.mark.parametrize(
    ("probe", "reason"),
    [(lambda: Unavailable("no GPU here"), "no GPU here"), (list, "it finds no device"), (lambda: 1 // 0, "ZeroDivisionError: integer")],
)
def test_what_a_probe_says(register, probe, reason):
    register("gpu", Provider, probe=probe)
    assert state("gpu").reason.startswith(reason)
    with pytest.raises(ProviderError, match=f"provider 'gpu' cannot be used: {reason}"):
        sardonyx.InferenceSession(b"", providers=["gpu"])


def test_a_wrong_setting_is_warned_of_once_where_nobody_asked(register, recwarn):
    register("picky", Provider, probe=lambda: Unavailable("PICKY='x' is none of a, b", mistake=True))
    register("away", Provider, probe=lambda: Unavailable("no GPU here"))
    model = helper.make_model(helper.make_graph([], "g", [], []), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    log.warn_once.cache_clear()
    for asked in (["cpu"], None, None, ["CPUExecutionProvider"]):
        sardonyx.InferenceSession(model, providers=asked)
        assert len(recwarn) == (asked != ["cpu"])
    assert "provider 'picky' is left out: PICKY='x' is none of a, b" in str(recwarn[0].message)


def test_probe_is_asked_once(register):
    calls = []
    register("gpu", Provider, probe=lambda: calls.append(1) or [Device("gpu", "G", 1 << 30)])
    discovery.providers()
    discovery.find("gpu")
    assert calls == [1]
    assert state("gpu").to_dict()["devices"] == [{"kind": "gpu", "name": "G", "memory": 1 << 30, "id": 0}]


def test_priority_orders_and_unusable_ones_come_last(register):
    register("late", Provider, priority=-5)
    register("early", Provider, priority=5000)
    register("never", Provider, priority=9000, probe=lambda: Unavailable("no"))
    names = [s.name for s in discovery.providers()]
    assert names[0] == "early"
    assert names.index("cpu") < names.index("late") < names.index("never")
    assert "never" not in discovery.available()


def test_names_of_onnxruntime(register):
    register("gpu", Provider, aliases=("FancyExecutionProvider",), memory="gpu", priority=9000)
    assert [s.name for s in discovery.find("FancyExecutionProvider")] == ["gpu"]
    host = [s.name for s in discovery.find("CPUExecutionProvider")]
    assert "cpu" in host
    assert "gpu" not in host


def test_an_unknown_name_lists_the_known(register):
    with pytest.raises(InvalidInput, match=r"no provider is called 'tpu'; installed: .*cpu"):
        discovery.find("tpu")


INFO = ProviderInfo(
    name="p",
    create=Provider,
    options={"n": Option(int, 4, least=0, most=99), "fast": Option(bool, True), "mode": Option(str, "a", choices=("a", "b"))},
)


def test_options_are_converted_and_completed():
    assert INFO.check_options({}) == {"n": 4, "fast": True, "mode": "a"}
    assert INFO.check_options({"n": "7", "fast": "off", "mode": "b"}) == {"n": 7, "fast": False, "mode": "b"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"m": 1}, "provider 'p' has no option 'm'; its options are: n, fast, mode"),
        ({"n": "x"}, "option 'n': 'x' is not a valid int"),
        ({"n": 2.5}, "option 'n': 2.5 is not a valid int"),
        ({"n": float("inf")}, "option 'n': inf is not a valid int"),
        ({"n": 10**30}, "is not a valid int"),
        ({"n": -1}, "option 'n': -1 is less than 0"),
        ({"n": "100"}, "option 'n': 100 is more than 99"),
        ({"n": None}, "option 'n': None is not a valid int"),
        ({"fast": [0]}, "is not a valid bool"),
        ({"mode": ["a"]}, "is not a valid str"),
        ({"fast": "maybe"}, "option 'fast': 'maybe' is not a valid bool"),
        ({"mode": "c"}, "option 'mode': 'c' is not one of a, b"),
    ],
)
def test_wrong_options_name_the_right_ones(given, message):
    with pytest.raises(InvalidInput, match=message):
        INFO.check_options(given)

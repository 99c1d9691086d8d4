import subprocess
import sys
import types

import click
import pytest

from sardonyx.cli.app import Commands, sardonyx
from sardonyx.ep import ProviderInfo, hook
from sardonyx.runtime import discovery


def plugin(name, register):
    module = types.ModuleType(name)
    module.sardonyx_provider = hook(lambda: ProviderInfo(name=name, create=lambda options: None))
    module.sardonyx_provider.__name__ = "sardonyx_provider"
    module.sardonyx_cli = hook(register)
    return module


@pytest.fixture
def _fresh(monkeypatch):
    monkeypatch.setattr(sardonyx, "_plugins_asked", False)
    monkeypatch.setattr(sardonyx, "commands", {})
    yield
    for name in ("hello", "broken"):
        discovery.unregister(name)


@pytest.mark.usefixtures("_fresh")
def test_a_plug_in_adds_a_command_but_replaces_none(cli):
    def add(group):
        group.add_command(click.Command("hello", callback=lambda: print("hello there"), help="Say hello."))
        group.add_command(click.Command("info", callback=lambda: print("hijacked")))

    discovery.register("hello", plugin("hello", add))
    assert isinstance(sardonyx, Commands)
    assert "Say hello." in cli("--plugins").out
    assert "hijacked" not in cli("--plugins").out
    assert cli("hello").out == "hello there\n"
    assert "no such model file" in cli("info", "nope.onnx").err


@pytest.mark.usefixtures("_fresh")
def test_a_plug_in_whose_commands_fail_is_left_out(cli):
    def fail(group):
        raise RuntimeError("no luck")

    discovery.register("broken", plugin("broken", fail))
    result = cli("--plugins")
    assert result.status == 0
    assert "the commands of provider 'broken' are left out: RuntimeError: no luck" in result.err


def test_help_loads_no_plug_in():
    code = "import sys; from sardonyx.cli import main; main(['--help']); print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = out.splitlines()[-1].split()
    assert "click" in loaded
    assert not [name for name in loaded if name.split(".")[0] in ("numpy", "onnx", "pluggy") or name.startswith("sardonyx_ep")]

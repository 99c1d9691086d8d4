"""What a plug-in says about itself: options, probing without side effects, and working after a fork."""

from __future__ import annotations

import inspect
import json
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import sardonyx
from sardonyx.ep import API_VERSION, Device, Option, ProviderInfo, Unavailable
from sardonyx.errors import InvalidInput
from sardonyx_conformance.contract.models import SAMPLES
from sardonyx_conformance.target import Target


@pytest.fixture
def info(target: Target) -> ProviderInfo:
    """The provider's description."""
    assert target.status.info is not None
    return target.status.info


def from_entry_point(target: Target) -> None:
    """Skip where the provider is registered in this process only: another one would not find it."""
    if target.status.distribution.startswith("("):
        pytest.skip("the provider is no installed plug-in")


def test_description(info: ProviderInfo, target: Target) -> None:
    """Its name is the entry point's, its API version this one's, and it says in a line what it is."""
    assert info.name == target.ep
    assert info.api_version == API_VERSION
    assert info.description, "ProviderInfo(description=...) is empty: say in a line what the provider is; `sardonyx providers` shows it"
    assert all(isinstance(a, str) for a in info.aliases)


def test_options(info: ProviderInfo) -> None:
    """Every option has a default of its own type, a help text, and takes its default as text."""
    assert info.check_options({}) == {k: o.default for k, o in info.options.items()}
    for name, option in info.options.items():
        assert isinstance(option, Option)
        assert option.help, f"option {name!r} has no help text"
        if option.default is not None:
            assert option.convert(name, str(option.default)) == option.default


def test_unknown_option(info: ProviderInfo, target: Target) -> None:
    """An option that does not exist is an error that lists those that do."""
    with pytest.raises(InvalidInput) as caught:
        sardonyx.InferenceSession(SAMPLES[0].model, target.options("raw"), providers=[(target.ep, {"no_such_option": 1})])
    assert "no_such_option" in str(caught.value)
    for name in info.options:
        assert name in str(caught.value)


def test_probe_again(info: ProviderInfo) -> None:
    """A second probe finds the same devices."""
    found = info.probe()
    assert not isinstance(found, Unavailable)
    assert found
    assert all(isinstance(d, Device) and d.kind and d.name for d in found)
    assert found == info.probe()


def test_pickles(info: ProviderInfo, target: Target) -> None:
    """The description can be sent to another process."""
    from_entry_point(target)
    assert pickle.loads(pickle.dumps(info)).name == info.name


def test_session_pickles(target: Target) -> None:
    """A session is sent as its model and made again on arrival."""
    sample = SAMPLES[0]
    session = pickle.loads(pickle.dumps(target.session(sample.model)))
    np.testing.assert_allclose(session.run(None, sample.copies())[0], sample.want[0], rtol=1e-4, atol=1e-5)


PROBE = """
import json, os, signal, sys, threading
import numpy, ml_dtypes, pluggy, sardonyx.runtime.discovery, sardonyx.ep.hooks
events = []
def watch(event, arguments):
    if event in ("os.putenv", "os.unsetenv", "os.chdir", "os.fork", "subprocess.Popen", "socket.connect", "os.mkdir", "os.remove"):
        events.append(event + " " + repr(arguments[:2]))
    elif event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and "__pycache__" not in str(arguments[0]):
        events.append("write " + str(arguments[0]))
def state():
    return {
        "threads": threading.active_count(),
        "native threads": len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0,
        "sys.path": list(sys.path),
        "signal handlers": [str(signal.getsignal(s)) for s in (signal.SIGINT, signal.SIGTERM)],
    }
before = state()
sys.addaudithook(watch)
status = sardonyx.runtime.discovery.find(sys.argv[1])[0]
status.info.probe()
after = state()
print(json.dumps(events + [k + " changed" for k in before if before[k] != after[k]] + ["imports onnx"] * ("onnx" in sys.modules)))
"""
FORK = """
import os, sys
import numpy as np
import sardonyx
sardonyx.providers()
child = os.fork()
if child == 0:
    options = sardonyx.SessionOptions()
    options.strict = True
    session = sardonyx.InferenceSession(sys.argv[2], options, providers=[sys.argv[1]])
    y = session.run(None, {"x": np.array([[-1, 2]], np.float32)})[0]
    os._exit(0 if y.tolist() == [[0, 2]] else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def in_process(script: str, *arguments: str, folder: Any = None) -> subprocess.CompletedProcess[str]:
    """Run a script in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=120, cwd=folder, check=False)


def test_probe_has_no_side_effects(target: Target, tmp_path: Any) -> None:
    """Finding and probing the provider starts no thread or process, changes no environment, path, folder or signal handler,
    writes no file, and does not import onnx."""
    from_entry_point(target)
    done = in_process(PROBE, target.ep, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_probe_is_fork_safe(target: Target, tmp_path: Any) -> None:
    """A process that was forked after the probe can use the provider."""
    from_entry_point(target)
    target.session(SAMPLES[0].model)
    path = tmp_path / "relu.onnx"
    path.write_bytes(SAMPLES[0].model.SerializeToString())
    done = in_process(FORK, target.ep, str(path), folder=tmp_path)
    assert done.returncode == 0, done.stderr or f"the child ended with {done.returncode}"


def test_create_takes_checked_options(info: ProviderInfo) -> None:
    """create() takes the options as a dict and returns a Provider with a name and a memory space."""
    assert len(inspect.signature(info.create).parameters) == 1
    provider = info.create(info.check_options({}))
    assert provider.name in ("", info.name)
    assert provider.memory == info.memory
    assert provider.memory == "host" or provider.allocator is not None

import os

import pytest

import sardonyx
from sardonyx.errors import InvalidInput
from sardonyx.runtime import options as module
from sardonyx.runtime.log import warn_once


def test_config_entries():
    for options, add, get in (
        (sardonyx.SessionOptions(), "add_session_config_entry", "get_session_config_entry"),
        (sardonyx.RunOptions(), "add_run_config_entry", "get_run_config_entry"),
    ):
        getattr(options, add)("key", "1")
        assert getattr(options, get)("key") == "1"
        with pytest.raises(InvalidInput, match="other"):
            getattr(options, get)("other")


def test_strictness_by_option_or_by_onnxruntimes_entry():
    options = sardonyx.SessionOptions()
    assert not options.is_strict
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    assert options.is_strict


@pytest.mark.parametrize(("value", "level"), [(0, "none"), (1, "basic"), (2, "extended"), (3, "all"), (99, "all")])
def test_levels(value, level):
    options = sardonyx.SessionOptions()
    options.graph_optimization_level = sardonyx.GraphOptimizationLevel(value)
    assert options.level == level


def test_threads_by_option_environment_and_machine(monkeypatch):
    for name in ("SARDONYX_NUM_THREADS", "ORT_INTRA_OP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    options = sardonyx.SessionOptions()
    monkeypatch.setattr(module, "cgroup_quota", lambda: 1)
    assert options.threads == 1
    monkeypatch.setattr(module, "cgroup_quota", lambda: None)
    if hasattr(os, "sched_getaffinity"):
        assert options.threads == len(os.sched_getaffinity(0))
    monkeypatch.setenv("SARDONYX_NUM_THREADS", "3")
    assert options.threads == 3
    monkeypatch.setenv("ORT_INTRA_OP_NUM_THREADS", "5")
    assert options.threads == 5
    options.intra_op_num_threads = 7
    assert options.threads == 7


@pytest.mark.parametrize("variable", ["SARDONYX_NUM_THREADS", "ORT_INTRA_OP_NUM_THREADS"])
@pytest.mark.parametrize("text", ["two", "-1", "²", "1.5"])
def test_a_number_of_threads_that_is_none_is_warned_of(monkeypatch, variable, text):
    monkeypatch.setattr(module, "cgroup_quota", lambda: 1)
    monkeypatch.setenv(variable, text)
    warn_once.cache_clear()
    with pytest.warns(RuntimeWarning, match=f"{variable}='{text}' is ignored"):
        assert sardonyx.SessionOptions().threads == 1
    for default in ("", "0", " 0 "):
        monkeypatch.setenv(variable, default)
        assert sardonyx.SessionOptions().threads == 1


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_the_containers_quota(monkeypatch, tmp_path, files, expected):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "Path", lambda p: tmp_path / p.removeprefix("/sys/fs/cgroup/"))
    assert module.cgroup_quota() == expected


@pytest.mark.parametrize(("name", "text"), [("intra_op_threads", "intra_op_num_threads"), ("register_custom_ops", "no option")])
def test_an_option_that_does_not_exist_is_refused(name, text):
    with pytest.raises(AttributeError, match=text):
        setattr(sardonyx.SessionOptions(), name, 1)

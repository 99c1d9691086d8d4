import logging

import numpy as np
import pytest

import sardonyx
from sardonyx.errors import InvalidInput
from sardonyx.runtime import log

X = np.arange(4, dtype=np.float32)


@pytest.fixture
def model(make_model):
    from onnx import helper

    return make_model([helper.make_node("Neg", ["x"], ["y"], name="the_node")], ["x"], ["y"])


@pytest.fixture(autouse=True)
def fresh():
    def reset():
        log.ROOT.setLevel(logging.NOTSET)
        log.ROOT.handlers.clear()
        log.set_default_logger_verbosity(0)

    reset()
    yield
    reset()


def messages(model, caplog, run_severity=-1, **options):
    caplog.clear()
    o = sardonyx.SessionOptions()
    for name, value in options.items():
        setattr(o, name, value)
    session = sardonyx.InferenceSession(model, o, providers=["cpu"])
    r = sardonyx.RunOptions()
    r.log_severity_level = run_severity
    session.run(None, {"x": X}, r)
    return [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "sardonyx"]


def test_severities_of_a_session(model, caplog):
    assert messages(model, caplog) == []
    assert messages(model, caplog, log_severity_level=2) == []
    (info,) = messages(model, caplog, log_severity_level=1)
    assert info[0] == "INFO"
    assert info[1].startswith("a model: 1 nodes (cpu 100%); load")
    verbose = messages(model, caplog, log_severity_level=0)
    assert ("DEBUG", "node 'the_node' (Neg) runs on cpu") in verbose
    assert ("DEBUG", "a run begins") in verbose


def test_severity_of_a_run_is_its_own(model, caplog):
    assert messages(model, caplog, run_severity=0) == [("DEBUG", "a run begins")]
    assert ("DEBUG", "a run begins") not in messages(model, caplog, run_severity=3, log_severity_level=0)


def test_logid_stands_before_messages(model, caplog):
    (info,) = messages(model, caplog, log_severity_level=1, logid="mine 100%")
    assert info[1].startswith("[mine 100%] a model: 1 nodes")


def test_the_standard_way_works(model, caplog):
    with caplog.at_level(logging.INFO, "sardonyx"):
        assert [level for level, _ in messages(model, caplog)] == ["INFO"]


def test_the_default_severity(model, caplog):
    sardonyx.set_default_logger_severity(1)
    assert [level for level, _ in messages(model, caplog)] == ["INFO"]
    sardonyx.set_default_logger_severity(3)
    assert messages(model, caplog) == []
    sardonyx.set_default_logger_severity(0)
    sardonyx.set_default_logger_verbosity(3)
    assert log.ROOT.level == logging.DEBUG - 3


def test_severities_that_are_none(model):
    options = sardonyx.SessionOptions()
    options.log_severity_level = 7
    with pytest.raises(InvalidInput, match=r"log severity 7: it is 0 \(verbose\), 1"):
        sardonyx.InferenceSession(model, options, providers=["cpu"])
    with pytest.raises(InvalidInput, match="log severity is a whole number, not str 'high'"):
        sardonyx.set_default_logger_severity("high")


def test_a_program_without_logging_sees_what_it_asked_for(model, capfd, monkeypatch):
    monkeypatch.setattr(logging.root, "handlers", [])
    options = sardonyx.SessionOptions()
    options.log_severity_level = 1
    sardonyx.InferenceSession(model, options, providers=["cpu"])
    assert capfd.readouterr().err.count("INFO sardonyx: a model: 1 nodes") == 1
    monkeypatch.setattr(logging.root, "handlers", [logging.NullHandler()])
    sardonyx.InferenceSession(model, options, providers=["cpu"])
    assert capfd.readouterr().err == ""

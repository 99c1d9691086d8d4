"""The process that runs cases: each ends in one of the outcomes, or in the end of the process."""

from __future__ import annotations

import faulthandler
import resource
import tempfile
import threading
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from sardonyx_conformance.compare import assert_similar
from sardonyx_conformance.fuzz.case import FuzzCase, make_case
from sardonyx_conformance.fuzz.corpus import read

__all__ = ["CANCEL_AFTER", "Outcome", "serve"]

CANCEL_AFTER = 3.0
ORACLE = "onnxruntime"
LARGEST = 1 << 20
ENDLESS = (b"Loop", b"Scan")


@dataclass
class Outcome:
    """`kind` is ok, error (a SardonyxError), wrong (another answer than the same values gave), exception (any other), internal
    (an InternalError), crash, timeout, differs (from another engine's answer). `name` and `detail` tell the exception; `where`
    the innermost place in the code; `values` are small outputs, where they are to be compared."""

    index: int
    kind: str
    what: str
    name: str = ""
    detail: str = ""
    where: str = ""
    seconds: float = 0.0
    values: list[Any] | None = None


def serve(conn: Any, log: Path, corpus: Path, seed: int, ep: str, kinds: tuple[str, ...], memory: int, limit: float, keep: bool) -> None:
    """Run the cases whose numbers come over the pipe, until None comes. Address space is limited to `memory` bytes; the
    stack of a crash, or of a case that nears its time `limit`, goes to the file `log`. With `keep` small answers are sent back."""
    stacks = log.open("w")
    faulthandler.enable(stacks)
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    warnings.simplefilter("ignore")
    samples = read(corpus)
    _outcome(FuzzCase(0, "", "", samples[0].model, samples[0].feeds, "bytes", False), ep)
    conn.send("ready")
    while (index := conn.recv()) is not None:
        stacks.truncate(0)
        faulthandler.dump_traceback_later(0.9 * limit, file=stacks)
        start = time.perf_counter()
        outcome = _outcome(make_case(samples, seed, index, kinds), ep)
        outcome.seconds = time.perf_counter() - start
        faulthandler.cancel_dump_traceback_later()
        if not keep or sum(getattr(v, "nbytes", 0) for v in outcome.values or ()) > LARGEST:
            outcome.values = None
        conn.send(outcome)


def _outcome(case: FuzzCase, ep: str) -> Outcome:
    from sardonyx.errors import InternalError, SardonyxError

    what = case.title
    try:
        got = _run(case.model, case.feeds, case, ep)
    except InternalError as e:
        return _raised("internal", case.index, what, e)
    except SardonyxError as e:
        return _raised("error", case.index, what, e)
    except BaseException as e:
        return _raised("exception", case.index, what, e)
    if case.same is not None:
        try:
            assert_similar(got, _run(case.same.model, case.same.feeds, case, ep), 1e-3, 1e-6)
        except BaseException as e:
            return _raised("wrong", case.index, what, e)
    return Outcome(case.index, "ok", what, values=got)


def _raised(kind: str, index: int, what: str, e: BaseException) -> Outcome:
    cause: BaseException = e
    while kind == "error" and cause.__cause__ is not None:
        cause = cause.__cause__
    frames = traceback.extract_tb(cause.__traceback__)
    where = f"{frames[-1].filename.rpartition('/src/')[2]}:{frames[-1].lineno}" if frames else ""
    name = type(e).__name__ if cause is e else f"{type(e).__name__} < {type(cause).__name__}"
    detail = str(e) if kind == "error" else "".join(traceback.format_exception(e))[-3000:]
    return Outcome(index, kind, what, name, detail[:3000], where)


def _run(model: bytes, feeds: dict[str, Any], case: FuzzCase, ep: str) -> list[Any]:
    if case.form == "file" or case.files:
        with tempfile.TemporaryDirectory() as folder:
            for name, data in case.files.items():
                (Path(folder) / name).write_bytes(data)
            path = Path(folder) / "model.onnx"
            path.write_bytes(model)
            return _session_run(str(path), feeds, case, ep)
    return _session_run(onnx.ModelProto.FromString(model) if case.form == "proto" else model, feeds, case, ep)


def _session_run(model: Any, feeds: dict[str, Any], case: FuzzCase, ep: str) -> list[Any]:
    if ep == ORACLE:
        return _oracle_run(model, feeds)
    import sardonyx

    options = sardonyx.SessionOptions()
    options.strict = True
    options.intra_op_num_threads = 1
    if case.raw:
        options.graph_optimization_level = sardonyx.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = sardonyx.InferenceSession(model, options, providers=[ep])
    results = _bounded_run(session, feeds, case)
    for arg, value in zip(session.get_outputs(), results, strict=True):
        if value is None and arg.type.startswith(("tensor", "seq")):
            raise AssertionError(f"output {arg.name!r}, a {arg.type}, is None")
    return results


def _bounded_run(session: Any, feeds: dict[str, Any], case: FuzzCase) -> list[Any]:
    import sardonyx

    if not any(word in case.model for word in ENDLESS):
        return session.run(None, feeds)
    run_options = sardonyx.RunOptions()
    timer = threading.Timer(CANCEL_AFTER, lambda: setattr(run_options, "terminate", True))
    timer.start()
    try:
        return session.run(None, feeds, run_options)
    finally:
        timer.cancel()


def _oracle_run(model: Any, feeds: dict[str, Any]) -> list[Any]:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    data = model.SerializeToString() if isinstance(model, onnx.ModelProto) else model
    results: list[Any] = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, feeds)
    return results

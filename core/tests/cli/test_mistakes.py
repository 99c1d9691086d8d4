"""A newcomer's mistake: one sentence on stderr that says what to do, no traceback, a status that says whose fault it is."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sardonyx.cli.app import run
from sardonyx.runtime import discovery

MISTAKES = [
    (["run", "nope.onnx"], 2, ["no such model file", "nope.onnx"]),
    (["run", "."], 2, ["is a folder"]),
    (["run", "junk.onnx"], 1, ["junk.onnx", "not a valid ONNX file"]),
    (["run", "empty.onnx"], 1, ["empty.onnx is empty"]),
    (["run", "truncated.onnx"], 1, ["truncated"]),
    (["info", "truncated.onnx"], 1, ["truncated.onnx", "the file is truncated"]),
    (["run", "digits.onnx", "-i", "img=digit.npy"], 2, ["no input 'img'", "image"]),
    (["run", "digits.onnx", "-i", "image=missing.npy"], 2, ["no such file: missing.npy"]),
    (["run", "digits.onnx", "-i", "image=rank3.npy"], 2, ["[1, 8, 8]", "[batch, 1, 8, 8]"]),
    (["run", "digits.onnx", "-i", "image=wide.npy"], 2, ["dimension 3 is 9, not 8"]),
    (["run", "digits.onnx", "-i", "image=double.npy"], 2, ["tensor(double)", "astype('float32')"]),
    (["run", "digits.onnx", "-i", "image=junk.npy"], 2, ["junk.npy is not a readable .npy file"]),
    (["run", "digits.onnx", "-i", "image=two.npz"], 2, ["no array 'image'", "a, b"]),
    (["run", "digits.onnx", "-i", "two.npz"], 2, ["'a'", "image"]),
    (["run", "digits.onnx", "-i", "image=junk.onnx"], 2, [".npy", ".png"]),
    (["run", "digits.onnx", "--random", "--outputs", "nope"], 2, ["no tensor 'nope'", "probabilities"]),
    (["run", "digits.onnx", "--dims", "bach=2"], 2, ["'bach'", "batch"]),
    (["run", "digits.onnx", "--dims", "batch"], 2, ["NAME=SIZE"]),
    (["run", "digits.onnx", "--ep", "nope"], 2, ["no provider is called 'nope'", "cpu"]),
    (["run", "digits.onnx", "--ep", "cpu", "--ep-option", "cpu.x=1"], 2, ["no option 'x'"]),
    (["run", "digits.onnx", "--ep", "cpu", "--ep-option", "cpu"], 2, ["PROVIDER.OPTION=VALUE"]),
    (["run", "digits.onnx", "--strict"], 2, ["--strict needs --ep"]),
    (["run", "digits.onnx", "--random", "--save", "out.txt"], 2, [".npz or .npy"]),
    (["run", "digits.onnx", "--random", "--save", "no/such/folder.npz"], 2, ["no/such/folder.npz", "No such file"]),
    (["run"], 2, ["MODEL", "sardonyx run --help"]),
    (["rum"], 2, ["'rum'", "sardonyx --help"]),
    (["run", "digits.onnx", "--nope"], 2, ["--nope", "sardonyx run --help"]),
    (["bench", "digits.onnx", "--random", "--against", "nope"], 2, ["no engine is called 'nope'", "onnxruntime"]),
    (["explain", "digits.onnx", "--html", "no/such/folder.html"], 2, ["no/such/folder.html: No such file"]),
    (["profile", "digits.onnx", "--random", "--trace", "no/such/folder.json"], 2, ["--trace no/such/folder.json: No such file"]),
    (["run", "digits.onnx", "--ep", ","], 2, ["names no provider"]),
    (["check", "digits.onnx", "--ep", ","], 2, ["names no provider"]),
    (["run", "digits.onnx", "--dims", "n=²"], 2, ["--dims", "is not of the form"]),
    (["run", "digits.onnx", "--seed", "-5"], 2, ["--seed", "x>=0"]),
    (["bench", "digits.onnx", "--random", "--seconds", "nan"], 2, ["--seconds", "finite"]),
    (["compare", "digits.onnx", "--random", "--rtol", "nan"], 2, ["--rtol", "finite"]),
    (["compare", "digits.onnx", "--random", "--atol", "inf"], 2, ["--atol", "finite"]),
    (["compare", "digits.onnx", "--random", "--against", "nope"], 2, ["no engine is called 'nope'", "onnx.reference"]),
    (["bisect", "digits.onnx", "--random", "--out", "no/such/folder.onnx"], 2, ["no/such/folder.onnx", "no such folder"]),
    (["optimize", "digits.onnx", "digits.onnx"], 2, ["write to another file"]),
    (["optimize", "digits.onnx", "no/such/folder.onnx"], 2, ["no/such/folder.onnx", "No such file"]),
    (["optimize", "digits.onnx", "out.onnx", "--opset", "99"], 2, ["opset 99"]),
    (["optimize", "digits.onnx", "out.onnx", "--fix", "batch"], 2, ["--fix", "NAME=SIZE"]),
    (["optimize", "digits.onnx", "out.onnx", "--fix", "bach=1"], 2, ["'bach'", "batch"]),
    (["optimize", "digits.onnx", "out.onnx", "--disable", "fold_constant"], 2, ["'fold_constant'", "fold_constants"]),
    (["run", "digits.onnx", "--outputs", ","], 2, ["--outputs ',' names no output"]),
    (["run", "digits.onnx", "--outputs", ""], 2, ["--outputs '' names no output"]),
    (["run", "digits.onnx", "--outputs", "logits", "--outputs", "logits"], 2, ["--outputs names 'logits' twice"]),
    (["run", "digits.onnx", "--dims", "batch=1", "--dims", "seq=8"], 2, ["no free dimension is called 'seq'"]),
    (["run", "digits.onnx", "--dims", "batch=1", "--dims", "batch=2"], 2, ["--dims sets 'batch' twice, to 1 and 2"]),
    (["run", "digits.onnx", "--dims", "batch=99999999999999999999"], 2, ["no dimension is as large"]),
    (["optimize", "digits.onnx", "out.onnx", "--fix", "batch=1", "--fix", "batch=1"], 2, ["--fix sets 'batch' twice"]),
    (["run", "digits.onnx", "-i", "image=digit.npy", "-i", "image=digits.npy"], 2, ["image=digits.npy", "has a value already"]),
    (["run", "digits.onnx", "-i", "image.npz", "-i", "image=digit.npy"], 2, ["image=digit.npy", "has a value already"]),
    (["run", "digits.onnx", "--seed", "1", "--seed", "2"], 2, ["--seed is given more than once"]),
    (["bench", "digits.onnx", "--threads", "1", "--threads", "2"], 2, ["--threads is given more than once"]),
    (["run", "digits.onnx", "--ep", "cpu", "--ep", "cpu"], 2, ["--ep names 'cpu' twice"]),
    (["run", "digits.onnx", "--ep", "cpu", "--ep-option", "cpu.x=1", "--ep-option", "cpu.x=2"], 2, ["--ep-option sets cpu.x twice"]),
    (["run", "digits.onnx", "--threads", "99999999999"], 2, ["--threads"]),
    (["profile", "digits.onnx", "--random", "--trace", "a\0b"], 2, ["path of the profile", "NUL"]),
    (["optimize", "digits.onnx", "a\0b"], 2, ["NUL"]),
    (["run", "a\0b"], 2, ["NUL"]),
    (["conformance", "nope"], 2, ["no provider is called 'nope'"]),
]


@pytest.mark.parametrize(("arguments", "status", "parts"), MISTAKES, ids=lambda v: " ".join(v) if isinstance(v, list) else None)
def test_one_sentence(cli, folder, arguments, status, parts):
    np.save("rank3.npy", np.zeros((1, 8, 8), np.float32))
    np.save("wide.npy", np.zeros((1, 1, 8, 9), np.float32))
    np.save("double.npy", np.zeros((1, 1, 8, 8)))
    np.savez("image.npz", image=np.zeros((1, 1, 8, 8), np.float32))
    np.savez("two.npz", a=np.zeros(3), b=np.zeros(2))
    (folder / "junk.npy").write_text("hello")
    (folder / "junk.onnx").write_text("hello")
    (folder / "empty.onnx").touch()
    (folder / "truncated.onnx").write_bytes((folder / "digits.onnx").read_bytes()[:60000])
    result = cli(*arguments)
    assert result.status == status
    errors = [line for line in result.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert all(line.startswith(("error: ", "note: ")) for line in result.err.splitlines())
    for part in parts:
        assert part in errors[0]
    assert result.out == ""


@pytest.mark.parametrize("command", ["run", "explain", "bench", "profile", "demo"])
def test_no_provider_installed(cli, folder, monkeypatch, command):
    monkeypatch.setattr(discovery, "_entry_points", dict)
    result = cli(command, *(["digits.onnx"] if command != "demo" else []))
    assert result.status == 1
    assert result.out == ""
    assert result.err.count("\n") == 1
    assert "no execution provider is installed" in result.err
    assert "pip install" in result.err


def test_installed_but_unusable(cli, folder, monkeypatch):
    monkeypatch.setattr(discovery, "providers", lambda: [discovery.ProviderStatus("gpu", reason="it finds no device")])
    result = cli("run", "digits.onnx")
    assert (result.status, result.err) == (1, "error: no installed execution provider can be used here: gpu: it finds no device\n")


def test_debug_shows_the_traceback(cli, monkeypatch):
    monkeypatch.setenv("SARDONYX_DEBUG", "1")
    with pytest.raises(ValueError, match="no such model file"):
        cli("run", "nope.onnx")


def test_a_fault_of_ours_is_called_one(cli, folder, monkeypatch):
    def fail(*_):
        raise RuntimeError("boom")

    monkeypatch.setattr("sardonyx.cli.commands.info.describe", fail)
    result = cli("info", "digits.onnx")
    assert result.status == 1
    assert "internal error: RuntimeError: boom" in result.err


def test_check_needs_a_provider_only_to_say_what_can_run(cli, folder, monkeypatch):
    monkeypatch.setattr(discovery, "_entry_points", dict)
    result = cli("check", "digits.onnx")
    assert result.status == 1
    assert "is a valid model of 13 nodes" in result.out
    assert "Nothing here can run it: pip install" in result.out


def test_a_page_of_a_file_whose_name_is_not_utf8(cli, folder):
    name = b"bad\xff.onnx".decode("utf-8", "surrogateescape")
    (folder / name).write_bytes((folder / "digits.onnx").read_bytes())
    assert cli("explain", name, "--html", "page.html").status == 0
    assert "bad?.onnx" in (folder / "page.html").read_text("utf-8")


def test_closed_streams(cli, folder, monkeypatch):
    for name in ("stdout", "stderr"):
        with monkeypatch.context() as m:
            m.setattr(sys, name, None)
            assert run(["explain", "digits.onnx"]) == 0


def test_out_of_memory_is_no_fault_of_sardonyx(cli, folder, monkeypatch):
    def greedy(*args):
        raise MemoryError("Unable to allocate 191 MiB")

    monkeypatch.setattr("sardonyx.cli.inputs.random_value", greedy)
    result = cli("run", "digits.onnx", "--random")
    assert result.status == 1
    assert "error: out of memory: Unable to allocate 191 MiB" in result.err


def test_a_file_that_cannot_be_finished_leaves_the_old_one(cli, folder, monkeypatch):
    (folder / "out.npz").write_text("old")

    def full(file, arrays):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sardonyx.cli.save_values.write_npz", full)
    result = cli("run", "digits.onnx", "--random", "--save", "out.npz")
    assert result.status == 2
    assert "--save out.npz: No space left" in result.err
    assert (folder / "out.npz").read_text() == "old"
    assert not list(folder.glob("out.npz.*"))


needs_a_full_disk = pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is full")


@needs_a_full_disk
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments", [["run", "digits.onnx", "--random"], ["info", "digits.onnx", "--json"], ["--help"]], ids=lambda a: a[0]
)
def test_a_full_disk_behind_stdout(folder, arguments, unbuffered):
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "sardonyx", *arguments]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False)
    assert (ended.returncode, ended.stderr) == (1, "error: cannot write to stdout: No space left on device\n")


@needs_a_full_disk
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_stderr(folder, unbuffered):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "sardonyx", "run", "digits.onnx"]
        env = os.environ | {"PYTHONUNBUFFERED": unbuffered}
        ended = subprocess.run(command, stderr=full, stdout=subprocess.PIPE, text=True, check=False, env=env)
    assert ended.returncode == 0
    assert "probabilities" in ended.stdout


@needs_a_full_disk
@pytest.mark.parametrize(
    "arguments",
    [["profile", "digits.onnx", "--trace"], ["explain", "digits.onnx", "--html"], ["optimize", "digits.onnx"]],
    ids=lambda a: a[0],
)
def test_a_full_disk_behind_a_file(cli, folder, arguments):
    result = cli(*arguments, "/dev/full")
    assert result.status == 2
    assert "/dev/full" in result.err
    assert "No space left on device" in result.err


def test_files_of_the_demo_appear_whole_or_not_at_all(cli, folder, monkeypatch):
    (folder / "digits.npy").write_text("old")

    def full(file, array):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sardonyx.cli.commands.demo.np.save", full)
    result = cli("demo", "--write", ".")
    assert (result.status, result.err) == (2, "error: --write .: No space left on device\n")
    assert (folder / "digits.npy").read_text() == "old"


def test_options_that_are_lists_may_be_repeated(cli, folder):
    result = cli("run", "digits.onnx", "--random", "--dims", "batch=2", "--outputs", "logits", "--outputs", "probabilities", "--json")
    assert result.status == 0
    outputs = json.loads(result.out)["outputs"]
    assert {name: o["shape"] for name, o in outputs.items()} == {"logits": [2, 10], "probabilities": [2, 10]}
    assert (
        cli("optimize", "digits.onnx", "out.onnx", "--fix", "batch=1", "--disable", "fold_constants", "--disable", "simplify").status == 0
    )

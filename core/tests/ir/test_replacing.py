"""Files that appear whole or not at all, in each of the ways that systems have for that."""

import os
import pickle
import signal
import subprocess
import sys

import pytest

from sardonyx.errors import UnwritableFile
from sardonyx.ir import replacing as module
from sardonyx.ir.replacing import make_way, refusing, replacing, writing


@pytest.fixture(params=["nameless", "named", "link refused"])
def way(request, monkeypatch):
    """What the system can do."""
    if request.param == "named":
        monkeypatch.setattr(module, "_nameless", lambda folder: None)
    if request.param == "link refused":

        def refuse(*args, **kwargs):
            raise PermissionError("no links")

        monkeypatch.setattr(os, "link", refuse)
    return request.param


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("before", [None, b"before"])
def test_a_new_file_takes_the_place(tmp_path, before):
    path = tmp_path / "a.bin"
    if before is not None:
        path.write_bytes(before)
    mask = os.umask(0o027)
    try:
        with replacing(path) as f:
            f.write(b"one ")
            assert (path.read_bytes() if path.exists() else None) == before
            f.write(b"two")
    finally:
        os.umask(mask)
    assert path.read_bytes() == b"one two"
    assert os.listdir(tmp_path) == ["a.bin"]
    assert path.stat().st_mode & 0o777 == 0o640 or os.name == "nt"


@pytest.mark.usefixtures("way")
def test_a_failure_leaves_nothing(tmp_path):
    with pytest.raises(TypeError), replacing(tmp_path / "a.bin") as f:
        f.writelines([b"half", None])
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"), replacing(tmp_path / "folder") as f:
        f.write(b"whole")
    assert os.listdir(tmp_path) == ["folder"]


def test_a_folder_that_is_not_there_is_the_error(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "none" / "a.bin"):
        pass


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE") or not os.path.isdir(module.OPEN_FILES), reason="the system has no files without names")
def test_a_process_that_is_killed_leaves_nothing(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from sardonyx.ir.replacing import replacing\n"
        "with replacing(sys.argv[1]) as f:\n"
        "    f.write(bytes(1 << 20))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.bin")], check=False)
    assert done.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == []


def test_of_files_that_belong_together_new_ones_never_stand_beside_old_ones(tmp_path):
    first, last = str(tmp_path / "a"), str(tmp_path / "b")
    for before, stays in (([first, last], [first]), ([last], [last]), ([first], [first]), ([], [])):
        for path in (first, last):
            with open(path, "wb") as f:
                f.write(b"before")
            if path not in before:
                os.unlink(path)
        make_way(first, last)
        assert [str(p) for p in sorted(tmp_path.iterdir())] == stays
        (tmp_path / "a").unlink(missing_ok=True)
        (tmp_path / "b").unlink(missing_ok=True)


@pytest.mark.skipif(os.name == "nt", reason="symbolic links and pipes of POSIX")
@pytest.mark.usefixtures("way")
def test_a_link_is_followed_and_a_pipe_written_to(tmp_path):
    target, link, pipe = tmp_path / "a.bin", tmp_path / "b.bin", tmp_path / "pipe"
    target.write_bytes(b"before")
    link.symlink_to(target)
    with replacing(link) as f:
        f.write(b"after")
    assert link.is_symlink()
    assert target.read_bytes() == b"after"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        with replacing(pipe) as f:
            f.write(b"through")
        assert reader.communicate()[0] == b"through"
    assert pipe.is_fifo()


def test_what_the_system_refuses_names_the_file(tmp_path):
    path = tmp_path / "no" / "such.json"
    with pytest.raises(UnwritableFile, match=r"^cannot write '.*such.json': No such file or directory$") as caught, writing(path):
        pass
    assert (caught.value.filename, caught.value.strerror) == (str(path), "No such file or directory")
    with pytest.raises(UnwritableFile, match=r"^--out .*such.json: No such file"), refusing(path, "--out"), writing(path):
        pass
    with pytest.raises(OSError, match="cannot write"):
        raise pickle.loads(pickle.dumps(caught.value))

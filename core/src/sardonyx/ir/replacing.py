"""Files that appear whole or not at all, alone or together with others."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from typing import BinaryIO

from sardonyx.errors import UnwritableFile

__all__ = ["NewFile", "make_way", "new_file", "refusing", "replacing", "writing"]

OPEN_FILES = "/proc/self/fd"


class NewFile:
    """A file that is written before it has its place: `file` is open for that."""

    def __init__(self, file: BinaryIO, temporary: str | None = None, *, named: bool = True):
        self.file, self._temporary, self._named = file, temporary, named

    def place(self, path: str) -> None:
        """Close the file and move it to `path`, in the folder it was made in. A device has it already."""
        if self._temporary is None:
            self.file.close()
            return
        if not self._named:
            _name(self.file, self._temporary)
        self.file.close()
        os.replace(self._temporary, path)


@contextlib.contextmanager
def new_file(path: str) -> Iterator[NewFile]:
    """A new file in the folder of `path`, which is gone afterwards unless it was given a place; the device or pipe, if one is
    there.

    Until it has a place it has no name where the system knows such files (Linux), so that a process that is killed leaves
    nothing behind; elsewhere it has a name of its own, ending in .tmp.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "wb") as device:
            yield NewFile(device)
        return
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f"{name}.{secrets.token_hex(4)}.tmp")
    nameless = _nameless(folder)
    try:
        with nameless or open(temporary, "x+b") as file:
            yield NewFile(file, temporary, named=nameless is None)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when all went well, or of the file that a symbolic link there leads to. Devices
    and pipes are written to as they are. See `new_file` for what a process that is killed leaves."""
    path = os.path.realpath(path)
    with new_file(path) as new:
        yield new.file
        new.place(path)


def make_way(*paths: str) -> None:
    """Before complete files that belong together are given their places, in this order: take away what stands in the last place
    if others are replaced.

    No system renames two files at once. So whoever is interrupted leaves a part of the files, which shows, and never new ones
    beside old ones, which does not.
    """
    places = [os.path.realpath(path) for path in paths]
    if any(os.path.isfile(path) for path in places[:-1]) and os.path.isfile(places[-1]):
        os.unlink(places[-1])


@contextlib.contextmanager
def writing(path: str | os.PathLike[str], what: str = "") -> Iterator[BinaryIO]:
    """As replacing(), for a file of the caller's choice: UnwritableFile, with `what` before the path, where it cannot be written."""
    with refusing(path, what), replacing(path) as file:
        yield file


@contextlib.contextmanager
def refusing(path: str | os.PathLike[str], what: str = "") -> Iterator[None]:
    """A block that writes `path`: what the system refuses is raised as UnwritableFile, with `what` before the path."""
    try:
        yield
    except OSError as e:
        name = os.fspath(path)
        where = f"{what} {name}" if what else f"cannot write {name!r}"
        raise UnwritableFile(f"{where}: {e.strerror or e}", name, e) from e


def _nameless(folder: str) -> BinaryIO | None:
    """A new file in the folder without a name, or None where the system has none."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir(OPEN_FILES):
        return None
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666), "w+b")
    except OSError:
        return None


def _name(file: BinaryIO, path: str) -> None:
    """Give a file without a name one; where the system refuses that, to a copy of it."""
    file.flush()
    try:
        # With a folder given, if only for a path that needs none, the link is to the file and not to the symbolic link.
        os.link(f"{OPEN_FILES}/{file.fileno()}", path, src_dir_fd=file.fileno())
    except OSError:
        file.seek(0)
        with open(path, "xb") as copy:
            shutil.copyfileobj(file, copy)

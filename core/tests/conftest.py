"""What tests of several packages share."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest


@pytest.fixture
def interrupted_before(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], AbstractContextManager[None]]:
    """interrupted_before(suffix): what is done within is interrupted before a file whose name ends so gets its place."""

    @contextmanager
    def within(suffix: str) -> Iterator[None]:
        replace = os.replace

        def interrupt(source: str, target: str) -> None:
            if target.endswith(suffix):
                raise KeyboardInterrupt
            replace(source, target)

        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", interrupt)
            with pytest.raises(KeyboardInterrupt):
                yield

    return within

import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from sardonyx.cli import main
from sardonyx.ep import KernelSet, Provider, ProviderInfo, hook
from sardonyx.runtime import discovery


class Result(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """A function that runs the command line with some arguments."""

    def call(*arguments: str) -> Result:
        capsys.readouterr()
        status = main(arguments)
        return Result(status, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def _demo_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    assert main(["demo", "--write", str(folder)]) == 0
    return folder


@pytest.fixture
def folder(_demo_files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder with digits.onnx, digits.npy and digit.npy."""
    for file in _demo_files.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def _wrong_relu() -> Iterator[None]:
    """A provider `wrong` of Relu whose result is a little off."""
    kernels = KernelSet()
    kernels.add("Relu")(lambda xp, x: xp.maximum(x, 0) * xp.float32(1.01))

    class Wrong(Provider):
        pass

    def sardonyx_provider() -> ProviderInfo:
        return ProviderInfo(name="wrong", create=Wrong, priority=-1)

    Wrong.kernels = kernels
    module = types.ModuleType("wrong")
    module.sardonyx_provider = hook(sardonyx_provider)  # type: ignore[attr-defined]
    discovery.register("wrong", module)
    yield
    discovery.unregister("wrong")

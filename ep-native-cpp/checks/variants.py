"""Builds of the engine with other switches, and the one with a profile.

    python checks/variants.py WORK_FOLDER OUT       a wheel with profile-guided optimization, in OUT

Needs sardonyx, what pyproject.toml requires to build, and no installed sardonyx-ep-native-cpp.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

PROJECT = Path(__file__).parents[1]
CHECKS = Path(__file__).parent


# Every switch that a variant sets, since a build folder remembers those of the variant before.
DEFAULTS = {"SARDONYX_LTO": "ON", "SARDONYX_INLINE_LIMIT": "", "SARDONYX_MARCH_NATIVE": "OFF", "SARDONYX_PGO": "", "CMAKE_CXX_FLAGS": ""}


@dataclass(frozen=True)
class Variant:
    """A build: the folder its package is imported from, its wheel, the processor time it took, the size of the extension."""

    package: Path
    wheel: Path
    seconds: float
    size: int

    @property
    def environment(self) -> dict[str, str]:
        """Variables for a process that is to import it."""
        return os.environ | {"PYTHONPATH": str(self.package)}


def build(name: str, folder: Path, defines: Mapping[str, str]) -> Variant:
    """Build a wheel in folder/name with CMake definitions. All builds in a folder share the objects that are the same."""
    settings = [f"--config-settings=build-dir={folder}/build"]
    settings += [f"--config-settings=cmake.define.{k}={v}" for k, v in (DEFAULTS | dict(defines)).items()]
    place = folder / name
    before = _processor_seconds()
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", place, *settings, PROJECT], check=True
    )
    seconds = _processor_seconds() - before
    wheel = next(place.glob("*.whl"))
    with ZipFile(wheel) as z:
        z.extractall(place / "package")
        size = next(i.file_size for i in z.infolist() if i.filename.endswith(".so"))
    return Variant(place / "package", wheel, seconds, size)


def build_with_profile(name: str, folder: Path, models: list[Path], defines: Mapping[str, str]) -> Variant:
    """Build, train on models, and build again with what the training counted."""
    counts = folder / "counts"
    shutil.rmtree(counts, ignore_errors=True)
    trainer = build(f"{name}-trainer", folder, {**defines, "SARDONYX_PGO": f"generate:{counts}"})
    for model in models:
        subprocess.run(
            [sys.executable, CHECKS / "worker.py", model],
            input="2\n",
            stdout=subprocess.DEVNULL,
            env=trainer.environment,
            text=True,
            check=True,
        )
    if not any(counts.rglob("*.gcda")):
        raise RuntimeError(f"the training left no counts in {counts}")
    trained = build(name, folder, {**defines, "SARDONYX_PGO": f"use:{counts}"})
    return Variant(trained.package, trained.wheel, trainer.seconds + trained.seconds, trained.size)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    from models import write_models

    work, out = (Path(a).absolute() for a in sys.argv[1:])
    wheel = build_with_profile("wheel", work, write_models(work / "models"), {}).wheel
    out.mkdir(parents=True, exist_ok=True)
    print(shutil.copy(wheel, out))

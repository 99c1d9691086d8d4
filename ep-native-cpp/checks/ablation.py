"""What the build's switches are worth: latency, size and time to build of each variant, as a table for the documentation.

    python checks/ablation.py WORK_FOLDER PAGE.md [--rounds 20] [--isas "baseline;avx2"] [--built]

The variants run one after the other in short bursts, many rounds of them, so that a machine's slow moments meet them all. They stay in
the work folder: --built times those there again, when the machine is quiet. Of a page that exists, what stands above its figures stays.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from models import write_models
from variants import CHECKS, Variant, build, build_with_profile

SWITCHES: dict[str, dict[str, str]] = {
    "as shipped": {},
    "without LTO": {"SARDONYX_LTO": "OFF"},
    "engine: nothing inlined": {"SARDONYX_INLINE_LIMIT": "0"},
    "engine: inlining limit 10,000": {"SARDONYX_INLINE_LIMIT": "10000"},
    "engine for this machine only": {"SARDONYX_MARCH_NATIVE": "ON"},
}
PROFILED = "engine with profile (PGO)"
NO_INLINING = {
    "engine and kernels: nothing inlined but what must be": "-fno-inline",
    "engine and kernels: not even what must be": "-fno-inline -Dalways_inline=noinline -Wno-attributes",
}
BURST = 0.3
REST = 0.05  # between bursts: Linux stops a process of real-time priority that takes more than 95 % of a second

TITLE = "# What the build's switches are worth\n"
FIGURES = "## Figures\n"
HEAD = """
`nox -s ablation` writes what follows: the native provider built with other switches, timed on networks with random weights
(`ep-native-cpp/checks/models.py`) with one thread, the variants in turn in bursts of {burst} s, {rounds} rounds. The processor was
{processor}, the compiler {compiler}; only the kernels for {isas} were compiled, the last of which ran. Building is the processor time for
the engine; the kernels, {kernels:.0f} s more, are the same for all variants but the last two, where both are counted. Differences of a
few per cent are noise.

"""


@dataclass(frozen=True)
class Built:
    """The variants of a work folder by name, first the one as shipped; the instruction sets and the processor time of the kernels."""

    isas: str
    kernels: float
    variants: dict[str, Variant]

    def save(self, folder: Path) -> None:
        """Note them in their work folder."""
        (folder / "built.json").write_text(json.dumps(asdict(self), default=str), "utf-8")

    @classmethod
    def load(cls, folder: Path) -> Built:
        """Those noted in a work folder; FileNotFoundError without any."""
        found = json.loads((folder / "built.json").read_text("utf-8"))
        variants = {n: Variant(Path(v["package"]), Path(v["wheel"]), v["seconds"], v["size"]) for n, v in found["variants"].items()}
        return cls(found["isas"], found["kernels"], variants)


def build_variants(folder: Path, isas: str, models: list[Path]) -> Built:
    """Build all in a work folder, anew: what lies there of a build before would take no time."""
    shutil.rmtree(folder / "build", ignore_errors=True)
    common = {"SARDONYX_ISAS": isas}
    first = build("first", folder, common | SWITCHES["without LTO"])
    variants = {name: build(str(i), folder, common | defines) for i, (name, defines) in enumerate(SWITCHES.items())}
    variants[PROFILED] = build_with_profile("profiled", folder, models, common)
    for i, (name, flags) in enumerate(NO_INLINING.items()):
        variants[name] = build(f"outlined{i}", folder, {**common, "CMAKE_CXX_FLAGS": flags})
    return Built(isas, first.seconds - variants["without LTO"].seconds, variants)


def time_variants(variants: Mapping[str, Variant], model: Path, rounds: int) -> dict[str, np.ndarray]:
    """Seconds of the runs of each variant."""
    workers = {
        name: subprocess.Popen(
            [sys.executable, CHECKS / "worker.py", model], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=v.environment, text=True
        )
        for name, v in variants.items()
    }
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, worker in workers.items():
            time.sleep(REST)
            assert worker.stdin is not None
            assert worker.stdout is not None
            print(BURST, file=worker.stdin, flush=True)
            times[name] += json.loads(worker.stdout.readline())
    for worker in workers.values():
        worker.communicate()
    return {name: np.array(t) for name, t in times.items()}


def table(variants: Mapping[str, Variant], times: Mapping[str, Mapping[str, np.ndarray]]) -> str:
    """The table in Markdown: one row per variant, P50 and P99 in milliseconds per model, and how much longer than as shipped."""
    names = list(times)
    lines = [
        "| variant | " + " | ".join(f"{n}: P50 | P99" for n in names) + " | extension | building |",
        "| --- |" + " ---: |" * (2 * len(names) + 2),
    ]
    shipped = next(iter(variants))
    for name, v in variants.items():
        cells = []
        for n in names:
            p50, p99 = np.percentile(times[n][name], [50, 99]) * 1e3
            ratio = p50 / (np.median(times[n][shipped]) * 1e3)
            cells += [f"{p50:.4g} ms" + (f" ({_change(ratio)})" if name != shipped else ""), f"{p99:.4g} ms"]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {v.size / 2**20:.2f} MiB | {v.seconds:.0f} s |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Build, time, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--isas", default="baseline;avx2")
    parser.add_argument("--built", action="store_true", help="time what the work folder holds of an earlier run")
    options = parser.parse_args(arguments)
    folder = options.folder.absolute()
    models = write_models(folder / "models")
    if not options.built:
        build_variants(folder, options.isas, models).save(folder)
    built = Built.load(folder)
    times = {model.stem: time_variants(built.variants, model, options.rounds) for model in models}
    head = HEAD.format(
        burst=BURST,
        rounds=options.rounds,
        processor=_processor(),
        compiler=_compiler(),
        isas=" and ".join(built.isas.split(";")),
        kernels=built.kernels,
    )
    write_figures(options.page, head + table(built.variants, times))


def write_figures(page: Path, figures: str) -> None:
    """Put them into a page, under their heading; what stands above it stays."""
    old = page.read_text("utf-8") if page.exists() else f"{TITLE}\n"
    page.write_text(old.partition(FIGURES)[0] + FIGURES + figures, "utf-8")


def _change(ratio: float) -> str:
    return f"{ratio - 1:+.1%}" if ratio < 2 else f"{ratio:.1f} times"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _compiler() -> str:
    return subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


if __name__ == "__main__":
    main()

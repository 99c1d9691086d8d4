"""What the build's switches are worth: latency, size and time to build of each variant, as a table for the documentation.

    python checks/ablation.py WORK_FOLDER TABLE.md [--rounds 20] [--isas "baseline;avx2"]

The variants run one after the other in short bursts, many rounds of them, so that a machine's slow moments meet them all.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
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
NO_INLINING = "engine and kernels: nothing inlined"
BURST = 0.3

HEAD = """# What the build's switches are worth

`nox -s ablation` writes this page: the native provider built with other switches, timed on networks with random weights
(`ep-native-cpp/checks/models.py`) with one thread, the variants in turn in bursts of {burst} s, {rounds} rounds. The processor was
{processor}, the compiler {compiler}; only the kernels for {isas} were compiled. Building is the processor time for the engine; the kernels,
{kernels:.0f} s more, are the same for all variants but "{no_inlining}", where both are counted. Differences of a few per cent are noise.

"""


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
            change = p50 / (np.median(times[n][shipped]) * 1e3) - 1
            cells += [f"{p50:.4g} ms" + (f" ({change:+.1%})" if name != shipped else ""), f"{p99:.4g} ms"]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {v.size / 2**20:.2f} MiB | {v.seconds:.0f} s |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Build, time, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--isas", default="baseline;avx2")
    options = parser.parse_args(arguments)
    folder, common = options.folder.absolute(), {"SARDONYX_ISAS": options.isas}
    models = write_models(folder / "models")
    first = build("first", folder, {**common, **SWITCHES["without LTO"]})
    variants = {name: build(str(i), folder, {**common, **defines}) for i, (name, defines) in enumerate(SWITCHES.items())}
    variants[PROFILED] = build_with_profile("profiled", folder, models, common)
    variants[NO_INLINING] = build("outlined", folder, {**common, "CMAKE_CXX_FLAGS": "-fno-inline"})
    times = {model.stem: time_variants(variants, model, options.rounds) for model in models}
    head = HEAD.format(
        burst=BURST,
        rounds=options.rounds,
        processor=_processor(),
        compiler=_compiler(),
        isas=" and ".join(options.isas.split(";")),
        kernels=first.seconds - variants["without LTO"].seconds,
        no_inlining=NO_INLINING,
    )
    options.page.write_text(head + table(variants, times), "utf-8")


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _compiler() -> str:
    return subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


if __name__ == "__main__":
    main()

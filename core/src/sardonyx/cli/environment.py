"""Facts about the machine and the installation, for `doctor`."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from pathlib import Path
from typing import Any

from sardonyx.runtime.options import SessionOptions, cgroup_quota, threads_of

__all__ = ["blas", "packages", "python", "threads"]

NEEDED = ("numpy", "onnx", "ml_dtypes", "pluggy", "click", "rich")
VARIABLES = ("SARDONYX_NUM_THREADS", "ORT_INTRA_OP_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def python() -> dict[str, str]:
    """The interpreter."""
    return {"version": platform.python_version(), "executable": sys.executable, "platform": platform.platform()}


def packages() -> dict[str, str]:
    """Versions of the packages of Sardonyx and of those it needs."""
    names = {d.metadata["Name"] for d in importlib.metadata.distributions() if (d.metadata["Name"] or "").startswith("sardonyx")}
    found = {}
    for name in (*sorted(names), *NEEDED):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "missing"
    return found


def blas() -> list[dict[str, Any]]:
    """The BLAS libraries that are loaded, with the kernel they chose; without threadpoolctl, what numpy was built with."""
    import numpy as np

    try:
        import threadpoolctl
    except ImportError:
        built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[index, call-overload]
        kernel = "unknown (threadpoolctl is not installed)"
        known = {"name": built.get("name", "unknown"), "version": built.get("version", "")}
        return [{**known, "kernel": kernel, "threads": None, "used_by": "numpy"}]
    np.linalg.norm(np.ones((2, 2)) @ np.ones((2, 2)))
    return [
        {
            "name": b["internal_api"],
            "version": b["version"] or "",
            "kernel": b.get("architecture", "unknown"),
            "threads": b["num_threads"],
            "used_by": Path(b["filepath"]).parent.name.removesuffix(".libs"),
        }
        for b in threadpoolctl.threadpool_info()
        if b["user_api"] == "blas"
    ]


def threads() -> dict[str, Any]:
    """Processors, what limits them, and the environment variables that do."""
    count = os.cpu_count() or 1
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else count
    quota, used = cgroup_quota(), SessionOptions().threads
    environment = {n: os.environ[n] for n in VARIABLES if n in os.environ}
    machine = "the container's CPU quota" if quota is not None and quota < affinity else "the process's affinity mask"
    limit = next((n for n in ("ORT_INTRA_OP_NUM_THREADS", "SARDONYX_NUM_THREADS") if threads_of(n)), machine)
    return {"processors": count, "affinity": affinity, "quota": quota, "used": used, "limited_by": limit, "environment": environment}

"""The entry point: hooks only; nothing here can fail."""

from __future__ import annotations

import os
from typing import Any

from sardonyx.ep import Device, Option, Provider, ProviderInfo, Unavailable, hook

VARIABLE = "SARDONYX_NATIVE_ISA"
SUBNORMALS = ("auto", "keep", "zero")  # in the order of the engine's Subnormals
OPTIONS = {
    "threads": Option(int, 0, "threads for one operator (0: the session's intra_op_num_threads)", least=0, most=1 << 30),
    "isa": Option(str, "", "instruction set: baseline, avx2, avx512, avx512_vnni (empty: the best here)"),
    "deterministic": Option(bool, True, "the same bits for the same threads and instruction set; the engine always works so"),
    "winograd": Option(bool, True, "convolutions of 3 or 5 taps by Winograd's algorithm where it pays (relative error up to 1e-5)"),
    "strassen": Option(bool, True, "large products with constant weights by Strassen's algorithm (doubles the rounding error)"),
    "precision": Option(
        str, "fp32", "bf16: constant weights of MatMul and Gemm are kept as bfloat16, sums stay float32", choices=("fp32", "bf16")
    ),
    "subnormals": Option(
        str,
        "auto",
        "zero: numbers below 1.2e-38 count as zero; keep: they do not; auto: where weights hold some beside far larger ones",
        choices=SUBNORMALS,
    ),
    "fusion": Option(bool, True, "fuse operators and use the blocked layout"),
    "spin": Option(int, 50, "microseconds that an idle thread of the pool spins before it sleeps"),
    "plan_cache": Option(int, 16, "how many input shapes' plans are kept", least=0),
}

VARIANTS: dict[str, dict[str, Any]] = {
    "without fusion and blocked layout": {"fusion": False},
    "without Winograd": {"winograd": False},
    "without Strassen": {"strassen": False},
    "weights in bfloat16": {"precision": "bf16"},
    "avx2": {"isa": "avx2"},
    "baseline": {"isa": "baseline"},
}


def probe() -> list[Device] | Unavailable:
    """Whether the compiled engine loads."""
    try:
        from sardonyx_ep_native import _native, provider, rules  # noqa: F401
    except ImportError as e:
        return Unavailable(f"its compiled engine does not load ({e}); reinstall it: pip install --force-reinstall sardonyx-ep-native-cpp")
    try:
        return [Device("cpu", _native.isa())]
    except ValueError as e:
        why = str(e).partition(";")[0]
        known = "baseline, avx2, avx512, avx512_vnni as far as the processor has them, or empty for the best"
        return Unavailable(f"{VARIABLE}={os.environ.get(VARIABLE)!r} in the environment: {why}; choose of {known}", mistake=True)


def create(options: dict[str, Any]) -> Provider:
    """The provider."""
    from sardonyx_ep_native.provider import NativeProvider

    return NativeProvider(options)


@hook
def sardonyx_provider() -> ProviderInfo:
    """The native provider."""
    return ProviderInfo(
        name="native",
        create=create,
        priority=100,
        probe=probe,
        options=OPTIONS,
        variants=VARIANTS,
        description="C++ engine with SIMD kernels: the whole model as one program",
    )

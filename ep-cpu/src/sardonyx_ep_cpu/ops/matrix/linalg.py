"""Det and Inverse."""

from __future__ import annotations

from typing import Any

from sardonyx.ep import KernelSet
from sardonyx.errors import NodeError
from sardonyx_ep_cpu.precision import widen

ops = KernelSet()


@ops.add("Det", since=11)
def det(xp: Any, x: Any) -> Any:
    """Determinants of square matrices (..., M, M), shape (...); half precision is computed in float32."""
    _check_square(x)
    return xp.asarray(xp.linalg.det(widen(x))).astype(x.dtype, copy=False)


@ops.add("Inverse", since=1, domain="com.microsoft")
def inverse(xp: Any, x: Any) -> Any:
    """Inverses of square matrices (..., M, M); half precision is computed in float32. Raises NodeError for a singular one."""
    _check_square(x)
    try:
        return xp.linalg.inv(widen(x)).astype(x.dtype, copy=False)
    except xp.linalg.LinAlgError as error:
        raise NodeError(f"a matrix of the input of shape {x.shape} is singular and has no inverse") from error


def _check_square(x: Any) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise NodeError(f"the input must hold square matrices, but has shape {x.shape}")

"""The public surface for authors of execution providers."""

from __future__ import annotations

from sardonyx.ep.kernels import Kernel, KernelSet

__all__ = ["Kernel", "KernelSet"]

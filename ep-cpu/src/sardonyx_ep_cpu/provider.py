"""The numpy provider: a kernel table, and BLAS threads as the session asks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from sardonyx.ep import CompileContext, Executable, Provider, RunContext, compile_kernels
from sardonyx.ir.graph import Graph
from sardonyx_ep_cpu.allocation import keep_freed_memory
from sardonyx_ep_cpu.kernels import kernels
from sardonyx_ep_cpu.ops.spatial.conv_plan import plan_conv

__all__ = ["CpuProvider"]


class CpuProvider(Provider):
    """Every ONNX operator in numpy. Convolution and matmul go through BLAS."""

    name = "cpu"
    kernels = kernels

    def compile(self, graph: Graph, context: CompileContext) -> Executable:
        """The kernels in order, with numpy's warnings off and BLAS on the session's threads."""
        keep_freed_memory()
        return CpuExecutable(compile_kernels(graph, kernels, context), context.threads)


class CpuExecutable(Executable):
    """A kernel program under numpy's error state and BLAS's thread limit."""

    def __init__(self, program: Executable, threads: int):
        from sardonyx_ep_cpu.blas import set_threads

        self._program, self._threads, self._set_threads = program, threads, set_threads

    def run(self, inputs: list[Any], *, outputs: list[Any] | None = None, ctx: RunContext | None = None) -> list[Any]:
        """Run the program."""
        self._set_threads(self._threads)
        with np.errstate(all="ignore"):
            return self._program.run(inputs, ctx=ctx)

    def memory(self) -> Mapping[str, int | Mapping[Hashable, int]]:
        """The constants of the program."""
        return self._program.memory()

    def trim(self) -> None:
        """Forget how convolutions of sizes met so far are split; the next run of each works it out again."""
        plan_conv.cache_clear()

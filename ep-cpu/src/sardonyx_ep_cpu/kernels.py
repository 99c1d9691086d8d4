"""The provider's kernel table: core's shape operators and every family of this package."""

from __future__ import annotations

import importlib
import pkgutil

from sardonyx.ep import KernelSet
from sardonyx.ep.shape_kernels import shape_kernels
from sardonyx_ep_cpu import ops

kernels = KernelSet().include(shape_kernels)
for _module in sorted(m.name for m in pkgutil.walk_packages(ops.__path__, ops.__name__ + ".")):
    _family = getattr(importlib.import_module(_module), "ops", None)
    if isinstance(_family, KernelSet):
        kernels.include(_family)

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
from sardonyx_ep_cpu.allocation import keep_freed_memory
keep_freed_memory()
for _ in range(5):
    np.ones(3 << 20, np.uint8), np.ones(5 << 20, np.uint8)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(3 << 20, np.uint8), np.ones(5 << 20, np.uint8), np.ones(7 << 20, np.uint8)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the thresholds are glibc's")
def test_freed_memory_is_used_again():
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True, text=True)
    # A pass takes 3,840 pages of 4 KiB: twenty of them fault more than 30,000 times where freed memory is given back.
    assert int(run.stdout) < 8000

"""A process that times one model on the native provider, one thread.

python checks/worker.py MODEL       each line of its input is a number of seconds, answered by a JSON list of run times
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

import numpy as np

import sardonyx

options = sardonyx.SessionOptions()
options.intra_op_num_threads = 1
options.strict = True
session = sardonyx.InferenceSession(sys.argv[1], options, providers=["native"])
given = session.get_inputs()[0]
shape = [d for d in given.shape if isinstance(d, int)]
feeds = {given.name: np.random.default_rng(0).uniform(0, 1e-3, shape).astype(np.float32)}
for _ in range(3):
    session.run(None, feeds)
for line in sys.stdin:
    times = []
    end = perf_counter() + float(line)
    while perf_counter() < end:
        start = perf_counter()
        session.run(None, feeds)
        times.append(perf_counter() - start)
    print(json.dumps(times), flush=True)

"""Run a client under onnxruntime and under Sardonyx, unmodified, and compare the answers.

    python clients/compare.py CLIENT

CLIENT is the name of a script of this folder, without .py. It is given the name of a file to write its answer to as JSON.
The exit status is 0 if both answers are the same and not empty.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def answer(script: Path, before: list[str]) -> tuple[object, float]:
    """What the client says, and the seconds it took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer.json"
        start = time.perf_counter()
        done = subprocess.run([sys.executable, *before, str(script), str(path)], check=False)
        if done.returncode != 0:
            sys.exit(f"{script.name} failed under {before[-1] if before else 'onnxruntime'}")
        return json.loads(path.read_text("utf-8")), time.perf_counter() - start


def main() -> int:
    """Compare; print both answers where they differ."""
    script = Path(__file__).parent / f"{sys.argv[1]}.py"
    theirs, their_time = answer(script, [])
    ours, our_time = answer(script, ["-m", "sardonyx.onnxruntime"])
    same = ours == theirs and bool(ours)
    print(f"{script.stem}: {'the same answer' if same else 'DIFFERENT'} (onnxruntime {their_time:.1f} s, Sardonyx {our_time:.1f} s)")
    print(f"  {json.dumps(theirs)[:400]}")
    if not same:
        print(f"  {json.dumps(ours)[:400]}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

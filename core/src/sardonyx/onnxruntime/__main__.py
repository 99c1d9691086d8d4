"""Run a program of onnxruntime on Sardonyx: python -m sardonyx.onnxruntime SCRIPT [ARGUMENT...], or -m MODULE, or -c TEXT."""

from __future__ import annotations

import os
import runpy
import sys

from sardonyx.onnxruntime.import_hook import install

__all__ = ["main"]

USAGE = """\
usage: python -m sardonyx.onnxruntime SCRIPT [ARGUMENT...]
       python -m sardonyx.onnxruntime -m MODULE [ARGUMENT...]
       python -m sardonyx.onnxruntime -c TEXT [ARGUMENT...]

Runs an unmodified program; where it imports onnxruntime it gets Sardonyx.

Examples:
  python -m sardonyx.onnxruntime my_program.py --with its --own arguments
  python -m sardonyx.onnxruntime -c "import onnxruntime; print(onnxruntime.get_available_providers())"
"""


def main(arguments: list[str]) -> int:
    """Run a program; what it raises, and its exit status, are its own. 2 for a wrong command line."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    option, rest = (arguments[0], arguments[1:]) if arguments[0] in ("-m", "-c") else ("", arguments)
    if not rest or rest[0].startswith("-"):
        print(f"{USAGE}\nerror: {option or 'SCRIPT'} needs what to run", file=sys.stderr)
        return 2
    if not option and not os.path.exists(rest[0]):
        print(f"error: there is no script {rest[0]}", file=sys.stderr)
        return 2
    install()
    sys.argv = list(rest)
    sys.path[0] = os.getcwd() if option else os.path.dirname(os.path.realpath(rest[0]))
    if option == "-m":
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif option == "-c":
        sys.argv[0] = "-c"
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_path(rest[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

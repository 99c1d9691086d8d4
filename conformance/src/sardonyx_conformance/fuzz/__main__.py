"""`python -m sardonyx_conformance.fuzz --ep NAME`: how many cases ended how, and the bad ones in full."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import sys
from collections.abc import Sequence

from sardonyx_conformance.fuzz.case import KINDS
from sardonyx_conformance.fuzz.corpus import full, small
from sardonyx_conformance.fuzz.run import BAD, MEMORY, run_cases
from sardonyx_conformance.fuzz.worker import Outcome

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases; 0 if every one ended with a SardonyxError or an answer, else 1."""
    parser = argparse.ArgumentParser(prog="python -m sardonyx_conformance.fuzz", description=__doc__)
    parser.add_argument("--ep", default="cpu", help="the provider to try (default: cpu)")
    parser.add_argument("--cases", type=int, default=3000, help="how many cases (default: 3000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, help="run this case alone and tell how it ended")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--corpus", choices=("small", "full"), default="full", help="what is mutated; full has onnx's node cases")
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit of a case (default: 10)")
    parser.add_argument("--memory", type=int, default=MEMORY >> 20, help="limit of address space in MiB, 0 for none (default: 4096)")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--against", help="another engine: answers that differ are shown, and not counted as bad")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--all", action="store_true", help="with --json: every outcome, not only the bad ones")
    args = parser.parse_args(arguments)
    outcomes = run_cases(
        full() if args.corpus == "full" else small(),
        [args.only] if args.only is not None else range(args.first, args.first + args.cases),
        ep=args.ep,
        seed=args.seed,
        kinds=tuple(k for k in args.kinds.split(",") if k),
        limit=args.seconds,
        memory=args.memory << 20,
        workers=1 if args.only is not None else args.workers,
        against=args.against,
        done=_progress if sys.stderr.isatty() else lambda outcome: None,
    )
    counts = collections.Counter(o.kind for o in outcomes)
    bad = sorted((o for o in outcomes if o.kind in (*BAD, "differs") or args.all or args.only is not None), key=lambda o: o.index)
    if args.json:
        print(json.dumps({"cases": len(outcomes), "counts": counts, "outcomes": [dataclasses.asdict(o) for o in bad]}, indent=1))
    else:
        for o in bad:
            print(f"--- case {o.index}: {o.kind}: {o.name}\n{o.what}\n{o.detail}")
        print(f"{len(outcomes)} cases: " + ", ".join(f"{n} {kind}" for kind, n in counts.most_common()))
    return 1 if any(counts[k] for k in BAD) else 0


def _progress(outcome: Outcome) -> None:
    if outcome.kind in BAD:
        print(f"case {outcome.index}: {outcome.kind} {outcome.name}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

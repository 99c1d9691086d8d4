"""Engines timed side by side on the same models: `python -m sardonyx_conformance.bench MODEL ... --engines A,B`."""

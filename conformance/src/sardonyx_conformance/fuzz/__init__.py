"""Bounded, seeded fuzzing: mutated model files, graphs and feeds end with a SardonyxError or an answer, and nothing else.

`python -m sardonyx_conformance.fuzz --ep NAME --cases 3000 --seed 0` tries a provider.
"""

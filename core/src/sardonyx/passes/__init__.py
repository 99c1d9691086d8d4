"""Graph optimization: ONNX in, ONNX out, meaning unchanged.

Two kinds of passes: rules (`rules.py`), applied until none fires, and functions over a whole graph that return how much they
changed. Core's passes canonicalise upwards: what an exporter took apart becomes the standard operator it stands for.
"""

from __future__ import annotations

from sardonyx.passes.pipeline import LEVELS, optimize, pass_names
from sardonyx.passes.rules import Edit, Rule, apply_rules, no, rule
from sardonyx.passes.separate_symbols import separate_symbols

__all__ = ["LEVELS", "Edit", "Rule", "apply_rules", "no", "optimize", "pass_names", "rule", "separate_symbols"]

"""Reductions beyond those that shape arithmetic uses."""

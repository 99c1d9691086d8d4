"""Passes of the basic level: fewer nodes, the same operators."""

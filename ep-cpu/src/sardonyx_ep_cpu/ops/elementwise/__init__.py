"""Elementwise operators: mathematics, activations, bits, variadic sums, and their oldest forms."""

"""Operators that select, place, pad or reorder elements."""

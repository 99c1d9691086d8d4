"""Scaled dot-product attention and its relatives."""

"""Softmax, its relatives, and the losses built on them."""

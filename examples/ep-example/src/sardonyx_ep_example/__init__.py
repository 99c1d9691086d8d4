"""A small execution provider, to copy from."""

"""Fourier transforms and what surrounds them."""

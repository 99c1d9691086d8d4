"""Operators over spatial axes: convolutions, pools, sampling, and the normalisations of images."""

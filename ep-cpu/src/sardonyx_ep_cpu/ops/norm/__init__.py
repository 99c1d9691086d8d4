"""Normalisations of images and batches: statistics over spatial axes, channels, groups or the batch."""

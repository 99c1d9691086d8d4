"""Quantization: linear (de)quantization, and operators on 8-bit tensors with scales and zero points."""

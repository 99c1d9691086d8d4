"""The native execution provider: a subgraph becomes one program of SIMD kernels that runs without Python."""

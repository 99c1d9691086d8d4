"""What onnxruntime's package says of its build."""

from sardonyx.onnxruntime.environment import API_VERSION as __version__

__all__ = ["__version__", "cuda_version", "package_name"]

package_name = "sardonyx"
cuda_version = ""

"""Checks of the installation that onnxruntime offers."""

from __future__ import annotations

from sardonyx.onnxruntime.capi.build_and_package_info import __version__, cuda_version, package_name

__all__ = ["check_distro_info", "get_package_name_and_version_info"]


def check_distro_info() -> None:
    """Nothing to check: the pure-Python parts run on any system that Python runs on."""


def get_package_name_and_version_info() -> tuple[str, str, str]:
    """(package, version, version of CUDA it was built with, "" for none)."""
    return package_name, __version__, cuda_version

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Finding the shared files of packages."""

from __future__ import annotations

from pathlib import Path

from vms_ph_embedded import packages, subset

__getattr__ = subset.make_module_getattr(__name__)


class PackageNotFoundError(KeyError):
    """Raised when there is no package of a name."""


def get_package_share_directory(package_name: str, print_warning: bool = True) -> str:
    """The folder of shared files of a package."""
    return str(get_package_share_path(package_name, print_warning))


def get_package_share_path(package_name: str, print_warning: bool = True) -> Path:
    """The folder of shared files of a package."""
    if not package_name or any(char in package_name for char in "/\\ "):
        raise ValueError(f"{package_name!r} is not a valid package name")
    share = packages.share_directory(package_name)
    if share is None:
        prefixes = [str(prefix) for prefix in packages.prefixes()]
        raise PackageNotFoundError(f"package '{package_name}' not found, searching: {prefixes}")
    return share


def get_package_prefix(package_name: str) -> str:
    """The prefix below which a package is installed."""
    share = get_package_share_path(package_name)
    is_installed = share.parts[-2:] == ("share", package_name)
    return str(share.parents[1] if is_installed else share)

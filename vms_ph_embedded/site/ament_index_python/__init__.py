# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Finding the shared files of packages."""

from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
    get_package_share_path,
)

from vms_ph_embedded import subset

__all__ = [
    "PackageNotFoundError",
    "get_package_prefix",
    "get_package_share_directory",
    "get_package_share_path",
]
__getattr__ = subset.make_module_getattr(__name__)

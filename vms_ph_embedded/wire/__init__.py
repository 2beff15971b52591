# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""ROS 2 on DDS: the conventions of rmw_cyclonedds over the PyPI package cyclonedds."""

try:
    import cyclonedds.domain  # noqa: F401
except ImportError as error:
    raise ImportError(
        "the embedded ROS runtime needs the package cyclonedds: pip install 'vms-ph[embedded]' "
        f"({error})"
    ) from error

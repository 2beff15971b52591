# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An rclpy-compatible runtime over Cyclone DDS, for machines without ROS 2."""

from vms_ph_embedded.activation import activate, is_active

__all__ = ["activate", "is_active"]

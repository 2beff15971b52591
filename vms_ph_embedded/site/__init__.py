# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The embedded implementations of rclpy, tf2_ros and ament_index_python."""

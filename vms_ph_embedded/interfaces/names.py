# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The names of the packages whose interfaces come with the runtime."""

# Importing a package must not load the type store, which is slow; a test compares both
# lists.
STANDARD_PACKAGES = (
    *("action_msgs", "actionlib_msgs", "builtin_interfaces", "diagnostic_msgs", "geometry_msgs"),
    *("lifecycle_msgs", "nav_msgs", "rcl_interfaces", "rmw_dds_common", "rosbag2_interfaces"),
    *("rosgraph_msgs", "sensor_msgs", "service_msgs", "shape_msgs", "statistics_msgs"),
    *("std_msgs", "std_srvs", "stereo_msgs", "tf2_msgs", "trajectory_msgs"),
    *("type_description_interfaces", "unique_identifier_msgs", "visualization_msgs"),
)

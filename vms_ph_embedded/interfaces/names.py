# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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

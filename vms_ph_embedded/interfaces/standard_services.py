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

"""Definitions of the standard services, which the type store of rosbags lacks."""

_LOGGER_LEVELS = {
    "GetLoggerLevels": "string[] names\n---\nLoggerLevel[] levels\n",
    "SetLoggerLevels": "LoggerLevel[] levels\n---\nSetLoggerLevelsResult[] results\n",
}

_PARAMETERS = {
    "DescribeParameters": "string[] names\n---\nParameterDescriptor[] descriptors\n",
    "GetParameters": "string[] names\n---\nParameterValue[] values\n",
    "GetParameterTypes": "string[] names\n---\nuint8[] types\n",
    "ListParameters": (
        "uint64 DEPTH_RECURSIVE=0\nstring[] prefixes\nuint64 depth\n---\n"
        "ListParametersResult result\n"
    ),
    "SetParameters": "Parameter[] parameters\n---\nSetParametersResult[] results\n",
    "SetParametersAtomically": "Parameter[] parameters\n---\nSetParametersResult result\n",
}

_LIFECYCLE = {
    "ChangeState": "Transition transition\n---\nbool success\n",
    "GetState": "---\nState current_state\n",
    "GetAvailableStates": "---\nState[] available_states\n",
    "GetAvailableTransitions": "---\nTransitionDescription[] available_transitions\n",
}

_STD_SRVS = {
    "Empty": "---\n",
    "SetBool": "bool data\n---\nbool success\nstring message\n",
    "Trigger": "---\nbool success\nstring message\n",
}

STANDARD_SERVICES: dict[str, str] = {
    **{f"rcl_interfaces/srv/{name}": text for name, text in _PARAMETERS.items()},
    **{f"rcl_interfaces/srv/{name}": text for name, text in _LOGGER_LEVELS.items()},
    **{f"lifecycle_msgs/srv/{name}": text for name, text in _LIFECYCLE.items()},
    **{f"std_srvs/srv/{name}": text for name, text in _STD_SRVS.items()},
}

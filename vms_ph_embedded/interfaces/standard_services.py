# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

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

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The states of a managed node, as the ROS 2 design of managed nodes has them."""

from __future__ import annotations

import enum
from typing import NamedTuple


class LifecycleState(NamedTuple):
    """A state by name and number."""

    label: str
    state_id: int


class TransitionCallbackReturn(enum.Enum):
    """Result of a transition."""

    SUCCESS = "transition_success"
    FAILURE = "transition_failure"
    ERROR = "transition_error"


class Transition(NamedTuple):
    """A transition that can be asked for.

    Attributes:
        number: of lifecycle_msgs/msg/Transition.
        label: its name.
        start_state: the state it begins in.
        transition_state: the state while it goes on.
        goal_state: where it ends when all goes well.
        callback: the method that is called.
    """

    number: int
    label: str
    start_state: LifecycleState
    transition_state: LifecycleState
    goal_state: LifecycleState
    callback: str


UNKNOWN = LifecycleState("unknown", 0)
UNCONFIGURED = LifecycleState("unconfigured", 1)
INACTIVE = LifecycleState("inactive", 2)
ACTIVE = LifecycleState("active", 3)
FINALIZED = LifecycleState("finalized", 4)
CONFIGURING = LifecycleState("configuring", 10)
CLEANING_UP = LifecycleState("cleaningup", 11)
SHUTTING_DOWN = LifecycleState("shuttingdown", 12)
ACTIVATING = LifecycleState("activating", 13)
DEACTIVATING = LifecycleState("deactivating", 14)
ERROR_PROCESSING = LifecycleState("errorprocessing", 15)

STATES = (
    *(UNKNOWN, UNCONFIGURED, INACTIVE, ACTIVE, FINALIZED),
    *(CONFIGURING, CLEANING_UP, SHUTTING_DOWN, ACTIVATING, DEACTIVATING, ERROR_PROCESSING),
)

TRANSITIONS = (
    Transition(1, "configure", UNCONFIGURED, CONFIGURING, INACTIVE, "on_configure"),
    Transition(2, "cleanup", INACTIVE, CLEANING_UP, UNCONFIGURED, "on_cleanup"),
    Transition(3, "activate", INACTIVE, ACTIVATING, ACTIVE, "on_activate"),
    Transition(4, "deactivate", ACTIVE, DEACTIVATING, INACTIVE, "on_deactivate"),
    Transition(5, "shutdown", UNCONFIGURED, SHUTTING_DOWN, FINALIZED, "on_shutdown"),
    Transition(6, "shutdown", INACTIVE, SHUTTING_DOWN, FINALIZED, "on_shutdown"),
    Transition(7, "shutdown", ACTIVE, SHUTTING_DOWN, FINALIZED, "on_shutdown"),
)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a leg does in a demo, and how it is judged: its law, its floor, its start, and its hops."""

from collections.abc import Mapping
from dataclasses import dataclass, field

HOP_ERRORS: Mapping[str, str] = {
    "apex": "height of the centre of mass at the top of a hop, from what is wanted (m)",
    "speed": "forward speed of a hop, from what is wanted (m/s)",
}
"""The errors of hops that goals bound, with their descriptions."""


@dataclass(frozen=True)
class HopGoal:
    """A quantity of every hop stays near a number.

    Attributes:
        of: one of :data:`HOP_ERRORS`.
        at: the number, m or m/s.
        within: largest distance from it.
        after: time from which hops count, s.
    """

    of: str
    at: float
    within: float
    after: float = 0.0


@dataclass(frozen=True)
class HoppingTask:
    """A leg with its law and floor, its start, and goals.

    Attributes:
        name: of the task.
        title: description in one line.
        robot: name of a bundled leg.
        goals: bounds of errors of hops, by name.
        law: kind of the :class:`.HoppingController`: I, II or III.
        gains: of the law, by name.
        friction: of the floor; None for one that holds the foot while it is below zero.
        start: x, y (m), theta (rad) and joint (rad or m); those of the robot if empty.
        velocity: twist of the base in its axes and rate of the joint at the start, m/s and rad/s.
        tolerance: of a step of the integrator.
        unaccounted: largest residual of the energy balance, J.
        shortest: duration after which all goals have been judged, s.
    """

    name: str
    title: str
    robot: str
    goals: Mapping[str, HopGoal]
    law: str = "II"
    gains: Mapping[str, float] = field(default_factory=dict)
    friction: float | None = None
    start: tuple[float, ...] = ()
    velocity: tuple[float, ...] = ()
    tolerance: float = 1e-7
    unaccounted: float = 1e-6
    shortest: float = 2.0

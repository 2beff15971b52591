# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a robot does in a scene, and how it is judged at the end."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ...arrays import Array, zeros


@dataclass(frozen=True)
class Move:
    """A target of the end effector.

    Attributes:
        time: from which it is the target, s.
        position: (3,) in the inertial frame, m.
        push: (3,) force on the surroundings that is wanted there, in world axes, N. A law with a
            spring of stiffness k is given the target ``position + push / k``.
    """

    time: float
    position: Array
    push: Array


@dataclass(frozen=True)
class ForceGoal:
    """The mean force on a body over a window lies within a share of the wanted one.

    Attributes:
        body: name of the body.
        force: (3,) wanted on the body, in world axes, N; its component along itself counts.
        share: largest relative error.
    """

    body: str
    force: Array
    share: float = 0.05


@dataclass(frozen=True)
class PlaceGoal:
    """At the end the end effector or a body is near a place.

    Attributes:
        body: name of a body, or ``end_effector``.
        position: (3,) in the inertial frame, m.
        axes: axes of x, y and z in which the distance counts.
        tolerance: largest distance, m.
    """

    body: str = field(metadata={"key": "of"})
    position: Array = field(metadata={"key": "at"})
    tolerance: float = field(metadata={"key": "within"})
    axes: tuple[int, ...] = (0, 1, 2)


@dataclass(frozen=True)
class RestGoal:
    """At the end nothing of the robot moves faster than a speed, rad/s or m/s."""

    speed: float


Goal = ForceGoal | PlaceGoal | RestGoal


@dataclass(frozen=True)
class Task:
    """A robot, its law and its targets in a scene.

    Attributes:
        robot: name of a bundled robot, or path of a description.
        initial_positions: of its joints, rad or m; its home for the others.
        joint_friction: whether the friction of its description acts.
        controller: name of the law, as for the controller node; empty for no torque at all.
        gains: of the law, by name.
        point: (3,) which the law controls and whose targets the moves are, in the axes of the end
            effector, m.
        laws: the task for other laws, by their names.
        moves: its targets, by increasing time.
        period: time after which the moves begin anew, s; zero for never.
        window: the part of each period, or of the whole run, in which forces are judged, s from
            its start.
        goals: by name.
        min_duration: duration after which the goals can be met, s.
    """

    robot: str
    initial_positions: Mapping[str, float] = field(default_factory=dict)
    joint_friction: bool = True
    controller: str = ""
    gains: Mapping[str, float] = field(default_factory=dict)
    point: Array = field(default_factory=lambda: zeros(3))
    laws: Mapping[str, "Task"] = field(default_factory=dict)
    moves: tuple[Move, ...] = ()
    period: float = 0.0
    window: tuple[float, float] = (0.0, float("inf"))
    goals: Mapping[str, Goal] = field(default_factory=dict)
    min_duration: float = field(default=5.0, metadata={"key": "shortest"})

    def with_controller(self, controller: str) -> "Task":
        """Return the task for another law: as the scene says, or with the gains of its own law."""
        return self.laws.get(controller) or replace(self, controller=controller)

    def move(self, time: float) -> Move | None:
        """Return the move whose target is in force at a time, s, or None before the first."""
        phase = self.time_since_moves(time)
        return next((move for move in reversed(self.moves) if move.time <= phase + 1e-9), None)

    def time_since_moves(self, time: float) -> float:
        """Return the time since the moves began, s, at a time of the run, s."""
        return time % self.period if self.period else time

    def judges_forces(self, time: float) -> bool:
        """Return whether a force at a time, s, counts."""
        return self.window[0] <= self.time_since_moves(time) <= self.window[1]

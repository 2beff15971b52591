# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a robot does in a demo, and how it is judged: references over time, surroundings, goals."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..arrays import Array, zeros
from ..errors import ModelError
from .mechanism import Mechanism
from .payload import Payload
from .surroundings import Pushes, Wind

ERRORS: Mapping[str, str] = {
    "base": "distance of the base from its reference (m)",
    "attitude": "rotation of the base from its reference (rad)",
    "end_effector": "distance of the end effector from its reference (m)",
    "joints": "largest distance of a joint from its reference (rad, m)",
    "mechanism": "angle of the mechanism from its reference (rad)",
    "grip": "distance of the end effector from the handle (m)",
}
"""The errors that goals bound, with their descriptions."""

_MECHANISM_ERRORS = ("mechanism", "grip")


@dataclass(frozen=True)
class Target:
    """References from a time on; what is None stays as it was.

    Attributes:
        time: from which they hold, s.
        base: (3,) displacement of the base from its place at the start, in inertial axes, m.
        turn: (3,) rotation of the base from its attitude at the start, rotation vector in the axes
            that the base had there, rad.
        end_effector: (3,) displacement of the end effector from its place at the start, in inertial
            axes, m.
        joints: changes of joint positions from those at the start by name, rad or m; joints that
            are not named return to where they were.
        mechanism: angle to which the end effector leads the handle on its arc, rad.
        duration: time that the motion to the angle ``mechanism`` takes, s.
    """

    time: float = field(metadata={"key": "at"})
    base: Array | None = None
    turn: Array | None = None
    end_effector: Array | None = None
    joints: Mapping[str, float] | None = None
    mechanism: float | None = None
    duration: float = field(default=5.0, metadata={"key": "over"})

    def concerns(self, error_name: str) -> bool:
        """Whether it is a new reference for one of :data:`ERRORS`."""
        references: Mapping[str, object] = {
            "base": self.base,
            "attitude": self.turn,
            "end_effector": self.end_effector if self.mechanism is None else self.mechanism,
            "joints": self.joints,
            "mechanism": self.mechanism,
        }
        return references.get(error_name) is not None


@dataclass(frozen=True)
class ErrorGoal:
    """An error stays within a bound, from some time after each new reference until the next.

    Attributes:
        error: one of :data:`ERRORS`.
        max_error: largest error, m or rad.
        settling_time: time after each reference that concerns it, and after the start, from which
            the error counts, s.
    """

    error: str = field(metadata={"key": "of"})
    max_error: float = field(metadata={"key": "within"})
    settling_time: float = field(default=0.0, metadata={"key": "after"})


@dataclass(frozen=True)
class RobotTask:
    """A robot with its law and actuators, its surroundings, references over time, and goals.

    Attributes:
        name: of the task.
        title: description in one line.
        robot: name of a bundled robot, or path of a description.
        scene: name of a scene with contacts around it, or path of its file; empty for none.
        base: kind of base; that of the robot if empty.
        actuators: of the base, as for the simulator: own, ideal, a file; empty for the default.
        controller: name of the law, as for the controller node.
        base_actuated: whether the law moves the base; otherwise it floats freely.
        gains: of the law, by name.
        initial_positions: of joints, rad or m; the home of the robot for the others.
        end_effector: frame; that of the robot if empty.
        gravity: (3,) in the inertial frame, m/s^2; that of the robot if None.
        inertia: what is done about inertias that no rigid body has, as for
            :meth:`.VMSModel.from_urdf`; ``"repair"`` repairs them without a warning.
        locked_joints: positions at which joints are locked, rad or m.
        wheels: radii of wheels on a planar base that do not slip, by their joints, m.
        step: time step of integrator and law, s.
        joint_friction: whether the friction of the description acts.
        current: (3,) velocity of the water around the robot, in inertial axes, m/s.
        wind: None for still air.
        push: force pushes at the end effector; None for none.
        mechanism: whose handle the end effector holds; None for none.
        payload: body that the end effector takes; None for none.
        targets: references from their times on, by increasing time.
        goals: bounds of errors, by name.
        max_residual: largest residual of the energy balance, J.
        min_duration: duration after which all goals have been judged, s.
        repeat: time after which nodes begin it anew, s; zero for a task that ends. Such a task is a
            demo: the command ``demo`` shows it on the web page.

    Raises:
        ModelError: a target or goal needs what the task does not have.
    """

    name: str
    title: str
    robot: str
    scene: str = ""
    base: str = ""
    actuators: str = ""
    controller: str = "auto"
    base_actuated: bool = True
    gains: Mapping[str, float] = field(default_factory=dict)
    initial_positions: Mapping[str, float] = field(default_factory=dict)
    end_effector: str = ""
    gravity: Array | None = None
    inertia: str = ""
    locked_joints: Mapping[str, float] = field(default_factory=dict)
    wheels: Mapping[str, float] = field(default_factory=dict)
    step: float = 2e-3
    joint_friction: bool = True
    current: Array = field(default_factory=lambda: zeros(3))
    wind: Wind | None = None
    push: Pushes | None = None
    mechanism: Mechanism | None = None
    payload: Payload | None = None
    targets: tuple[Target, ...] = ()
    goals: Mapping[str, ErrorGoal] = field(default_factory=dict)
    max_residual: float = field(default=1e-6, metadata={"key": "unaccounted"})
    min_duration: float = field(default=5.0, metadata={"key": "shortest"})
    repeat: float = 0.0

    def __post_init__(self) -> None:
        """Check that targets and goals are those of what there is."""
        mechanism_targets = [t for t in self.targets if t.mechanism is not None]
        error_by_goal = {k: g.error for k, g in self.goals.items() if g.error in _MECHANISM_ERRORS}
        reasons = [f"the target at {t.time:g} s turns a mechanism" for t in mechanism_targets]
        reasons += [f"the goal '{name}' is of a {error}" for name, error in error_by_goal.items()]
        if reasons and self.mechanism is None:
            raise ModelError(f"{reasons[0]}; the task lacks 'mechanism'")
        for target in mechanism_targets:
            if target.end_effector is not None:
                raise ModelError(
                    f"the target at {target.time:g} s gives both end_effector and mechanism; one "
                    "of them leads the end effector"
                )

    def targets_between(self, start: float, end: float) -> Iterator[Target]:
        """Return the targets of a half-open interval of time, [start, end)."""
        return (target for target in self.targets if start <= target.time < end)

    def counts(self, goal: ErrorGoal, time: float) -> bool:
        """Whether the error of a goal counts at a time."""
        times = [t.time for t in self.targets if t.time <= time and t.concerns(goal.error)]
        return time >= max([0.0, *times]) + goal.settling_time

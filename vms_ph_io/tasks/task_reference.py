# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The references of a task over time, and how far a robot is from them."""

from dataclasses import dataclass

import numpy as np

from vms_ph_controllers import Reference
from vms_ph_dynamics import Array, OptionError, VMSModel
from vms_ph_dynamics.groups import SO3
from vms_ph_dynamics.simulation.robot_task import RobotTask, Target

_SO3 = SO3()


@dataclass(frozen=True)
class AngleProfile:
    """The angle of a mechanism over time, from rest to rest.

    Attributes:
        start_time: start of the motion, s.
        duration: duration of the motion, s.
        start: angle at the start, rad.
        end: angle at the end, rad.
    """

    start_time: float = 0.0
    duration: float = 1.0
    start: float = 0.0
    end: float = 0.0

    def angle(self, time: float) -> float:
        """Return the angle at a time (s), rad: a polynomial of degree five."""
        s = min(max((time - self.start_time) / self.duration, 0.0), 1.0)
        return self.start + (self.end - self.start) * s**3 * (10.0 - 15.0 * s + 6.0 * s * s)

    def moves(self, time: float) -> bool:
        """Return whether it has not ended at a time, s."""
        return time < self.start_time + self.duration and self.start != self.end


class TaskReference:
    """The targets of a task as references of a law, relative to a home configuration."""

    def __init__(
        self, task: RobotTask, model: VMSModel, home: Array, takes_base_and_tool: bool = False
    ) -> None:
        """Begin at home.

        Args:
            task: whose targets they are.
            model: the robot.
            home: (nq,) configuration that displacements are relative to.
            takes_base_and_tool: whether the law takes references of both, see
                :class:`.Controller`; another one that leads the end effector would take a pose of
                the base for its own.

        Raises:
            StateError: a joint is unknown.
            OptionError: a joint is led beyond its limits, or the robot has no base that moves.
        """
        self._task, self._model = task, model
        has_target = any(t.concerns("end_effector") for t in task.targets)
        self._leads_base = takes_base_and_tool or not (has_target or self._has_goal("end_effector"))
        self._home_base_pose = self._base_pose = model.base_pose(home)
        self._position = model.placement(model.end_effector, home)[:3, 3].copy()
        self._home_position = self._position
        self._home_joint_positions = self._joint_positions = model.joint_positions(home)
        # Wheels turn as the base drives, whatever their references.
        self._profile = AngleProfile()
        self._is_arm_joint = np.array([name not in task.wheels for name in model.joint_names])
        for target in task.targets:
            self._check_joints(target)
            if model.b == 0 and (target.base is not None or target.turn is not None):
                raise OptionError(f"the base of '{model.name}' is fixed; a target moves it")

    def reference_between(self, start: float, end: float, lead: float = 0.0) -> Reference:
        """Return the reference that becomes due in [start, end), s.

        Args:
            start: of the interval, s.
            end: of the interval, s.
            lead: time after its end at which a reference that moves is given, s; half the time for
                which it is held makes it right in the mean.
        """
        pose = position = joints = None
        for target in self._task.targets_between(start, end):
            if target.mechanism is not None:
                angle = self._profile.angle(target.time)
                self._profile = AngleProfile(target.time, target.duration, angle, target.mechanism)
            if target.base is not None or target.turn is not None:
                pose = self._base_pose = self._base_pose.copy()
            if target.base is not None:
                self._base_pose[:3, 3] = self._home_base_pose[:3, 3] + target.base
            if target.turn is not None:
                self._base_pose[:3, :3] = self._home_base_pose[:3, :3] @ _SO3.exp(target.turn)
            if target.end_effector is not None:
                position = self._position = self._home_position + target.end_effector
            if target.joints is not None:
                offsets = [target.joints.get(name, 0.0) for name in self._model.joint_names]
                joints = self._joint_positions = self._home_joint_positions + offsets
        if self._task.mechanism is not None and self._profile.moves(start):
            angle = self._profile.angle(end + lead)
            self._position = self._home_position + self._task.mechanism.displacement(angle)
            position = self._position
        if start < 0.0:
            # The law starts where the robot is, which need not be at home.
            pose = self._base_pose if self._has_goal("base", "attitude") else pose
            position = self._position if self._has_goal("end_effector") else position
            joints = self._joint_positions if self._has_goal("joints") else joints
        pose = pose if self._leads_base else None
        return Reference(position=position, pose=pose, joints=joints)

    def errors(self, q: Array, v: Array) -> dict[str, float]:
        """Return the errors of a motion by the names of :data:`.robot_task.ERRORS`."""
        model = self._model
        pose = model.base_pose(q)
        rotation_error = _SO3.log(self._base_pose[:3, :3].T @ pose[:3, :3])
        position = model.evaluate(q, v).placement(model.end_effector)[:3, 3]
        joint_errors = (model.joint_positions(q) - self._joint_positions)[self._is_arm_joint]
        return {
            "base": float(np.linalg.norm(pose[:3, 3] - self._base_pose[:3, 3])),
            "attitude": float(np.linalg.norm(rotation_error)),
            "end_effector": float(np.linalg.norm(position - self._position)),
            "joints": float(np.abs(joint_errors).max(initial=0.0)),
        }

    @property
    def angle(self) -> float:
        """Angle that the mechanism is to reach, rad."""
        return self._profile.end

    def _check_joints(self, target: Target) -> None:
        model, limits = self._model, self._model.joints
        for name, displacement in (target.joints or {}).items():
            k = model.joint_index(name)
            position = self._home_joint_positions[k] + displacement
            low, high = limits.lower[k], limits.upper[k]
            if not low <= position <= high:
                text = f"the target at {target.time:g} s leads '{name}' to {position:g}, outside "
                text += f"its limits from {low:g} to {high:g}"
                raise OptionError(text)

    def _has_goal(self, *errors: str) -> bool:
        return any(goal.error in errors for goal in self._task.goals.values())

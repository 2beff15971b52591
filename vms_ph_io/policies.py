# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Guards of energy before learned policies: robots of LeRobot, environments of Gymnasium."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vms_ph_controllers.guard import Certificate, GuardedCommand, ServoGuard
from vms_ph_dynamics import Array, ModelError, VMSModel
from vms_ph_dynamics.arrays import summary

if TYPE_CHECKING:
    import gymnasium


class GuardedRobot:
    """A robot with the interface of LeRobot, whose actions pass a guard of energy.

    ``robot.send_action(policy(robot.get_observation()))`` stays as it is. Everything but
    ``connect``, ``get_observation`` and ``send_action`` is that of the robot. Neither LeRobot nor
    PyTorch is imported.

    Args:
        robot: with ``action_features``, ``get_observation`` and ``send_action``.
        guard: of position or velocity commands, for a model of the robot.
        model: model of the guard, for the names of its joints.
        names: joint of the model for each key of an action, such as
            ``{"elbow_flex.pos": "elbow_flex"}``; None where the key without ``.pos`` is the name.
        unit: rad (or m) per unit of the actions, such as ``math.radians(1)``, for all or by key.
        offset: position of the joint, rad (or m), where the action is zero, for all or by key.
        unguarded: keys that pass as they are, such as that of a gripper.
        clock: time, s.

    Attributes:
        last: the guarded command of the last action; None before the first.

    Raises:
        ModelError: keys and joints do not belong together one by one.
    """

    def __init__(
        self,
        robot: Any,
        guard: ServoGuard,
        model: VMSModel,
        *,
        names: Mapping[str, str] | None = None,
        unit: float | Mapping[str, float] = 1.0,
        offset: float | Mapping[str, float] = 0.0,
        unguarded: Sequence[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._robot, self._guard, self._clock = robot, guard, clock
        keys = [key for key in robot.action_features if key not in unguarded]
        joint_of = {key: key.removesuffix(".pos") for key in keys} if names is None else dict(names)
        joints = list(model.joint_names)
        if sorted(joint_of) != sorted(keys) or sorted(joint_of.values()) != sorted(joints):
            raise ModelError(
                f"each key of an action needs a joint: given {joint_of} for the keys {keys} and "
                f"{joints}; name them by names=, leave keys out by unguarded=, or lock joints of "
                "the model by locked_joints="
            )
        self._keys = sorted(keys, key=lambda key: joints.index(joint_of[key]))
        self._unit, self._offset = (
            np.array([value[key] if isinstance(value, Mapping) else value for key in self._keys])
            for value in (unit, offset)
        )
        self._positions: Array | None = None
        self._send_time: float | None = None
        self.last: GuardedCommand | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._robot, name)

    def __repr__(self) -> str:
        """Return robot and guard, in one line."""
        return summary(self, repr(self._robot), repr(self._guard))

    def connect(self, *args: Any, **options: Any) -> None:
        """Connect, and begin an episode."""
        self._robot.connect(*args, **options)
        self.begin_episode()

    def __enter__(self) -> "GuardedRobot":
        """Connect, and begin an episode."""
        self.connect()
        return self

    def __exit__(self, *error: object) -> None:
        """Disconnect."""
        self._robot.disconnect()

    def begin_episode(self) -> None:
        """Begin at the present positions, with a tank at its initial level."""
        self._guard.engage(self._positions_in(self._robot.get_observation()))
        self._positions = self._send_time = self.last = None

    def get_observation(self) -> dict[str, Any]:
        """Return the observation of the robot."""
        observation: dict[str, Any] = self._robot.get_observation()
        self._positions = self._positions_in(observation)
        return observation

    def send_action(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Send what the guard grants of an action, and return what the robot says was sent."""
        if self._positions is None:
            self.get_observation()
        assert self._positions is not None
        last_time, self._send_time = self._send_time, self._clock()
        dt = 0.0 if last_time is None else self._send_time - last_time
        command = self._to_radians([action.get(key, np.nan) for key in self._keys])
        self.last = self._guard.update(self._positions, command, dt)
        self._positions = None
        sent_action = dict(action)
        if self.last.command is not command:
            granted_positions = (self.last.command - self._offset) / self._unit
            sent_action.update(zip(self._keys, granted_positions.tolist(), strict=True))
        return self._robot.send_action(sent_action)

    @property
    def certificate(self) -> Certificate:
        """What was given since the episode began; ``certificate.document()`` is plain data."""
        return self._guard.certificate

    def _positions_in(self, observation: Mapping[str, Any]) -> Array:
        return self._to_radians([observation.get(key, np.nan) for key in self._keys])

    def _to_radians(self, values: Sequence[Any]) -> Array:
        return self._offset + self._unit * np.array([float(value) for value in values])


def guarded_environment(
    env: "gymnasium.Env[Any, Any]", guard: ServoGuard, positions: Callable[[Any], Array], dt: float
) -> "gymnasium.Wrapper[Any, Any, Any, Any]":
    """Return a Gymnasium environment whose actions pass a guard of energy.

    ``info["guard"]`` has status, reason and level of each step, and ``info["certificate"]`` the
    certificate at the end of an episode, as plain data.

    Args:
        env: whose actions are commands (n,) of position (rad, m) or velocity (rad/s, m/s).
        guard: of these commands.
        positions: function from an observation to the positions (n,) of the joints, rad or m.
        dt: time of a step, s.

    Raises:
        ModuleNotFoundError: ``gymnasium`` is not installed.
    """
    import gymnasium

    class GuardedEnvironment(gymnasium.Wrapper[Any, Any, Any, Any]):
        def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
            observation, info = super().reset(**options)
            self._positions = np.asarray(positions(observation), float)
            guard.engage(self._positions)
            return observation, info

        def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
            output = guard.update(self._positions, action, dt)
            observation, reward, terminated, truncated, info = super().step(output.command)
            self._positions = np.asarray(positions(observation), float)
            report = {"status": output.status.name, "reason": output.reason, "level": output.level}
            info = {**info, "guard": report}
            if terminated or truncated:
                info["certificate"] = guard.certificate.document()
            return observation, reward, terminated, truncated, info

    return GuardedEnvironment(env)

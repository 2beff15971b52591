# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Surroundings that act on a robot: a steady current of water, wind, and pushes."""

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, frozen, vector
from ..errors import OptionError
from ..forms import Ports
from ..model import VMSModel


@dataclass(frozen=True)
class WaterCurrent:
    """A steady current; motions in it are integrated in the frame that moves with the water.

    The equations of bodies in a steady uniform current, added mass included, are those in water at
    rest, seen from the water. Energies and momenta are then those seen from the water.

    Attributes:
        velocity: (3,) of the water, in inertial axes, m/s.
    """

    velocity: Array

    def __post_init__(self) -> None:
        """Check the velocity."""
        object.__setattr__(self, "velocity", frozen(vector(self.velocity, 3, "a current").copy()))

    def check(self, model: VMSModel) -> None:
        """Check that a current can act on a robot.

        Raises:
            OptionError: it is in no fluid, or its base does not float.
        """
        if model.fluid is None or model.base != "floating":
            raise OptionError(f"a current acts on floating bases in water; not on '{model.name}'")

    def relative_velocity(self, model: VMSModel, q: Array, v: Array) -> Array:
        """Return the velocity (nv,) relative to the water, of v (nv,) relative to the ground."""
        v = v.copy()
        v[:3] -= self.velocity @ model.base_pose(q)[:3, :3]
        return v

    def motion_over_ground(
        self, model: VMSModel, q: Array, v: Array, time: float
    ) -> tuple[Array, Array]:
        """Return the motion over ground, q (nq,) and v (nv,), of one seen from the water.

        Args:
            model: the robot.
            q: (nq,) configuration seen from the water.
            v: (nv,) velocity relative to the water.
            time: since both frames coincided, s.
        """
        q, v = q.copy(), v.copy()
        v[:3] += self.velocity @ model.base_pose(q)[:3, :3]
        q[:3] += time * self.velocity
        return q, v


@dataclass(frozen=True)
class Wind:
    """A wind that pushes the base by its drag, at the origin of its first link.

    Attributes:
        velocity: (3,) mean, in inertial axes, m/s.
        gust: amplitude of a periodic change of the speed along ``velocity``, m/s.
        period: of the gusts, s.
        drag_area: drag coefficient times area, m^2.
        density: of the air, kg/m^3.
    """

    velocity: Array
    gust: float = 0.0
    period: float = 5.0
    drag_area: float = 0.02
    density: float = 1.2

    def check(self, model: VMSModel) -> None:
        """Check that a wind can push a robot.

        Raises:
            OptionError: its base does not move.
        """
        if not model.b:
            raise OptionError(f"a wind pushes moving bases; that of '{model.name}' is fixed")

    def ports(self, model: VMSModel, q: Array, v: Array, time: float) -> Ports:
        """Return its force on the base as a wrench at the first link, a tool of the robot.

        Args:
            model: the robot.
            q: (nq,) configuration.
            v: (nv,) velocity over ground.
            time: at which it acts, s.
        """
        rotation = model.base_pose(q)[:3, :3]
        base_velocity = v[:3] if model.base == "floating" else np.array([v[0], v[1], 0.0])
        force = rotation.T @ self.force(time, rotation @ base_velocity)
        return Ports(wrench_tools={model.link_names[0]: np.concatenate([force, np.zeros(3)])})

    def force(self, time: float, base_velocity: Array) -> Array:
        """Return the force (3,), N, on a base of a velocity (3,), m/s, both in inertial axes."""
        speed = float(np.linalg.norm(self.velocity))
        gust_factor = 1.0 + self.gust / max(speed, 1e-12) * np.sin(2.0 * np.pi * time / self.period)
        airflow = gust_factor * self.velocity - base_velocity
        return np.asarray(0.5 * self.density * self.drag_area * np.linalg.norm(airflow) * airflow)


@dataclass(frozen=True)
class Pushes:
    """Pushes at the end effector, whose directions alternate between x, y and z of the world.

    Attributes:
        force: N.
        duration: duration of each push, s.
        period: time from one push to the next, s; none where zero.
        first: time at which the first begins, s.
    """

    force: float = 10.0
    duration: float = 0.15
    period: float = 0.0
    first: float = 1.0

    def wrench(self, time: float) -> Array:
        """Return the wrench (6,) in world axes that acts from a time (s) on."""
        wrench = np.zeros(6)
        # Pushes begin and end on a step; half a microsecond covers the rounding of its time.
        elapsed_time = time - self.first + 5e-7
        if self.period <= 0.0 or elapsed_time < 0.0:
            return wrench
        push_index, time_in_period = divmod(elapsed_time, self.period)
        if time_in_period < self.duration:
            wrench[int(push_index) % 3] = self.force
        return wrench

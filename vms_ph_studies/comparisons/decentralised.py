# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
# http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The usual alternative: a PD law for the base and one for every joint, which ignore each other."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from vms_ph_controllers import Command, Controller, Reference, RobotState, gain
from vms_ph_controllers.interface import is_usable_step, usable
from vms_ph_controllers.laws.thrust_direction import ThrustDirection, single_axis
from vms_ph_controllers.references.joint_reference import JointReference
from vms_ph_controllers.references.pose_reference import PoseReference
from vms_ph_dynamics import Allocation, VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.groups import SE3, SO3

_SE3, _SO3 = SE3(), SO3()


class DecentralisedPD(Controller):
    """PD control of the base with gravity compensation, and of every joint.

    Stiffness and damping are those of the law that it is compared with; the coupling of base and
    arm is ignored: the base carries the weight of the robot in its initial posture. A base whose
    rotors push along one axis is led by a cascade: a PD law of the position wants a force, another
    one turns the base towards it. References move as those of the laws of this project do.
    """

    @dataclass(frozen=True)
    class Gains:
        """Gains of the law."""

        frequency_base: float = gain(1.5, "natural frequency of the base position, rad/s", 0, 50)
        frequency_turn: float = gain(1.5, "natural frequency of its attitude, rad/s", 0, 50)
        frequency_shape: float = gain(4.0, "natural frequency of the joints, rad/s", 0, 100)
        damping_ratio: float = gain(0.8, "damping ratio of all motions", 0, 10)
        base_speed: float = gain(0.3, "largest speed of the base reference, m/s", 1e-3, 20)
        base_turn: float = gain(0.5, "largest angular speed of it, rad/s", 1e-3, 20)
        joint_speed: float = gain(0.5, "largest speed of the joint reference, rad/s", 1e-3, 20)
        largest_tilt: float = gain(0.6, "of a thrust along one axis, rad", 0, 1.2)

    gains: Gains
    FOLLOWS_JOINTS = True

    def __init__(
        self, model: VMSModel, gains: Gains | None = None, allocation: Allocation | None = None
    ) -> None:
        """Control base and joints of a robot; see :class:`Controller`."""
        super().__init__(model)
        self.gains = self._checked_gains(gains)
        self._rows = np.array([0, 1, 5]) if model.base == "planar" else np.arange(6)
        self._direction: ThrustDirection | None = None
        falls = model.base == "floating" and bool(np.any(model.gravity))
        if allocation is not None and falls and not allocation.is_fully_actuated:
            self._axis = single_axis(allocation, model.name)[0]
            self._direction = ThrustDirection(self._axis)
        self._base, self._joints = PoseReference(), JointReference(model.n)
        self.reset(RobotState(model.neutral_configuration(), np.zeros(model.nv)))

    @classmethod
    def like(
        cls, law: Controller, model: VMSModel, allocation: Allocation | None
    ) -> "DecentralisedPD":
        """Return one with the frequencies, damping ratio and speeds of another law."""
        theirs: Any = law.gains
        base = getattr(theirs, "frequency_base", 1.5)
        given = {
            "frequency_base": getattr(theirs, "frequency_position", base),
            "frequency_turn": getattr(theirs, "frequency_attitude", base),
        }
        for name in ("frequency_shape", "damping_ratio", "base_speed", "base_turn", "joint_speed"):
            if hasattr(theirs, name):
                given[name] = getattr(theirs, name)
        return cls(model, cls.Gains(**given), allocation)

    def reset(self, state: RobotState) -> None:
        """Hold the present pose and joints; see :meth:`Controller.reset`."""
        model = self.model
        d = model.evaluate(state.q, np.zeros(model.nv))
        self._base.restart(model.base_pose(d.q))
        self._joints.restart(model.joint_positions(d.q))
        linear = model.b - 3 if model.base == "floating" else 2
        locked, shape = np.diag(d.M_b), np.diag(d.M_hat_m)
        self._inertia = np.concatenate(
            [
                np.full(linear, locked[:linear].mean()),
                np.full(model.b - linear, locked[linear:].mean()),
                shape,
            ]
        )
        # Weight less buoyancy, and where it acts, in the initial posture of the arm.
        self._mass = model.total_mass
        self._centre = _centre_of_mass(model, d.q)
        floats = 0.0 if model.fluid is None else model.fluid.displaced_mass
        self._carried = self._mass - floats
        self._moment = d.g[3:6].copy() if model.base == "floating" else np.zeros(3)

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return base wrench and torques for a state; see :meth:`Controller.update`."""
        model, gains, b = self.model, self.gains, self.model.b
        if not (state.is_usable(model) and is_usable_step(dt)):
            return self.safe_output(model.neutral_configuration())
        pose, joints = usable(reference.pose, (4, 4)), usable(reference.joints, (model.n,))
        if pose is not None:
            self._base.go_to(pose)
        if joints is not None:
            self._joints.go_to(joints)
        self._base.advance(None, gains.base_speed, gains.base_turn, gains.frequency_base, dt)
        self._joints.advance(gains.joint_speed, gains.frequency_shape, dt)
        force = self.force(state.q, state.v)
        bound = model.joints.effort
        return Command(force[:b], np.clip(force[b:], -bound, bound))

    def force(self, q: Array, v: Array) -> Array:
        """Return the generalised force (nv,) at a state."""
        model, gains, b = self.model, self.gains, self.model.b
        linear = {"floating": 3, "planar": 2}.get(model.base, 0)
        counts = [linear, b - linear, model.n]
        each = (gains.frequency_base, gains.frequency_turn, gains.frequency_shape)
        frequency = np.repeat(each, counts)
        stiffness = frequency**2 * self._inertia
        damping = 2.0 * gains.damping_ratio * frequency * self._inertia
        base = model.base_pose(q)
        error = _SE3.inverse(self._base.pose) @ base
        turn = _SO3.log(error[:3, :3])
        shift = error[:3, 3] @ error[:3, :3]
        away = np.concatenate(
            [
                np.concatenate([shift, turn])[self._rows],
                model.joint_positions(q) - self._joints.positions,
            ]
        )
        moving = _SE3.Ad(_SE3.inverse(error)) @ self._base.twist
        rates = np.concatenate([moving[self._rows], self._joints.rates])
        d = model.evaluate(q, v)
        force = -stiffness * away - damping * (v - rates)
        up = -self._carried * (model.gravity @ base[:3, :3])
        moment = np.cross(self._centre, up)
        if model.fluid is not None:
            moment = self._moment
        if self._direction is None:
            force[:b] += np.concatenate([up, moment])[self._rows]
        else:
            force[:6] = self._cascade(force[:6], up, moment, base[:3, :3], stiffness, damping, v)
        force[b:] += d.g[b:]
        return force

    def _cascade(
        self,
        wanted: Array,
        up: Array,
        moment: Array,
        rotation: Array,
        stiffness: Array,
        damping: Array,
        v: Array,
    ) -> Array:
        """Return the thrust along the axis and the moment that turns it towards a wanted force."""
        assert self._direction is not None
        weight = float(np.linalg.norm(up))
        vertical = rotation @ up / max(weight, 1e-12)
        pull: Array = rotation @ (wanted[:3] + up)
        pull = self._direction.within(pull, vertical, weight, self.gains.largest_tilt)
        attitude = self._direction.attitude(pull, self._base.pose[:3, :3])
        turn = _SO3.log(attitude.T @ rotation)
        thrust = float(pull @ (rotation @ self._axis))
        turning = -stiffness[3:6] * turn - damping[3:6] * v[3:6]
        return np.concatenate([thrust * self._axis, turning + moment])


def _centre_of_mass(model: VMSModel, q: Array) -> Array:
    """Return the centre of mass of the robot in the base frame, (3,)."""
    m = model.pinocchio
    centre = pin.centerOfMass(m, m.createData(), q)
    pose = model.base_pose(q)
    return np.array((centre - pose[:3, 3]) @ pose[:3, :3])

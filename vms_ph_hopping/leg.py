# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A leg and the viscoelastic floor under it, and the prediction of its flight [B, 4.1]."""

import enum
from dataclasses import dataclass
from math import atan2, cos, inf, pi, sin

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import Array, ModelError, StateError, VMSModel


class Phase(enum.IntEnum):
    """The contact of a foot: none, sticking with pressure, without pressure, or sliding."""

    FLIGHT = 0
    PRESSED = 1
    RELIEVED = 2
    SLIDES_FORWARD = 3
    SLIDES_BACK = 4


@dataclass(frozen=True, slots=True)
class FloorForce:
    """The force and the energy of the floor at an instant.

    Attributes:
        tangential, normal: force on the foot, N.
        deflection_rate: of the tangential deflection of the floor, m/s; equal to the speed of a
            sticking foot.
        stored: energy in the floor's springs, J.
        dissipated_power: power dissipated by the floor, W; never negative.
    """

    tangential: float
    normal: float
    deflection_rate: float
    stored: float
    dissipated_power: float


@dataclass(frozen=True)
class Floor:
    """A horizontal floor at height zero with springs and dashpots.

    The normal force is ``F_y = max(-K y - D ydot, 0)`` while the foot is below zero; [B (4.13),
    (4.14)] print ``+K``, with which the floor never pushes. The tangential force is
    ``F_x = -K s - D sdot`` with the deflection s from an anchor that is set at touch-down. At
    lift-off the anchor is released, and the energy still stored in the deflection is lost.

    Attributes:
        stiffness, damping: K and D, (tangential, normal), N/m and N s/m.
        friction: coefficient mu of the cone ``|F_x| <= mu F_y``: the anchor slips where the force
            would leave it, and there is no tangential force without pressure. None is the floor of
            [B]: it holds the foot sideways while the foot is below zero, with or without pressure.

    Raises:
        StateError: stiffness or damping is not positive, or the friction is negative.
    """

    stiffness: tuple[float, float] = (10000.0, 10000.0)
    damping: tuple[float, float] = (1000.0, 1000.0)
    friction: float | None = None

    def __post_init__(self) -> None:
        values = (*self.stiffness, *self.damping)
        if not all(0.0 < value < inf for value in values):
            raise StateError(f"stiffness and damping of a floor must be positive; given: {values}")
        if self.friction is not None and not 0.0 <= self.friction < inf:
            raise StateError(f"friction must be None or not negative; given: {self.friction}")

    def pressure(self, height: float, height_rate: float) -> float:
        """Return ``-K y - D ydot``, N; the foot presses where it is positive.

        Args:
            height: y of the foot, m.
            height_rate: its derivative, m/s.
        """
        return -self.stiffness[1] * height - self.damping[1] * height_rate

    def cone_excess(self, height: float, rate: float, deflection: float, v_x: float) -> float:
        """Return the excess of a sticking foot's force over the cone, N; signed as the force.

        The arguments are those of :meth:`force`.
        """
        tangential = -self.stiffness[0] * deflection - self.damping[0] * v_x
        limit = inf if self.friction is None else self.friction * self.pressure(height, rate)
        return max(tangential - limit, 0.0) if tangential > 0.0 else min(tangential + limit, 0.0)

    def contact_phase(self, height: float, rate: float, deflection: float, v_x: float) -> Phase:
        """Return whether a foot that presses sticks or slides, and its direction.

        The arguments are those of :meth:`force`.
        """
        cone_excess = self.cone_excess(height, rate, deflection, v_x)
        if cone_excess == 0.0:
            return Phase.PRESSED
        return Phase.SLIDES_BACK if cone_excess > 0.0 else Phase.SLIDES_FORWARD

    def force(
        self, phase: Phase, height: float, rate: float, deflection: float, v_x: float
    ) -> FloorForce:
        """Return the force on a foot and the energy of the floor.

        Args:
            phase: of the motion, which the caller switches at the events.
            height: y of the foot, m.
            rate: its derivative, m/s.
            deflection: s, m.
            v_x: tangential velocity of the foot, m/s.
        """
        if phase is Phase.FLIGHT:
            return FloorForce(0.0, 0.0, 0.0, 0.0, 0.0)
        is_pressed = phase is not Phase.RELIEVED
        normal = self.pressure(height, rate) if is_pressed else 0.0
        k, d = self.stiffness[0], self.damping[0]
        if phase is Phase.PRESSED or self.friction is None:
            tangential, deflection_rate = -k * deflection - d * v_x, v_x
        else:
            # On the cone the anchor moves with the foot; without pressure the deflection relaxes.
            sign = {Phase.SLIDES_FORWARD: -1.0, Phase.SLIDES_BACK: 1.0}.get(phase, 0.0)
            tangential = sign * self.friction * normal
            deflection_rate = -(tangential + k * deflection) / d
        stored = 0.5 * (k * deflection**2 + self.stiffness[1] * height**2)
        # The power supplied at the foot less that stored in the springs. A floor without pressure
        # relaxes and dissipates its stored energy.
        loss_rate = -tangential * v_x - k * deflection * deflection_rate
        loss_rate += self.damping[1] * rate**2 if is_pressed else -self.stiffness[1] * height * rate
        return FloorForce(tangential, normal, deflection_rate, stored, loss_rate)


# Rows of a spatial Jacobian that are motion in the plane.
_PLANE_ROWS = [0, 1, 5]


@dataclass(frozen=True, slots=True)
class LegState:
    """A planar robot at an instant, described as a leg; the second axis points up.

    Attributes:
        q, v: (nq,), (nv,) configuration and velocity.
        M: (nv,nv) mass matrix, kg, kg m and kg m^2.
        bias: (nv,) velocity terms and gravity, N and N m.
        kinetic, potential: energies, J.
        foot, foot_rate: (2,) position and velocity of the foot in the inertial frame, m and
            m/s.
        foot_axes: (2,2) the axes of the foot's frame in the inertial frame.
        J_foot: (3,nv) ``(foot_rate, its angular velocity) = J_foot v``.
        centre, centre_rate: (2,) of the centre of mass, in the inertial frame, m and m/s.
        foot_offset: (2,) from the centre of mass to the foot, inertial axes, m.
        length, length_rate: its length r_cf, m and m/s.
        angle, angle_rate: alpha_i,cf from the downward vertical, positive towards x, rad
            and rad/s.
        J_length, J_angle: (nv,) the rows of both rates; the first is zero on the base, the second
            has no linear part: neither moves the centre of mass.
    """

    q: Array
    v: Array
    M: Array
    bias: Array
    kinetic: float
    potential: float
    foot: Array
    foot_rate: Array
    foot_axes: Array
    J_foot: Array
    centre: Array
    centre_rate: Array
    foot_offset: Array
    length: float
    length_rate: float
    angle: float
    angle_rate: float
    J_length: Array
    J_angle: Array

    @property
    def kinetic_base(self) -> float:
        """Kinetic energy of the locked motion, 1/2 p^T M_b^-1 p, J; the rest is the shape's."""
        p = self.M[:3] @ self.v
        return 0.5 * float(p @ np.linalg.solve(self.M[:3, :3], p))

    @property
    def energy(self) -> float:
        """Kinetic and gravity energy, J."""
        return self.kinetic + self.potential

    @property
    def momentum(self) -> Array:
        """Linear momentum in the inertial frame, (2,), N s."""
        return float(self.M[0, 0]) * self.centre_rate

    @property
    def angular_momentum(self) -> float:
        """Angular momentum about the centre of mass, N m s."""
        base_momentum = self.M[:3] @ self.v
        R = np.array([[self.q[2], -self.q[3]], [self.q[3], self.q[2]]])
        lever = R.T @ (self.centre - self.q[:2])
        return float(base_momentum[2] - lever[0] * base_momentum[1] + lever[1] * base_momentum[0])


class Leg:
    """Describes a robot on a planar base as a leg with a point foot [B (4.20)-(4.24)].

    Coordinates are ``(x, y, theta, joints)``, m and rad: those of the base with the angle instead
    of its cosine and sine.
    """

    def __init__(self, model: VMSModel, foot: str | None = None) -> None:
        """Construct from a robot and the frame of its foot, the end effector when None.

        Args:
            model: a robot on a planar base, with y up.
            foot: name of a frame; the end effector when None.

        Raises:
            ModelError: the base is not planar, gravity is not along -y, joints mimic others or are
                continuous, the robot is in a fluid, or there is no such frame.
        """
        if model.base != "planar" or not model.is_plain or model.nq != 4 + model.n:
            raise ModelError(
                f"a leg is a robot on a planar base in vacuum, with joints that have limits and "
                f"mimic no others; '{model.name}' has a {model.base} base"
            )
        gravity = model.base_gravity
        if gravity[0] != 0.0 or gravity[1] > 0.0 or gravity[2] != 0.0:
            raise ModelError(
                "a leg moves in a vertical plane, y up: gravity in the axes of its base must be "
                f"(0, -g, 0); given: {tuple(float(g) for g in gravity)}"
            )
        self.model = model
        self.foot = model.end_effector if foot is None else foot
        # Separate data: a leg is evaluated between the terms of an evaluation.
        self._pinocchio_model = model.tree.pinocchio
        self._data = self._pinocchio_model.createData()
        self._foot_id = model.frame_id(self.foot)

    def configuration(self, coordinates: Array) -> Array:
        """Return q, (nq,), from ``(x, y, theta, joints)``, (3+n,)."""
        x, y, theta, *joints = coordinates.tolist()
        return np.array([x, y, cos(theta), sin(theta), *joints])

    def coordinates(self, q: Array) -> Array:
        """Return ``(x, y, theta, joints)`` with theta in (-pi, pi], (3+n,)."""
        return np.concatenate([q[:2], [atan2(q[3], q[2])], q[4:]])

    def coordinate_rates(self, coordinates: Array, v: Array) -> Array:
        """Return the derivative of the coordinates under a velocity (nv,)."""
        theta = float(coordinates[2])
        c, s = cos(theta), sin(theta)
        v_x, v_y, *joint_rates = v.tolist()
        return np.array([c * v_x - s * v_y, s * v_x + c * v_y, *joint_rates])

    def foot_motion(self, q: Array, v: Array) -> tuple[float, float, float]:
        """Return the height of the foot, m, its rate and its speed along x, m/s; unchecked."""
        m, data = self._pinocchio_model, self._data
        pin.forwardKinematics(m, data, q, v)
        height = pin.updateFramePlacement(m, data, self._foot_id).translation[1]
        velocity = pin.getFrameVelocity(m, data, self._foot_id, pin.LOCAL_WORLD_ALIGNED).linear
        v_x, height_rate, _ = velocity.tolist()
        return float(height), height_rate, v_x

    def at(self, q: Array, v: Array) -> LegState:
        """Return the leg at a state; unchecked, for integrators and controllers."""
        m, data = self._pinocchio_model, self._data
        pin.computeAllTerms(m, data, q, v)
        foot = pin.updateFramePlacement(m, data, self._foot_id).translation[:2].copy()
        j_foot = pin.getFrameJacobian(m, data, self._foot_id, pin.LOCAL_WORLD_ALIGNED)[_PLANE_ROWS]
        px, py = foot.tolist()
        cx, cy, _ = data.com[0].tolist()
        ox, oy = px - cx, py - cy
        r = (ox * ox + oy * oy) ** 0.5
        inverse_radius = 1.0 / r if r > 0.0 else inf  # a foot at the centre of mass has no rates
        ux, uy = ox * inverse_radius, oy * inverse_radius
        polar_map = np.array([[ux, uy], [-uy * inverse_radius, ux * inverse_radius]])
        j_polar = polar_map.dot(j_foot[:2] - data.Jcom[:2])
        length_rate, angle_rate = j_polar.dot(v).tolist()
        return LegState(
            q=q,
            v=v,
            M=data.M.copy(),
            bias=data.nle.copy(),
            kinetic=data.kinetic_energy,
            potential=data.potential_energy,
            foot=foot,
            foot_rate=j_foot[:2].dot(v),
            foot_axes=data.oMf[self._foot_id].rotation[:2, :2].copy(),
            J_foot=j_foot,
            centre=np.array([cx, cy]),
            centre_rate=data.vcom[0][:2].copy(),
            foot_offset=np.array([ox, oy]),
            length=r,
            length_rate=length_rate,
            angle=atan2(ox, -oy) if oy < 0 or ox else pi,
            angle_rate=angle_rate,
            J_length=j_polar[0],
            J_angle=j_polar[1],
        )

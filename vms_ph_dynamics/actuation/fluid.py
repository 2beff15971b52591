# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot in a fluid: added mass, drag and buoyancy of its links, and of slender cylinders.

The model is the standard one of marine craft: T. I. Fossen, Handbook of Marine Craft Hydrodynamics
and Motion Control, Wiley 2011, chapters 6 to 8 (strip theory of cylinders: section 6.3). The fluid
is at rest and unbounded; bodies do not disturb the flow around each other.
"""

from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from ..arrays import Array, frozen, parameter, zeros
from ..errors import ModelError
from ..groups import SE3, skew
from ..robot.kinematic_tree import Kinematics, KinematicTree

WATER = 1000.0  # kg/m^3

_COADJOINT = np.stack([SE3().coad(unit) for unit in np.eye(6)])  # by columns of ad~


@dataclass(frozen=True)
class ImmersedBody:
    """The coefficients of one link in a fluid, in the axes and about the origin of its frame.

    Attributes:
        link: its name.
        added_mass: (6,6) symmetric, linear first, kg, kg m, kg m^2.
        volume: of the displaced fluid, m^3.
        centre_of_buoyancy: (3,) m.
        linear_drag: (6,) drag per component of the twist, N s/m and N m s.
        quadratic_drag: (6,) drag per square of that component, N s^2/m^2 and N m s^2.

    Raises:
        ModelError: a coefficient has a wrong shape or an entry that is not finite, the added mass
            is not symmetric and positive semidefinite, or a volume or drag is negative.
    """

    link: str
    added_mass: Array = field(default_factory=lambda: zeros(6, 6))
    volume: float = 0.0
    centre_of_buoyancy: Array = field(default_factory=lambda: zeros(3))
    linear_drag: Array = field(default_factory=lambda: zeros(6))
    quadratic_drag: Array = field(default_factory=lambda: zeros(6))

    def __post_init__(self) -> None:
        """Check that the coefficients are physically possible."""
        for name, size in (("centre_of_buoyancy", 3), ("linear_drag", 6), ("quadratic_drag", 6)):
            label = f"the {name.replace('_', ' ')} of '{self.link}'"
            coefficients = parameter(getattr(self, name), size, label)
            object.__setattr__(self, name, frozen(coefficients.copy()))
        object.__setattr__(self, "added_mass", self._checked_added_mass())
        if not (np.isfinite(self.volume) and self.volume >= 0):
            raise ModelError(
                f"the volume of '{self.link}' must not be negative; given: {self.volume} m^3"
            )
        for name in ("linear_drag", "quadratic_drag"):
            if min(getattr(self, name)) < 0:
                raise ModelError(
                    f"the {name.replace('_', ' ')} of '{self.link}' must not be negative: it would "
                    f"add energy; given: {getattr(self, name).tolist()}"
                )

    def _checked_added_mass(self) -> Array:
        label = f"the added mass of '{self.link}'"
        added_mass = np.array(self.added_mass, dtype=np.float64)
        if added_mass.shape != (6, 6):
            raise ModelError(f"{label} must have shape (6, 6); given: shape {added_mass.shape}")
        parameter(added_mass.ravel(), 36, label)
        if not np.allclose(added_mass, added_mass.T, rtol=1e-9, atol=1e-12):
            text = f"{label} must be symmetric; it differs from its transpose by "
            text += f"{np.abs(added_mass - added_mass.T).max():.4g}: give the symmetric part"
            raise ModelError(text)
        smallest = np.linalg.eigvalsh(added_mass)[0]
        # Published coefficients are rounded, so that the eigenvalue may be below zero by this much.
        if smallest < -1e-9 * np.abs(added_mass).max():
            raise ModelError(
                f"{label} must be positive semi-definite; its smallest eigenvalue is {smallest:.4g}"
            )
        return frozen((added_mass + added_mass.T) / 2)


def check_density(density: float) -> None:
    """Check that the density is positive.

    Raises:
        ModelError: it is not; the message states the given value.
    """
    if not (np.isfinite(density) and density > 0):
        raise ModelError(f"the density of a fluid must be positive; given: {density} kg/m^3")


@dataclass(frozen=True)
class Fluid:
    """A fluid and the links that are in it.

    Attributes:
        bodies: the links.
        density: kg/m^3.

    Raises:
        ModelError: the density is not positive.
    """

    bodies: tuple[ImmersedBody, ...]
    density: float = WATER

    def __post_init__(self) -> None:
        """Check that the density is positive."""
        check_density(self.density)

    def check(self, tree: KinematicTree) -> None:
        """Check that a robot has all links of this fluid.

        Raises:
            ModelError: the robot lacks a link.
        """
        for body in self.bodies:
            tree.frame_id(body.link)

    @property
    def displaced_mass(self) -> float:
        """Mass of the fluid that the robot displaces, kg."""
        return self.density * sum(body.volume for body in self.bodies)

    def added_mass(self, kinematics: Kinematics) -> Array:
        """Return the contribution of the fluid to the mass matrix, (nv,nv): ``sum J^T M_A J``."""
        total_added_mass = np.zeros((kinematics.tree.nv, kinematics.tree.nv))
        for body in self.bodies:
            jacobian = kinematics.jacobian(body.link)
            total_added_mass += jacobian.T @ body.added_mass @ jacobian
        return total_added_mass

    def coriolis(self, kinematics: Kinematics) -> Array:
        """Return the contribution of the fluid to the Coriolis matrix, (nv,nv).

        Kirchhoff's equations of one body, ``pdot = ad_V^T p`` with ``p = M_A V``, are pulled back
        by its Jacobian: ``C = J^T (M_A Jdot - ad~_p J)`` with the coadjoint matrix ``ad~_p``,
        ``ad~_p V = ad_V^T p``. As it is skew, ``C + C^T`` is the rate of the added mass.
        """
        coriolis_matrix = np.zeros((kinematics.tree.nv, kinematics.tree.nv))
        for body in self.bodies:
            jacobian = kinematics.jacobian(body.link)
            jacobian_rate = kinematics.jacobian_rate(kinematics.tree.frame_id(body.link))
            coadjoint = (_COADJOINT @ (body.added_mass @ (jacobian @ kinematics.v))).T
            coriolis_matrix += jacobian.T @ (body.added_mass @ jacobian_rate - coadjoint @ jacobian)
        return coriolis_matrix

    def momentum(self, kinematics: Kinematics, centre: Array) -> Array:
        """Return the momentum of the added mass in inertial axes, linear first, (6,).

        Args:
            kinematics: the configuration and velocity.
            centre: (3,) reference point of the angular part, in inertial axes, m.
        """
        total_momentum = pin.Force.Zero()
        for body in self.bodies:
            pose = pin.SE3(kinematics.placement(body.link))
            pose.translation -= centre
            twist = kinematics.jacobian(body.link) @ kinematics.v
            total_momentum += pose.act(pin.Force(body.added_mass @ twist))
        return np.array(total_momentum.vector)

    def buoyancy(self, kinematics: Kinematics) -> Array:
        """Return the generalised force of buoyancy, (nv,), N and N m."""
        total_force = np.zeros(kinematics.tree.nv)
        for body in self.bodies:
            inertial_force = -self.density * body.volume * kinematics.tree.gravity
            force = kinematics.placement(body.link)[:3, :3].T @ inertial_force
            moment = skew(body.centre_of_buoyancy) @ force
            total_force += kinematics.jacobian(body.link).T @ np.concatenate([force, moment])
        return total_force

    def buoyancy_potential(self, kinematics: Kinematics) -> float:
        """Return the potential of buoyancy, J, with heights measured from the base position."""
        tree, potential = kinematics.tree, 0.0
        data = tree.data()
        pin.forwardKinematics(tree.pinocchio, data, kinematics.q_origin)
        for body in self.bodies:
            placement = pin.updateFramePlacement(tree.pinocchio, data, tree.frame_id(body.link))
            centre = placement.act(body.centre_of_buoyancy)
            potential += self.density * body.volume * float(tree.gravity @ centre)
        return potential

    def damping(self, kinematics: Kinematics, quadratic_share: float = 1.0) -> Array:
        """Return D with the drag ``-D v``, (nv,nv), symmetric and positive semidefinite.

        Args:
            kinematics: the configuration and velocity.
            quadratic_share: factor of quadratic drag; with 2 ``-D`` is the derivative by v.
        """
        damping_matrix = np.zeros((kinematics.tree.nv, kinematics.tree.nv))
        for body in self.bodies:
            jacobian = kinematics.jacobian(body.link)
            speeds = np.abs(jacobian @ kinematics.v)
            drag = body.linear_drag + quadratic_share * body.quadratic_drag * speeds
            damping_matrix += (jacobian.T * drag) @ jacobian
        return damping_matrix

    def drag(self, kinematics: Kinematics) -> Array:
        """Return the generalised force of drag, (nv,): ``-sum J^T (D_1 + D_2 |V|) V``, N, N m."""
        return -self.damping(kinematics) @ kinematics.v


CYLINDER_DRAG_COEFFICIENT = 1.2  # drag coefficient of a circular cylinder in cross flow

_GAUSS_NODES, _GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(16)


def immersed_cylinder(
    link: str, radius: float, start: Array, end: Array, density: float = WATER
) -> ImmersedBody:
    """Return a circular cylinder that is part of a link.

    Across its axis the added mass is that of its own volume of fluid and the drag per length is
    ``1/2 rho c_d 2r |u| u``; along the axis both are zero. The quadratic drag couples all
    components of the twist; only its diagonal about the link's origin is used: ``rho c_d r`` times
    the integral of ``|u|^3`` over the length, with u the velocity across the axis for a unit
    component.

    Args:
        link: its name.
        radius: m.
        start: (3,) middle of one end in the link's frame, m.
        end: (3,) middle of the other end, m.
        density: of the fluid, kg/m^3.

    Raises:
        ModelError: the radius, length or density is not positive.
    """
    check_density(density)
    label = f"cylinder of '{link}'"
    start, end = parameter(start, 3, f"{label}: start"), parameter(end, 3, f"{label}: end")
    length = float(np.linalg.norm(end - start))
    if not (radius > 0 and length > 0):
        message = f"the cylinder of '{link}' must have a positive radius and length; given: radius "
        message += f"{radius} m, length {length} m"
        raise ModelError(message)
    centre, axis = (start + end) / 2, (end - start) / length
    across_axis = np.eye(3) - np.outer(axis, axis)
    mass_per_length = density * np.pi * radius**2
    added_mass = np.zeros((6, 6))
    added_mass[:3, :3] = mass_per_length * length * across_axis
    added_mass[3:, 3:] = mass_per_length * length**3 / 12 * across_axis
    to_centre = np.eye(6)
    to_centre[:3] = _point_velocity_map(centre)
    drag_integrals = np.zeros(6)
    for node, weight in zip(_GAUSS_NODES, _GAUSS_WEIGHTS, strict=True):
        # Columns: the velocity across the axis for each unit component of the twist.
        u = across_axis @ _point_velocity_map(centre + 0.5 * length * node * axis)
        drag_integrals += 0.5 * length * weight * np.linalg.norm(u, axis=0) ** 3
    return ImmersedBody(
        link,
        to_centre.T @ added_mass @ to_centre,
        np.pi * radius**2 * length,
        centre,
        np.zeros(6),
        density * CYLINDER_DRAG_COEFFICIENT * radius * drag_integrals,
    )


def _point_velocity_map(point: Array) -> Array:
    """Return the map from the twist at the origin to the velocity of a point, (3,6)."""
    return np.hstack([np.eye(3), -skew(point)])

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The recursions over the joints of a tree: those of Pinocchio and those of the C++ core."""

from dataclasses import astuple
from functools import cached_property
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np
import pinocchio as pin

from ..arrays import Array


class TreeState(Protocol):
    """A state of a tree; see :class:`.Kinematics`."""

    tree: Any
    q: Array
    q_full: Array
    v_full: Array

    @property
    def q_origin(self) -> Array:
        """Pinocchio's configuration with the base moved to the origin."""


class CentroidalMomentum(NamedTuple):
    """The momentum of all bodies in inertial axes, linear first.

    Attributes:
        centre: (3,) of mass, in the inertial frame, m.
        momentum: (6,) the angular part about the centre of mass.
    """

    centre: Array
    momentum: Array


class TreeAlgorithms:
    """What the terms of the equations of motion are computed with: the recursions of Pinocchio.

    Sizes are those of all joints of the tree, with those that mimic others. Arrays belong to the
    caller; those of the C++ core are read-only.
    """

    def mass(self, d: TreeState) -> Array:
        """Return the mass matrix, (nv_full,nv_full)."""
        tree = d.tree
        return pin.crba(tree.pinocchio, tree.data(), d.q_origin)

    def coriolis(self, d: TreeState) -> Array:
        """Return the Coriolis matrix, (nv_full,nv_full)."""
        tree = d.tree
        return pin.computeCoriolisMatrix(tree.pinocchio, tree.data(), d.q_origin, d.v_full).copy()

    def gravity(self, d: TreeState) -> Array:
        """Return the generalised gravity, (nv_full,)."""
        tree = d.tree
        return pin.computeGeneralizedGravity(tree.pinocchio, tree.data(), d.q_origin).copy()

    def potential_energy(self, d: TreeState) -> float:
        """Return the potential of gravity with the base at the origin, J."""
        tree = d.tree
        return float(pin.computePotentialEnergy(tree.pinocchio, tree.data(), d.q_origin))

    def centroidal(self, d: TreeState) -> CentroidalMomentum:
        """Return the centre of mass and the momentum."""
        tree, data = d.tree, d.tree.data()
        momentum = pin.computeCentroidalMomentum(tree.pinocchio, data, d.q_origin, d.v_full)
        centre = np.array(data.com[0]) + tree.base_displacement(d.q)
        return CentroidalMomentum(centre, np.array(momentum.vector))

    def mass_rates(self, d: TreeState, velocities: Array) -> Array:
        """Return the rates of the mass matrix along velocities (k,nv_full), as (k,...)."""
        tree, data, rates = d.tree, d.tree.data(), []
        for v in velocities:
            C = pin.computeCoriolisMatrix(tree.pinocchio, data, d.q_origin, v)
            rates.append(C + C.T)
        return np.array(rates).reshape(-1, tree.pinocchio.nv, tree.pinocchio.nv)

    def placement(self, d: TreeState, frame_id: int) -> Array:
        """Return the pose of a frame in the inertial frame, (4,4)."""
        tree, data = d.tree, d.tree.data()
        pin.forwardKinematics(tree.pinocchio, data, d.q_full)
        return pin.updateFramePlacement(tree.pinocchio, data, frame_id).homogeneous

    def jacobian(self, d: TreeState, frame_id: int, in_world: bool) -> Array:
        """Return the Jacobian of a frame, in its axes or in inertial ones, (6,nv_full)."""
        tree, axes = d.tree, _AXES[in_world]
        return pin.computeFrameJacobian(tree.pinocchio, tree.data(), d.q_origin, frame_id, axes)

    def jacobian_rate(self, d: TreeState, frame_id: int, in_world: bool) -> Array:
        """Return the derivative of the Jacobian of a frame along the velocity, (6,nv_full)."""
        tree, data = d.tree, d.tree.data()
        pin.computeJointJacobiansTimeVariation(tree.pinocchio, data, d.q_origin, d.v_full)
        pin.updateFramePlacement(tree.pinocchio, data, frame_id)
        return pin.getFrameJacobianTimeVariation(tree.pinocchio, data, frame_id, _AXES[in_world])


_AXES = pin.LOCAL, pin.LOCAL_WORLD_ALIGNED


def native_robot(module: ModuleType, tree: Any, end_effector: str = "") -> Any:
    """Return the one ``vms_ph_native.Model`` of a tree, with the joints that mimic others.

    Raises:
        ValueError: the core does not cover the robot; the message says why.
    """
    if end_effector not in tree.cpp_robots:
        mimics = [(name, m.leader, m.multiplier, m.offset) for name, m in tree.mimics.items()]
        tree.cpp_robots[end_effector] = module.Model(tree.pinocchio, end_effector, mimics)
    return tree.cpp_robots[end_effector]


def immersed_robot(robot: Any, fluid: Any) -> Any:
    """Return a ``vms_ph_native.Model`` in a :class:`.Fluid`, or as it is for None."""
    if fluid is None:
        return robot
    bodies = [
        (link, added_mass.ravel(), *other_fields)
        for link, added_mass, *other_fields in map(astuple, fluid.bodies)
    ]
    return robot.in_fluid(bodies, fluid.density)


class NativeAlgorithms(TreeAlgorithms):
    """The algorithms in C++; the Jacobians of axes that they do not know are Pinocchio's.

    They take a configuration as it is: their precision does not depend on where the base is.
    """

    def __init__(self, module: ModuleType, robot: Any) -> None:
        """Begin with a ``vms_ph_native.Model``.

        Raises:
            ValueError: the core does not cover the robot; the message says why.
        """
        self.module, self.robot = module, robot
        # The last fluid; without one it would be this object, which then never went by itself.
        self._immersed: tuple[Any, NativeAlgorithms] | None = None
        # One for all threads: every call sets its own state, and none lets another thread run.
        self.dynamics = module.Dynamics(self.robot)

    def in_fluid(self, fluid: Any) -> "NativeAlgorithms":
        """Return the algorithms of the robot in a :class:`.Fluid`, whose terms they include."""
        if fluid is None:
            return self
        if self._immersed is None or self._immersed[0] is not fluid:
            robot = immersed_robot(self.robot, fluid)
            self._immersed = fluid, NativeAlgorithms(self.module, robot)
        return self._immersed[1]

    @cached_property
    def sampled_algebra(self) -> Any:
        """The workspace for the algebra of laws in Python; None for more velocities than it has."""
        is_covered = self.robot.nv <= self.module.SampledAlgebra.max_nv
        return self.module.SampledAlgebra(self.robot) if is_covered else None

    def batch(self, threads: int) -> Any:
        """Return a new ``vms_ph_native.Batch``, in which no other thread interferes."""
        return self.module.Batch(self.robot, threads)

    def state(self, q: Any, v: Any) -> tuple[Array, Array] | None:
        """Return read-only copies of a state, or None where it is to be checked in Python."""
        try:
            return self.dynamics.state(q, v)
        except TypeError:  # no arrays of numbers
            return None

    def mass(self, d: TreeState) -> Array:
        """Return the mass matrix; see :class:`TreeAlgorithms`."""
        return self.dynamics.mass(d.q_full)

    def coriolis(self, d: TreeState) -> Array:
        """Return the Coriolis matrix; see :class:`TreeAlgorithms`."""
        return self.dynamics.coriolis(d.q_full, d.v_full)

    def gravity(self, d: TreeState) -> Array:
        """Return the generalised gravity; see :class:`TreeAlgorithms`."""
        return self.dynamics.gravity(d.q_full)

    def potential_energy(self, d: TreeState) -> float:
        """Return the potential of gravity; see :class:`TreeAlgorithms`."""
        return self.dynamics.potential_energy(d.q_origin)

    def centroidal(self, d: TreeState) -> CentroidalMomentum:
        """Return centre of mass and momentum; see :class:`TreeAlgorithms`."""
        centre, momentum, _ = self.dynamics.momenta(d.q_full, d.v_full)
        return CentroidalMomentum(centre, momentum)

    def mass_rates(self, d: TreeState, velocities: Array) -> Array:
        """Return rates of the mass matrix; see :class:`TreeAlgorithms`."""
        return self.dynamics.mass_rates(d.q_full, velocities)

    def placement(self, d: TreeState, frame_id: int) -> Array:
        """Return the pose of a frame; see :class:`TreeAlgorithms`."""
        return self.dynamics.placement(d.q_full, frame_id)

    def jacobian(self, d: TreeState, frame_id: int, in_world: bool) -> Array:
        """Return the Jacobian of a frame; see :class:`TreeAlgorithms`."""
        return self.dynamics.jacobian(d.q_full, frame_id, in_world)

    def jacobian_rate(self, d: TreeState, frame_id: int, in_world: bool) -> Array:
        """Return the derivative of a Jacobian; see :class:`TreeAlgorithms`."""
        return self.dynamics.jacobian_rate(d.q_full, d.v_full, frame_id, in_world)

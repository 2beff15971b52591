# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of energies and rates by states, efforts and inertial parameters, in closed form.

The derivation is in docs/derivations.md. All vectors are in the axes of the base, about its origin.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from ..arrays import Array, ArrayRecord, frozen
from ..errors import ModelError, StateError
from ..evaluation import Evaluation
from ..evaluation_batch import checked_rows, threads_of
from ..groups import adjoints, base_group
from ..model import VMSModel
from ..robot.kinematic_tree import PARAMETERS
from .decoupled import DecoupledForm
from .form import Form
from .ports import Ports
from .rates import core_arguments, frame_wrenches, ports_of_state
from .standard import StandardForm, coadjoint_matrix
from .state import PHState
from .task_space import TaskSpaceForm


@dataclass(frozen=True, repr=False)
class EnergyDerivatives(ArrayRecord):
    """Derivatives of the Hamiltonian of a form, J per unit.

    Directions of q are velocities, the base part in the base frame; momenta are those of the form.

    Attributes:
        by_q: at fixed momenta, (nv,).
        by_z: at fixed configuration, the velocity in standard form, (nv,).
        by_parameters: at a fixed state, (10 bodies,), see :class:`RateDerivatives`.
    """

    by_q: Array
    by_z: Array
    by_parameters: Array


@dataclass(frozen=True, repr=False)
class RateDerivatives(ArrayRecord):
    """Derivatives of the velocity and of the momentum rate of a form.

    Directions of q are velocities, the base part in the base frame: a column belongs to
    ``model.integrate(q, e_j)``. The inertial parameters are ten of each body in the order of
    Pinocchio's joints: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the origin of the joint. Of N
    states all arrays have a first axis of N.

    Attributes:
        velocity_by_q, velocity_by_z: (nv,nv).
        velocity_by_parameters: (nv,10 bodies), or (nv,0) where they were not asked for.
        zdot_by_q, zdot_by_z: (nv,nv).
        zdot_by_force: by generalised forces (wrench_base, torque), (nv,nv).
        zdot_by_parameters: (nv,10 bodies) or (nv,0).
    """

    velocity_by_q: Array
    velocity_by_z: Array
    velocity_by_parameters: Array
    zdot_by_q: Array
    zdot_by_z: Array
    zdot_by_force: Array
    zdot_by_parameters: Array


def energy_derivatives(form: Form, x: PHState, gravity: bool = True) -> EnergyDerivatives:
    """Return the derivatives of the Hamiltonian at a state.

    Args:
        form: StandardForm, CanonicalForm, DecoupledForm or TaskSpaceForm.
        x: the state.
        gravity: whether the potential is part of the energy.

    Raises:
        StateError: the state has the wrong shape or is not finite.
        ModelError: the form has no closed derivatives; a task depends on inertia.

    Examples:
        >>> from vms_ph_dynamics import StandardForm
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> form = StandardForm(panda)
        >>> energy_derivatives(form, form.state(panda.home, np.zeros(panda.nv))).by_q.shape
        (7,)
    """
    core, core_form = _core(form)
    if core is not None:
        arrays = core.dynamics.energy_derivatives(core_form, x.q, x.z, gravity)
        if arrays is not None:
            return EnergyDerivatives(*arrays)
    return _sensitivity(form, form.checked_state(x), Ports(gravity=gravity)).energy()


def rate_derivatives(
    form: Form, x: PHState, ports: Ports, parameters: bool = True
) -> RateDerivatives:
    """Return the derivatives of the rate of a form at a state under held efforts.

    Wrenches at the end effector and at tools are constant in the axes of their frames.

    Args:
        form: StandardForm, CanonicalForm, DecoupledForm or TaskSpaceForm.
        x: the state.
        ports: the efforts.
        parameters: whether to compute the derivatives by inertial parameters too.

    Raises:
        StateError: a state or effort has the wrong shape or is not finite.
        ModelError: the form has no closed derivatives.

    Examples:
        >>> from vms_ph_dynamics import Ports, StandardForm
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> form = StandardForm(panda)
        >>> x = form.state(panda.home, np.zeros(panda.nv))
        >>> rate_derivatives(form, x, Ports()).zdot_by_q.shape
        (7, 7)
    """
    (core, core_form), arguments = _core(form), core_arguments(form.model, ports)
    if core is not None and arguments is not None:
        arrays = core.dynamics.rate_derivatives(core_form, parameters, x.q, x.z, *arguments)
        if arrays is not None:
            return RateDerivatives(*arrays)
    ports = Ports.checked(form.model, ports)
    return _sensitivity(form, form.checked_state(x), ports, parameters).rate()


def rate_derivatives_batch(
    form: Form,
    Q: npt.ArrayLike,
    Z: npt.ArrayLike,
    ports: Ports | None = None,
    parameters: bool = False,
    threads: int | None = None,
) -> RateDerivatives:
    """Return the derivatives of the rates of N states, in contiguous arrays.

    With the C++ core they are computed on several threads, else state after state.

    Args:
        form: as for :func:`rate_derivatives`.
        Q: (N,nq) configurations.
        Z: (N,nv) momenta.
        ports: efforts, as for :meth:`.Form.rate_batch`.
        parameters: whether to compute the derivatives by inertial parameters too.
        threads: number of threads; that of the processors when None.

    Raises:
        StateError: an array has a wrong shape, or a row is not a state.
        ModelError, OptionError: as above; the number of threads is not positive.
    """
    (core, core_form), model, threads = _core(form), form.model, threads_of(threads)
    q, z = checked_rows(model, Q, Z, "Z", copy=False)
    efforts = Ports.checked(model, Ports() if ports is None else ports, len(q))
    arguments = core_arguments(model, efforts)
    if core is not None and arguments is not None:
        batch = core.batch(threads).rate_derivatives(core_form, parameters, q, z, *arguments)
        if batch is not None:
            return RateDerivatives(*batch)
    state_derivatives = [
        _sensitivity(form, PHState(q[i], z[i]), ports_of_state(efforts, i), parameters).rate()
        for i in range(len(q))
    ]
    width = PARAMETERS * (model.pinocchio.njoints - 1) if parameters else 0
    arrays = {}
    for field in fields(RateDerivatives):
        shape = len(q), model.nv, width if "parameters" in field.name else model.nv
        rows = [getattr(state, field.name) for state in state_derivatives]
        arrays[field.name] = frozen(np.array(rows).reshape(shape))
    return RateDerivatives(**arrays)


def _core(form: Form) -> tuple[Any, Any]:
    """The C++ core with the form as it takes it; None for the core where Python computes.

    Raises:
        ModelError: there are none.
    """
    if not isinstance(form, (StandardForm, DecoupledForm, TaskSpaceForm)):
        raise ModelError(
            "closed derivatives are those of StandardForm, DecoupledForm and TaskSpaceForm; given: "
            f"a {type(form).__name__}; use form.casadi().rate_derivatives"
        )
    if not isinstance(form, TaskSpaceForm):
        return form.model.cpp_core, form._decoupled
    task = form.task.frame_rows, form._reference, form.singular_below
    return (None if task[0] is None else form.model.cpp_core), task


def _sensitivity(
    form: Form, x: PHState, ports: Ports, parameters: bool = True
) -> "_Sensitivity | _TransformedSensitivity":
    if isinstance(form, TaskSpaceForm):
        return _TaskSensitivity(form, x, ports, parameters)
    is_decoupled = isinstance(form, DecoupledForm) and form.model.b > 0
    return (_DecoupledSensitivity if is_decoupled else _Sensitivity)(form, x, ports, parameters)


class _Motion(NamedTuple):
    """A motion of all bodies; derivatives by joint j are zero for the base.

    Attributes:
        twists: (bodies,6). momenta: (nv,6) of all that each velocity moves.
        ad_screw: (nv,6), ``ad(V_j) S_j``.
        slope: (nv,6), derivative of the momentum of what j moves.
    """

    twists: Array
    momenta: Array
    ad_screw: Array
    slope: Array


class _Bodies:
    """Screws and inertias of all bodies at one configuration, with the base at the origin.

    Sizes are those of Pinocchio's model: nv velocities and bodies, with joints that mimic others.

    Attributes:
        screws: S (nv,6), the twist of each unit velocity; ad: (nv,6,6), their adjoints.
        is_moved: (nv,bodies) whether a velocity moves a body.
        descendants: (nv,nv) whether velocity j moves the body of velocity k, or is of it.
        composite: (nv,6,6) inertias of all that a velocity moves.
        net_mass: (bodies,4) mass, and that times its centre, less those of the displaced fluid.
    """

    def __init__(self, d: Evaluation) -> None:
        model, data = d.tree.pinocchio, d.tree.data()
        pin.computeJointJacobians(model, data, d.q_origin)
        self.b, bodies = d.model.b, range(1, model.njoints)
        self.screws = np.array(data.J).reshape(6, model.nv).T.copy()
        self.ad = adjoints(self.screws)
        self.placements = [data.oMi[i].copy() for i in bodies]
        self.inertias = np.stack([data.oMi[i].act(model.inertias[i]).matrix() for i in bodies])
        self.net_mass = np.array([[y[0, 0], y[1, 5], y[2, 3], y[0, 4]] for y in self.inertias])
        for body, pose, link, displaced_mass in _immersed_links(d.model, self.placements):
            to_link, centre = pose.actionInverse, pose.act(link.centre_of_buoyancy)
            self.inertias[body] += to_link.T @ link.added_mass @ to_link
            self.net_mass[body] -= displaced_mass * np.array([1.0, *centre])
        self.to_body_axes = np.stack([placement.actionInverse for placement in self.placements])
        self.body_index = np.concatenate([[i - 1] * model.joints[i].nv for i in bodies]).astype(int)
        carries = np.zeros((len(bodies), len(bodies)), dtype=bool)
        for i in bodies:
            carries[[ancestor - 1 for ancestor in model.supports[i] if ancestor], i - 1] = True
        self.is_moved = carries[self.body_index]
        self.descendants = self.is_moved[:, self.body_index]
        self.composite = self.subtree_sums(self.inertias)

    def subtree_sums(self, body_values: Array) -> Array:
        """Return the sums over the bodies that each velocity moves, (nv,...)."""
        return np.tensordot(self.is_moved, body_values, axes=1)

    def twists(self, v: Array) -> Array:
        """Return the twists of all bodies under a velocity (nv,), (bodies,6)."""
        return (self.is_moved * v[:, None]).T @ self.screws

    def motion(self, v: Array) -> _Motion:
        """Return the motion of a velocity (nv,)."""
        twists = self.twists(v)
        momenta = self.subtree_sums(_times(self.inertias, twists))
        ad_screw = _times(adjoints(twists)[self.body_index], self.screws)
        ad_screw[: self.b] = 0.0
        slope = _times(self.composite, ad_screw) - _times(self.ad.transpose(0, 2, 1), momenta)
        return _Motion(twists, momenta, ad_screw, slope)

    def products(self, descendants: tuple[Array, Array], ancestors: tuple[Array, Array]) -> Array:
        """Return products of rows, (nv,nv): the first pair where j moves k, the other where k j."""
        product, other_product = (rows @ columns.T for rows, columns in (descendants, ancestors))
        return np.where(self.descendants.T, product, np.where(self.descendants, other_product, 0.0))

    def regressor(self, twists: Array) -> Array:
        """Return the momentum of each body by its ten parameters, (bodies,6,10).

        Args:
            twists: (bodies,6); an acceleration gives its inertial wrench.
        """
        local_twists = _times(self.to_body_axes, twists)
        at_rest = pin.Motion.Zero()
        # From rest, the wrench of an acceleration is the momentum of the same twist.
        body_values = [pin.bodyRegressor(at_rest, pin.Motion(twist)) for twist in local_twists]
        return self.to_body_axes.transpose(0, 2, 1) @ np.array(body_values)

    def by_parameters(self, left: Array, regressor: Array) -> Array:
        """Return ``left_k^T sum(momenta that k moves)`` by all parameters, (nv,10 bodies)."""
        products = np.einsum("ka,iap->kip", left, regressor) * self.is_moved[:, :, None]
        return products.reshape(len(left), -1)


def _immersed_links(model: Any, placements: list[Any]) -> Iterator[tuple[int, Any, Any, float]]:
    """Yield body, pose, coefficients and displaced mass, kg, of each link that moves in a fluid."""
    for link in () if model.fluid is None else model.fluid.bodies:
        frame = model.tree.pinocchio.frames[model.frame_id(link.link)]
        if (body := frame.parentJoint - 1) >= 0:
            yield body, placements[body] * frame.placement, link, model.fluid.density * link.volume


def _times(matrices: Array, vectors: Array) -> Array:
    return np.einsum("iab,ib->ia", matrices, vectors)


class _MassSensitivity:
    """Derivatives of momenta; the columns are those of q (nv), z (nv) and parameters (10 bodies).

    Args:
        model: the robot.
        d: the terms at the state.
        ports: the efforts.
        parameters: whether there are columns of the parameters.
    """

    def __init__(self, model: VMSModel, d: Evaluation, ports: Ports, parameters: bool) -> None:
        self.model, self.d, self.ports, self.bodies = model, d, ports, _Bodies(d)
        self.b, self.nv = model.b, model.nv
        self.column_count = 2 * self.nv
        if parameters:
            self.column_count += PARAMETERS * len(self.bodies.inertias)

    def motion_of(self, v: Array) -> _Motion:
        """Return the motion of a velocity (nv,)."""
        return self.bodies.motion(self.model.tree.full_velocity(v))

    def momentum_columns(self, motion: _Motion) -> Array:
        """Return the derivatives of ``M w`` at fixed w, the velocity of a motion."""
        bodies = self.bodies
        reactions = _times(bodies.composite, bodies.screws)
        by_q = bodies.products((reactions, motion.ad_screw), (bodies.screws, motion.slope))
        return self._derivative_columns(by_q, [(bodies.screws, bodies.regressor(motion.twists))])

    def momentum_columns_rate(self, motion: _Motion, w: Array, w_rate: Array) -> Array:
        """Return the rate of :meth:`momentum_columns` along the motion of the robot."""
        b, d, bodies, full_velocity = self.b, self.d, self.bodies, self.model.tree.full_velocity
        joint_mask = np.repeat([0.0, 1.0], [b, self.model.n])
        joint_ad = adjoints(bodies.twists(full_velocity(d.v * joint_mask)))
        rates = _times(joint_ad[bodies.body_index], bodies.screws)
        accelerations = bodies.twists(full_velocity(w_rate))
        accelerations += (bodies.is_moved * full_velocity(w)[:, None]).T @ rates
        inertia_drift = joint_ad.transpose(0, 2, 1) @ bodies.inertias
        inertia_rate = -(inertia_drift + inertia_drift.transpose(0, 2, 1))
        composite, composite_rate = bodies.composite, bodies.subtree_sums(inertia_rate)
        ad_screw_rate = _times(adjoints(accelerations)[bodies.body_index], bodies.screws)
        ad_screw_rate += _times(adjoints(motion.twists)[bodies.body_index], rates)
        ad_screw_rate[:b] = 0.0
        body_rates = _times(inertia_rate, motion.twists) + _times(bodies.inertias, accelerations)
        slope_rate = _times(composite_rate, motion.ad_screw) + _times(composite, ad_screw_rate)
        slope_rate -= _times(adjoints(rates).transpose(0, 2, 1), motion.momenta)
        slope_rate -= _times(bodies.ad.transpose(0, 2, 1), bodies.subtree_sums(body_rates))
        reactions = _times(composite, bodies.screws)
        momentum_rates = _times(composite_rate, bodies.screws) + _times(composite, rates)
        by_q = bodies.products((momentum_rates, motion.ad_screw), (rates, motion.slope))
        by_q += bodies.products((reactions, ad_screw_rate), (bodies.screws, slope_rate))
        momenta = bodies.regressor(motion.twists)
        rate = bodies.regressor(accelerations - _times(joint_ad, motion.twists))
        rate -= joint_ad.transpose(0, 2, 1) @ momenta
        return self._derivative_columns(by_q, [(rates, momenta), (bodies.screws, rate)])

    def _derivative_columns(self, by_q: Array, regressors: list[tuple[Array, Array]]) -> Array:
        """Columns of derivatives by q and by the parameters, zero by momenta."""
        tree, columns = self.model.tree, np.zeros((self.nv, self.column_count))
        columns[:, : self.nv] = tree.project(by_q)
        if self.column_count > 2 * self.nv:
            rows = sum(self.bodies.by_parameters(*pair) for pair in regressors)
            p = tree.projection
            columns[:, 2 * self.nv :] = rows if p is None else p.T @ rows
        return columns

    def _rates(self, velocity: Array, zdot: Array, by_force: Array) -> RateDerivatives:
        by_q, by_z, by_parameters = self._split(zdot)
        by_force = frozen(by_force.copy())
        return RateDerivatives(*self._split(velocity), by_q, by_z, by_force, by_parameters)

    def _split(self, columns: Array) -> tuple[Array, Array, Array]:
        """Columns by q, z and the parameters, read-only."""
        by_q, by_z, rest = np.split(columns, [self.nv, 2 * self.nv], axis=-1)
        return frozen(by_q.copy()), frozen(by_z.copy()), frozen(rest.copy())


class _Sensitivity(_MassSensitivity):
    """Total derivatives of the standard form."""

    def __init__(self, form: Form, x: PHState, ports: Ports, parameters: bool = True) -> None:
        d = Evaluation(form.model, x.q, form.velocity_arrays(x.q, x.z))
        super().__init__(form.model, d, ports, parameters)
        self.motion = self.motion_of(d.v)
        # Of the momentum M v at a fixed velocity.
        self.momentum_derivatives = self.momentum_columns(self.motion)

    def energy(self) -> EnergyDerivatives:
        nv, d = self.nv, self.d
        gradient = -0.5 * d.v @ self.momentum_derivatives
        gradient[nv : 2 * nv] = d.v
        if self.ports.gravity:
            gradient[:nv] += d.g
            base_position = self.model.tree.base_displacement(d.q)
            for k, placement in enumerate(self.bodies.placements):
                index = 2 * nv + PARAMETERS * k
                gradient[index] -= self.model.tree.gravity @ (placement.translation + base_position)
                gradient[index + 1 : index + 4] -= self.model.tree.gravity @ placement.rotation
        return EnergyDerivatives(*self._split(gradient))

    def rate(self) -> RateDerivatives:
        b, nv, d = self.b, self.nv, self.d
        momentum = np.eye(nv, self.column_count, nv) - self.momentum_derivatives
        velocity = np.linalg.solve(d.M, momentum)
        # The slope of the kinetic energy changes with the velocity as M v does with the joints.
        by_v = self.momentum_derivatives[:, :nv].T.copy()
        by_v[:b] = 0.0
        by_v[:b, :b] = coadjoint_matrix(self.model, d.p)
        if self.ports.friction is not None:
            by_v[b:, b:] -= np.diag(self.ports.friction.slope(d.v[b:]))
        if self.ports.drag and self.model.fluid is not None:
            by_v -= self.model.fluid.damping(d, 2.0)
        return self._rates(velocity, self._force_derivatives() + by_v @ velocity, np.eye(nv))

    def _force_derivatives(self) -> Array:
        """The derivatives of ``C^T v`` and of all forces at fixed v."""
        b, nv, bodies, motion = self.b, self.nv, self.bodies, self.motion
        by_q = bodies.products((motion.slope, motion.ad_screw), (motion.ad_screw, motion.slope))
        regressors = [(motion.ad_screw, bodies.regressor(motion.twists))]
        if self.ports.gravity:
            gravity_field = np.concatenate([self.model.tree.gravity, np.zeros(3)])
            weight = bodies.regressor(np.tile(gravity_field, (len(bodies.inertias), 1)))
            regressors.append((bodies.screws, weight))
        columns = self._derivative_columns(by_q + self._force_by_q(), regressors)
        if b:
            columns[:b, nv : nv + b] = base_group(self.model.base).ad(self.d.v[:b]).T
        return columns

    def _wrenches(self) -> Iterator[tuple[int, Any, Array, Array]]:
        """A body, a pose on it, a wrench (6,) in its axes and minus its slope (6,) by the twist."""
        tree, placements = self.model.tree.pinocchio, self.bodies.placements
        for frame_id, wrench in frame_wrenches(self.model, self.ports):
            frame = tree.frames[frame_id]
            body = frame.parentJoint - 1
            yield body, placements[body] * frame.placement, wrench, np.zeros(6)
        links = _immersed_links(self.model, placements) if self.ports.drag else ()
        for body, pose, link, _ in links:
            twist = pose.actionInverse @ self.motion.twists[body]
            quadratic_drag = link.quadratic_drag * np.abs(twist)
            drag = link.linear_drag + quadratic_drag
            yield body, pose, -drag * twist, drag + quadratic_drag

    def _force_by_q(self) -> Array:
        """The derivatives of gravity, wrenches and drag, (nv,nv)."""
        tree, bodies = self.model.tree, self.bodies
        total = np.zeros((tree.pinocchio.nv, tree.pinocchio.nv))
        if self.ports.gravity:
            mass, angular = bodies.subtree_sums(bodies.net_mass), bodies.screws[:, 3:]
            weight = mass[:, :1] * bodies.screws[:, :3] + np.cross(angular, mass[:, 1:])
            turn = np.cross(tree.gravity, angular)
            total += bodies.products((weight, turn), (turn, weight))
        for body, pose, wrench, slope in self._wrenches():
            mask, to_frame = bodies.is_moved[:, body, None], pose.actionInverse.T
            damped_rows = (bodies.screws * mask) @ to_frame * slope
            total -= damped_rows @ ((self.motion.ad_screw * mask) @ to_frame).T
            wrench_rate = -np.einsum("jba,b->ja", bodies.ad, pose.dualAction @ wrench)
            wrench_rate *= mask
            total += bodies.products((0.0 * wrench_rate, wrench_rate), (bodies.screws, wrench_rate))
        return total


class _TransformedSensitivity(_MassSensitivity, ABC):
    """Total derivatives in momenta ``z = T^T P``, from those of the standard form with P.

    Attributes:
        map: T^T, (nv,nv).
        drift: the derivatives of z at fixed P, (nv,columns).
        momentum: the derivatives of P, at fixed z and by z, (nv,columns).
    """

    map: Array

    def _begin(self, drift: Array, inverse: Array) -> None:
        self.standard, self.state = StandardForm(self.model), PHState(self.d.q, self.d.momentum)
        self.drift, self.momentum = drift, -inverse @ drift
        self.momentum[:, self.nv : 2 * self.nv] += inverse

    @abstractmethod
    def _force_columns(self, force: Array) -> Array:
        """The derivatives of ``Tdot^T P + T^T f`` at a fixed velocity and a fixed f (nv,)."""

    def energy(self) -> EnergyDerivatives:
        dH = energy_derivatives(self.standard, self.state, self.ports.gravity)
        return EnergyDerivatives(*self._split(self._total(dH.by_q, dH.by_z, dH.by_parameters)))

    def rate(self) -> RateDerivatives:
        nv, ports = self.nv, self.ports
        dz = rate_derivatives(self.standard, self.state, ports, self.column_count > 2 * nv)
        velocity = self._total(dz.velocity_by_q, dz.velocity_by_z, dz.velocity_by_parameters)
        force = self._total(dz.zdot_by_q, dz.zdot_by_z, dz.zdot_by_parameters)
        zdot = self._force_columns(self.standard.rate(self.state, ports).zdot) + self.map @ force
        return self._rates(velocity, zdot + self.drift[:, :nv] @ velocity, self.map)

    def _total(self, by_q: Array, by_momenta: Array, by_parameters: Array) -> Array:
        """Derivatives at fixed z, from those at fixed P."""
        columns = by_momenta @ self.momentum
        columns[..., : self.nv] += by_q
        columns[..., 2 * self.nv :] += by_parameters
        return columns


class _DecoupledSensitivity(_TransformedSensitivity):
    """Total derivatives of the decoupled form: ``pi_hat = pi - M_bm^T v_hat``."""

    def __init__(self, form: Form, x: PHState, ports: Ports, parameters: bool = True) -> None:
        d = Evaluation(form.model, x.q, form.velocity_arrays(x.q, x.z))
        super().__init__(form.model, d, ports, parameters)
        b = self.b
        self.locked_velocity = np.concatenate([d.v_hat, np.zeros(self.model.n)])
        self.locked_motion = self.motion_of(self.locked_velocity)
        self.locked_derivatives = self.momentum_columns(self.locked_motion)
        self.map, drift = np.eye(self.nv), np.zeros((self.nv, self.column_count))
        self.map[b:, :b], drift[b:] = -d.A.T, -self._shape_rows(self.locked_derivatives)
        self._begin(drift, 2.0 * np.eye(self.nv) - self.map)

    def _force_columns(self, force: Array) -> Array:
        b, d, v_hat_rate = self.b, self.d, np.zeros(self.nv)
        v_hat_rate[:b] = d.M_b_inverse @ (force[:b] - (d.C + d.C.T)[:b, :b] @ d.v_hat)
        rate = self.momentum_columns_rate(self.locked_motion, self.locked_velocity, v_hat_rate)
        columns = np.zeros((self.nv, self.column_count))
        columns[b:] = d.A_rate.T @ self.locked_derivatives[:b] - self._shape_rows(rate)
        columns[b:, self.nv : self.nv + b] -= d.A_rate.T
        return columns

    def _shape_rows(self, rows: Array) -> Array:
        """From derivatives of ``M (w, 0)`` at fixed w, those of ``M_bm^T M_b^-1 p`` at fixed p."""
        return rows[self.b :] - self.d.A.T @ rows[: self.b]


class _TaskSensitivity(_TransformedSensitivity):
    """Total derivatives of the task-space form: ``T = J_bar^-1``."""

    def __init__(
        self, form: TaskSpaceForm, x: PHState, ports: Ports, parameters: bool = True
    ) -> None:
        if form.task.depends_on_inertia:
            raise ModelError(f"{form.task!r} depends on inertial parameters; use form.casadi()")
        t = self.t = form.evaluate_state(x.q, x.z)
        super().__init__(form.model, t.d, ports, parameters)
        self.null_motion, self.map = self.motion_of(t.coupling.n), t.J_bar_inverse.T
        self.by_n = self.momentum_columns(self.null_motion)
        padding = 0, self.column_count - self.nv
        self.gradient = np.pad(t.coupling.gradient, (padding, (0, 0), (0, 0)))
        self._begin(t.coupling.split_rates(self.gradient, self.by_n.T).T, t.J_bar.T)

    def _force_columns(self, force: Array) -> Array:
        t, m, n, nv = self.t, len(self.t.J), self.t.coupling.n, self.nv
        if not t.is_regular:
            raise StateError(
                "near a singularity of the task its rates have no closed derivatives; the smallest "
                f"singular value is {t.regular.smallest_singular_value:.2g}, below the threshold"
            )
        null_space, jacobian_rate = t.coupling.null_space, t.coupling.jacobian_rate
        rate_gradient = np.moveaxis(t.task.jacobian_rate_gradient(t.d), 2, 0)
        # Lambda_t and J_sharp change as the parts of other momenta say.
        bias, mass_rate = jacobian_rate @ n, t.d.C + t.d.C.T
        remainder = force - jacobian_rate.T @ t.pi - mass_rate @ n
        pi_rate = t.J_sharp.T @ remainder
        n_rate = np.linalg.solve(t.d.M, remainder - t.J.T @ pi_rate) - t.J_sharp @ bias
        pi_rate += t.Lambda_t @ bias
        by_n_rate = self.momentum_columns_rate(self.null_motion, n, n_rate)
        zdot = t.coupling.split_rates(self.gradient, by_n_rate.T, (pi_rate, n_rate, force)).T
        zdot[:m, :nv] += t.Lambda_t @ (rate_gradient @ n).T - t.J_sharp.T @ (t.pi @ rate_gradient).T
        # The momenta of the task, and the velocity in the null space.
        z_t = np.eye(m, self.column_count, nv)
        null_momentum = self.momentum - self.by_n - t.J.T @ z_t - (t.pi @ self.gradient).T
        n_columns = np.linalg.solve(t.d.M, null_momentum)
        zdot[:m] += t.Lambda_t @ jacobian_rate @ n_columns
        zdot[:m] -= t.J_sharp.T @ (mass_rate @ n_columns + jacobian_rate.T @ z_t)
        basis_gradient = null_space.rate_gradient(self.gradient[:nv], jacobian_rate, rate_gradient)
        zdot[m:, :nv] += (basis_gradient @ t.d.momentum).T
        zdot[m:] += null_space.rate(jacobian_rate) @ self.momentum
        return zdot

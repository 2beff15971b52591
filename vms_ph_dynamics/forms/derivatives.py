# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of energies and rates by states, efforts and inertial parameters, in closed form.

The derivation is in docs/derivations.md. All vectors are in the axes of the base, about its origin.
"""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pinocchio as pin

from ..arrays import Array, ArrayRecord, frozen
from ..errors import ModelError
from ..evaluation import Evaluation
from ..evaluation_batch import checked_rows, threads_of
from ..groups import base_group
from ..robot.kinematic_tree import PARAMETERS
from .decoupled import DecoupledForm
from .form import Form
from .ports import Ports
from .rates import core_arguments, frame_wrenches, ports_of_state
from .standard import StandardForm, coadjoint_matrix
from .state import PHState


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
        form: StandardForm, CanonicalForm or DecoupledForm.
        x: the state.
        gravity: whether the potential is part of the energy.

    Raises:
        StateError: the state has the wrong shape or is not finite.
        ModelError: the robot is in a fluid, or the form has no closed derivatives.

    Examples:
        >>> from vms_ph_dynamics import StandardForm
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> form = StandardForm(panda)
        >>> energy_derivatives(form, form.state(panda.home, np.zeros(panda.nv))).by_q.shape
        (7,)
    """
    _check_coverage(form)
    core = form.model.plain_core
    if core is not None:
        arrays = core.dynamics.energy_derivatives(form._decoupled, x.q, x.z, gravity)
        if arrays is not None:
            return EnergyDerivatives(*arrays)
    return _Sensitivity(form, form.checked_state(x), Ports(gravity=gravity)).energy()


def rate_derivatives(
    form: Form, x: PHState, ports: Ports, parameters: bool = True
) -> RateDerivatives:
    """Return the derivatives of the rate of a form at a state under held efforts.

    Wrenches at the end effector and at tools are constant in the axes of their frames.

    Args:
        form: StandardForm, CanonicalForm or DecoupledForm.
        x: the state.
        ports: the efforts.
        parameters: whether to compute the derivatives by inertial parameters too.

    Raises:
        StateError: a state or effort has the wrong shape or is not finite.
        ModelError: the robot is in a fluid, or the form has no closed derivatives.

    Examples:
        >>> from vms_ph_dynamics import Ports, StandardForm
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> form = StandardForm(panda)
        >>> x = form.state(panda.home, np.zeros(panda.nv))
        >>> rate_derivatives(form, x, Ports()).zdot_by_q.shape
        (7, 7)
    """
    _check_coverage(form)
    core = form.model.plain_core
    arguments = core_arguments(form.model, ports)
    if core is not None and arguments is not None:
        arrays = core.dynamics.rate_derivatives(form._decoupled, parameters, x.q, x.z, *arguments)
        if arrays is not None:
            return RateDerivatives(*arrays)
    ports = Ports.checked(form.model, ports)
    return _Sensitivity(form, form.checked_state(x), ports, parameters).rate()


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
    _check_coverage(form)
    model, threads = form.model, threads_of(threads)
    q, z = checked_rows(model, Q, Z, "Z", copy=False)
    efforts = Ports.checked(model, Ports() if ports is None else ports, len(q))
    core, arguments = model.plain_core, core_arguments(model, efforts)
    if core is not None and arguments is not None:
        batch = core.batch(threads)
        core_arrays = batch.rate_derivatives(form._decoupled, parameters, q, z, *arguments)
        return RateDerivatives(*core_arrays)
    state_derivatives = [
        _Sensitivity(form, PHState(q[i], z[i]), ports_of_state(efforts, i), parameters).rate()
        for i in range(len(q))
    ]
    width = PARAMETERS * (model.pinocchio.njoints - 1) if parameters else 0
    arrays = {}
    for field in fields(RateDerivatives):
        shape = len(q), model.nv, width if "parameters" in field.name else model.nv
        rows = [getattr(state, field.name) for state in state_derivatives]
        arrays[field.name] = frozen(np.array(rows).reshape(shape))
    return RateDerivatives(**arrays)


def _check_coverage(form: Form) -> None:
    if not isinstance(form, StandardForm | DecoupledForm):
        raise ModelError(
            f"a {type(form).__name__} has no closed derivatives; take StandardForm or "
            "DecoupledForm, or form.casadi().rate_derivatives"
        )
    if form.model.fluid is not None:
        raise ModelError(
            "the derivatives do not cover robots in a fluid; use form.casadi().rate_derivatives"
        )


def adjoints(twists: Array) -> Array:
    """Return ``ad`` of twists (k,6), as (k,6,6)."""
    v, w = np.cross(twists[:, None, :3], -np.eye(3)), np.cross(twists[:, None, 3:], -np.eye(3))
    return np.block([[w, v], [np.zeros_like(v), w]])


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
    """

    def __init__(self, d: Evaluation) -> None:
        model, data = d.tree.pinocchio, d.tree.data()
        pin.computeJointJacobians(model, data, d.q_origin)
        self.b, bodies = d.model.b, range(1, model.njoints)
        self.screws = np.array(data.J).reshape(6, model.nv).T.copy()
        self.ad = adjoints(self.screws)
        self.placements = [data.oMi[i].copy() for i in bodies]
        self.inertias = np.stack([data.oMi[i].act(model.inertias[i]).matrix() for i in bodies])
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
        first, other = (rows @ columns.T for rows, columns in (descendants, ancestors))
        return np.where(self.descendants.T, first, np.where(self.descendants, other, 0.0))

    def regressor(self, twists: Array) -> Array:
        """Return the momentum of each body by its ten parameters, (bodies,6,10).

        Args:
            twists: (bodies,6); an acceleration gives its inertial wrench.
        """
        local = _times(self.to_body_axes, twists)
        at_rest = pin.Motion.Zero()
        # From rest, the wrench of an acceleration is the momentum of the same twist.
        body_values = [pin.bodyRegressor(at_rest, pin.Motion(twist)) for twist in local]
        return self.to_body_axes.transpose(0, 2, 1) @ np.array(body_values)

    def by_parameters(self, left: Array, regressor: Array) -> Array:
        """Return ``left_k^T sum(momenta that k moves)`` by all parameters, (nv,10 bodies)."""
        products = np.einsum("ka,iap->kip", left, regressor) * self.is_moved[:, :, None]
        return products.reshape(len(left), -1)


def _times(matrices: Array, vectors: Array) -> Array:
    return np.einsum("iab,ib->ia", matrices, vectors)


class _Sensitivity:
    """Total derivatives; the columns are those of q (nv), z (nv) and the parameters (10 bodies)."""

    def __init__(self, form: Form, x: PHState, ports: Ports, parameters: bool = True) -> None:
        model = self.model = form.model
        self.b, self.nv = model.b, model.nv
        self._joint_mask = np.repeat([0.0, 1.0], [model.b, model.n])
        self.decoupled = isinstance(form, DecoupledForm) and model.b > 0
        d = self.d = Evaluation(model, x.q, form.velocity_arrays(x.q, x.z))
        self.ports, self.bodies = ports, _Bodies(d)
        self.column_count = 2 * self.nv
        if parameters:
            self.column_count += PARAMETERS * len(self.bodies.inertias)
        self.motion = self.bodies.motion(d.v_full)
        self.locked_motion = self.bodies.motion(self._base_velocity(d.v_hat))
        # Of the momenta M v and M (v_hat, 0) at fixed velocities.
        self.momentum_derivatives = self._momentum_derivatives(self.motion, self.nv)
        self.locked_derivatives = self._momentum_derivatives(self.locked_motion, self.b)
        conjugate = -self.momentum_derivatives
        if self.decoupled:
            # pi = pi_hat + M_bm^T v_hat.
            conjugate[self.b :] += self._shape_rows(self.locked_derivatives)
        self.conjugate_derivatives = self.momentum_derivatives + conjugate
        self.velocity_derivatives = np.linalg.solve(d.M, conjugate)

    def energy(self) -> EnergyDerivatives:
        nv, d = self.nv, self.d
        # K = c^T M^-1 c / 2 of the conjugate momentum c; the columns of z are those of momenta.
        gradient = d.v @ (self.conjugate_derivatives - 0.5 * self.momentum_derivatives)
        gradient[nv : 2 * nv] = d.v
        if self.decoupled:
            gradient[nv : nv + self.b] = d.v_hat
        if self.ports.gravity:
            gradient[:nv] += d.g
            base_position = self.model.tree.base_displacement(d.q)
            for k, placement in enumerate(self.bodies.placements):
                index = 2 * nv + PARAMETERS * k
                gradient[index] -= self.model.tree.gravity @ (placement.translation + base_position)
                gradient[index + 1 : index + 4] -= self.model.tree.gravity @ placement.rotation
        return EnergyDerivatives(*(frozen(x.copy()) for x in np.split(gradient, [nv, 2 * nv])))

    def rate(self) -> RateDerivatives:
        b, nv, d = self.b, self.nv, self.d
        # The slope of the kinetic energy changes with the velocity as M v does with the joints.
        by_v = self.momentum_derivatives[:, :nv].T.copy()
        by_v[:b] = 0.0
        by_v[:b, :b] = coadjoint_matrix(self.model, d.p)
        if self.ports.friction is not None:
            by_v[b:, b:] -= np.diag(self.ports.friction.slope(d.v[b:]))
        by_all, by_force = self._force_derivatives() + by_v @ self.velocity_derivatives, np.eye(nv)
        if self.decoupled:
            by_force[b:, :b] = -d.A.T
            mass_rate = d.C + d.C.T
            locked = self.locked_derivatives
            by_all[b:] += d.A_rate.T @ locked[:b] - d.A.T @ by_all[:b]
            by_all[b:] -= self._shape_rows(locked)[:, b:nv] @ self.velocity_derivatives[b:]
            by_all[b:] -= self._shape_rows(self._locked_rate(mass_rate[:b, :b]))
        velocity_columns = np.split(self.velocity_derivatives, [nv, 2 * nv], axis=1)
        zdot_columns = np.split(by_all, [nv, 2 * nv], axis=1)
        derivatives = (*velocity_columns, *zdot_columns[:2], by_force, zdot_columns[2])
        return RateDerivatives(*(frozen(x.copy()) for x in derivatives))

    def _momentum_derivatives(self, motion: _Motion, momentum_count: int) -> Array:
        """The derivatives of ``M w`` at fixed w, less those of some momenta by themselves."""
        bodies = self.bodies
        reactions = _times(bodies.composite, bodies.screws)
        by_q = bodies.products((reactions, motion.ad_screw), (bodies.screws, motion.slope))
        columns = self._derivative_columns(by_q, [(bodies.screws, bodies.regressor(motion.twists))])
        columns[:momentum_count, self.nv : self.nv + momentum_count] = -np.eye(momentum_count)
        return columns

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

    def _force_by_q(self) -> Array:
        """The derivatives of gravity and of the wrenches, (nv,nv)."""
        model, tree, bodies = self.model, self.model.tree, self.bodies
        total = np.zeros((tree.pinocchio.nv, tree.pinocchio.nv))
        if self.ports.gravity:
            q = self.d.q_origin
            total -= pin.computeGeneralizedGravityDerivatives(tree.pinocchio, tree.data(), q)
        for frame_id, wrench in frame_wrenches(model, self.ports):
            frame = tree.pinocchio.frames[frame_id]
            body = frame.parentJoint - 1
            root_wrench = (bodies.placements[body] * frame.placement).dualAction @ wrench
            wrench_rate = -np.einsum("jba,b->ja", bodies.ad, root_wrench)
            wrench_rate *= bodies.is_moved[:, body, None]
            total += bodies.products((0.0 * wrench_rate, wrench_rate), (bodies.screws, wrench_rate))
        return total

    def _locked_rate(self, locked_inertia_rate: Array) -> Array:
        """The rate of the derivatives of ``M (v_hat, 0)`` along the motion."""
        b, d, bodies, locked = self.b, self.d, self.bodies, self.locked_motion
        base_force = (d.C.T @ d.v + self.ports.force(d))[:b]
        v_hat_rate = d.M_b_inverse @ (base_force - locked_inertia_rate @ d.v_hat)
        accelerations = bodies.twists(self._base_velocity(v_hat_rate))
        joint_ad = adjoints(bodies.twists(self.model.tree.full_velocity(d.v * self._joint_mask)))
        inertia_drift = joint_ad.transpose(0, 2, 1) @ bodies.inertias
        composite = bodies.composite
        composite_rate = -bodies.subtree_sums(inertia_drift + inertia_drift.transpose(0, 2, 1))
        rates = _times(joint_ad[bodies.body_index], bodies.screws)
        ad_screw_rate = _times(adjoints(accelerations)[bodies.body_index], bodies.screws)
        ad_screw_rate += _times(adjoints(locked.twists)[bodies.body_index], rates)
        ad_screw_rate[:b] = 0.0
        momenta_rate = _times(composite_rate, locked.twists[bodies.body_index])
        momenta_rate += _times(composite, accelerations[bodies.body_index])
        slope_rate = _times(composite_rate, locked.ad_screw) + _times(composite, ad_screw_rate)
        slope_rate -= _times(adjoints(rates).transpose(0, 2, 1), locked.momenta)
        slope_rate -= _times(bodies.ad.transpose(0, 2, 1), momenta_rate)
        reactions = _times(composite, bodies.screws)
        momentum_rates = _times(composite_rate, bodies.screws) + _times(composite, rates)
        by_q = bodies.products((momentum_rates, locked.ad_screw), (rates, locked.slope))
        by_q += bodies.products((reactions, ad_screw_rate), (bodies.screws, slope_rate))
        momenta = bodies.regressor(locked.twists)
        rate = bodies.regressor(accelerations - _times(joint_ad, locked.twists))
        rate -= joint_ad.transpose(0, 2, 1) @ momenta
        return self._derivative_columns(by_q, [(rates, momenta), (bodies.screws, rate)])

    def _shape_rows(self, rows: Array) -> Array:
        """From derivatives of ``M (w, 0)`` at fixed w, those of ``M_bm^T M_b^-1 p`` at fixed p."""
        return rows[self.b :] - self.d.A.T @ rows[: self.b]

    def _base_velocity(self, twist: Array) -> Array:
        velocity = np.concatenate([twist, np.zeros(self.model.n)])
        return self.model.tree.full_velocity(velocity)

    def _derivative_columns(self, by_q: Array, regressors: list[tuple[Array, Array]]) -> Array:
        """Columns of derivatives by q and by the parameters, zero by momenta."""
        tree, columns = self.model.tree, np.zeros((self.nv, self.column_count))
        columns[:, : self.nv] = tree.projected(by_q)
        if self.column_count > 2 * self.nv:
            rows = sum(self.bodies.by_parameters(*pair) for pair in regressors)
            p = tree.projection
            columns[:, 2 * self.nv :] = rows if p is None else p.T @ rows
        return columns

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of energies and rates by states, efforts and inertial parameters, in closed form.

All vectors are in inertial axes about the origin of the base. A small motion of joint j moves all
that it carries by the twist ``J_j``, and products of vectors that move along do not change. What
remains is due to the body that carries joint j, which stays: the terms with ``gamma_j = ad(J_j) V``
of its twist V.
"""

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from ..arrays import Array, cached_property, frozen
from ..errors import ModelError
from ..evaluation import Evaluation
from ..robot.kinematic_tree import KinematicTree
from .decoupled import DecoupledForm
from .form import Form
from .ports import Ports
from .standard import StandardForm
from .state import PHState


def adjoints(twists: Array) -> Array:
    """Return ``ad`` of twists (k,6), as (k,6,6)."""
    matrices = np.zeros((len(twists), 6, 6))
    for (i, j), k in _SKEW.items():
        sign = 1.0 if k > 0 else -1.0
        entry = abs(k) - 1
        matrices[:, i, j] = matrices[:, i + 3, j + 3] = sign * twists[:, 3 + entry]
        matrices[:, i, j + 3] = sign * twists[:, entry]
    return matrices


# The entries of a skew matrix: the index of the component, from one, with its sign.
_SKEW = {(0, 1): -3, (0, 2): 2, (1, 0): 3, (1, 2): -1, (2, 0): -2, (2, 1): 1}


class BodyTree:
    """Screws and inertias of all bodies at one configuration.

    Sizes are those of Pinocchio's model: nv velocities and N bodies, with joints that mimic others.

    Attributes:
        screws: J (nv,6), the twist of each unit velocity. ad: (nv,6,6), their adjoints.
        placements: the poses of the bodies. into_bodies: (N,6,6), of twists into their axes.
        moves: (nv,N) whether a velocity moves a body.
        above: (nv,nv) whether velocity j moves the body of velocity k.
        below: (nv,nv) whether, instead, k moves the body of j.
        inertias: (N,6,6). composite: (nv,6,6), of all that a velocity moves.
    """

    def __init__(self, tree: KinematicTree, q_origin: Array) -> None:
        model, data = tree.pinocchio, tree.data()
        pin.computeJointJacobians(model, data, q_origin)
        bodies = range(1, model.njoints)
        self.tree = tree
        self.screws = np.array(data.J).reshape(6, model.nv).T.copy()
        self.ad = adjoints(self.screws)
        self.placements = [data.oMi[i].copy() for i in bodies]
        self.inertias = np.stack([data.oMi[i].act(model.inertias[i]).matrix() for i in bodies])
        self.into_bodies = np.stack([placement.actionInverse for placement in self.placements])
        # The body of each velocity, and the one that carries it; -1 for the world.
        self.body = np.concatenate([[i - 1] * model.joints[i].nv for i in bodies]).astype(int)
        self.carrier = np.array([model.parents[int(i) + 1] - 1 for i in self.body])
        carries = np.zeros((len(bodies), len(bodies)), dtype=bool)
        for i in bodies:
            for above in model.supports[i]:
                if above:
                    carries[above - 1, i - 1] = True
        self.moves = carries[self.body]
        self.above = self.moves[:, self.body]
        self.below = self.above.T & ~self.above
        self.composite = np.einsum("ki,iab->kab", self.moves, self.inertias)

    def twists(self, v: Array) -> Array:
        """Return the twists of all bodies under a velocity (nv,), (N,6)."""
        return (self.moves * v[:, None]).T @ self.screws

    def carried(self, of_bodies: Array) -> Array:
        """Return the sums over the bodies that each velocity moves, (nv,...)."""
        return np.tensordot(self.moves, of_bodies, axes=1)


class BodyMotion:
    """The momenta of the bodies under a velocity, and their derivatives along the joints.

    Attributes:
        twists: V (N,6).
        momenta: P (nv,6) of all that each velocity moves.
        gamma: (nv,6), ``ad(J_j)`` times the twist of the body that carries j.
    """

    def __init__(self, bodies: BodyTree, v: Array) -> None:
        """Compute the motion of a full velocity (nv,)."""
        self.bodies, self.v = bodies, v
        self.twists = bodies.twists(v)
        self.momenta = bodies.carried(np.einsum("iab,ib->ia", bodies.inertias, self.twists))
        self.gamma = np.einsum("jab,jb->ja", bodies.ad, self.carriers(self.twists))

    def carriers(self, of_bodies: Array) -> Array:
        """Return the values of the bodies that carry each velocity, zero for the world."""
        at_world = np.concatenate([of_bodies, np.zeros((1, *of_bodies.shape[1:]))])
        return at_world[self.bodies.carrier]

    @cached_property
    def body_ad(self) -> Array:
        """Adjoints of the twists of the bodies, (N,6,6)."""
        return adjoints(self.twists)

    @cached_property
    def ad(self) -> Array:
        """Adjoints of the twists of the body of each velocity, (nv,6,6)."""
        return self.body_ad[self.bodies.body]

    @cached_property
    def screw_rates(self) -> Array:
        """``ad(V_k) J_k``, the rates of the screws, (nv,6)."""
        return np.einsum("kab,kb->ka", self.ad, self.bodies.screws)

    def twist_rates(self, along: "BodyMotion") -> Array:
        """Return the rates of the twists of this velocity along another one, (N,6)."""
        return (self.bodies.moves * self.v[:, None]).T @ along.screw_rates

    @cached_property
    def slope(self) -> Array:
        """``C^T v``: row k is ``J_k^T ad(V_k)^T P_k``, (nv,)."""
        return np.einsum("ka,ka->k", self.screw_rates, self.momenta)

    @cached_property
    def momentum_by_q(self) -> Array:
        """Derivatives of ``M v`` at fixed v, (nv,nv); a column for each direction."""
        b = self.bodies
        above = -np.einsum("ka,kab,jb->kj", b.screws, b.composite, self.gamma)
        below = np.einsum("ka,ja->kj", b.screws, self.carried_change)
        return np.where(b.above.T, above, np.where(b.below.T, below, 0.0))

    @cached_property
    def slope_by_q(self) -> Array:
        """Derivatives of ``C^T v`` at fixed v, (nv,nv)."""
        b = self.bodies
        gamma_ad = adjoints(self.gamma)
        above = -np.einsum("jab,kb,ka->kj", gamma_ad, b.screws, self.momenta)
        above -= np.einsum("ka,kab,jb->kj", self.screw_rates, b.composite, self.gamma)
        below = np.einsum("ka,ja->kj", self.screw_rates, self.carried_change)
        return np.where(b.above.T, above, np.where(b.below.T, below, 0.0))

    @cached_property
    def slope_by_v(self) -> Array:
        """Derivatives of ``C^T v`` by v, (nv,nv)."""
        b = self.bodies
        # Column j: of the twists that j moves, and of the momenta above and below it.
        transported = np.einsum("jab,kb,ka->kj", b.ad, b.screws, self.momenta)
        inner = np.einsum("ka,kab,jb->kj", self.screw_rates, b.composite, b.screws)
        outer = np.einsum("ka,jab,jb->kj", self.screw_rates, b.composite, b.screws)
        return np.where(b.above.T, transported + inner, np.where(b.below.T, outer, 0.0))

    @cached_property
    def carried_change(self) -> Array:
        """The change of the momentum that j carries as j moves, (nv,6)."""
        b = self.bodies
        transported = np.einsum("jba,jb->ja", b.ad, self.momenta)
        return -transported - np.einsum("jab,jb->ja", b.composite, self.gamma)


def momentum_rate_by_q(motion: BodyMotion, other: BodyMotion) -> Array:
    """Return the derivatives of ``Mdot w`` along v at fixed v and w, (nv,nv).

    Args:
        motion: of v.
        other: of w.
    """
    b, p, kappa = motion.bodies, other.momenta, other.gamma
    rates = other.twist_rates(motion)
    ads = motion.body_ad
    turning = np.einsum("iba,ibc->iac", ads, b.inertias) + b.inertias @ ads
    momentum_rates = b.carried(
        np.einsum("iab,ib->ia", b.inertias, rates) - np.einsum("iab,ib->ia", turning, other.twists)
    )
    turning = b.carried(turning)
    gamma_ad = adjoints(motion.gamma)
    # ad(gamma) W - ad(J_j) a of the body that carries j.
    extra = np.einsum("jab,jb->ja", gamma_ad, other.carriers(other.twists))
    extra -= np.einsum("jab,jb->ja", b.ad, other.carriers(rates))
    inner = np.einsum("ka,kab,jb->kj", b.screws, turning, kappa)
    inner -= np.einsum("ka,kab,jb->kj", motion.screw_rates, b.composite, kappa)
    inner += np.einsum("ka,kab,jb->kj", b.screws, b.composite, extra)
    change = -np.einsum("jba,jb->ja", b.ad, momentum_rates)
    change += np.einsum("jba,jb->ja", gamma_ad, p)
    change += np.einsum("jab,jb->ja", turning, kappa)
    change += np.einsum("jab,jb->ja", b.composite, extra)
    outer = np.einsum("ka,ja->kj", b.screws, change)
    outer += np.einsum("ka,ja->kj", motion.screw_rates, other.carried_change)
    return np.where(b.above.T, inner, np.where(b.below.T, outer, 0.0))


PARAMETERS = 10
"""Inertial parameters of a body, in Pinocchio's order: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""

# Of I w by Ixx, Ixy, Iyy, Ixz, Iyz, Izz: row, column, component of w.
_INERTIA = (
    *((0, 0, 0), (0, 1, 1), (0, 3, 2)),
    *((1, 1, 0), (1, 2, 1), (1, 4, 2)),
    *((2, 3, 0), (2, 4, 1), (2, 5, 2)),
)


def momentum_regressor(bodies: BodyTree, twists: Array) -> Array:
    """Return the momentum of every body by its ten parameters, (N,6,10), in inertial axes.

    Args:
        bodies: the tree.
        twists: (N,6) of the bodies; a constant acceleration gives its inertial wrench.
    """
    local = np.einsum("iab,ib->ia", bodies.into_bodies, twists)
    body_regressors = np.zeros((len(local), 6, PARAMETERS))
    cross = adjoints(local)
    # f = m v + w x h and n = I w - v x h, with h = m c.
    body_regressors[:, :3, 0] = local[:, :3]
    body_regressors[:, :3, 1:4], body_regressors[:, 3:, 1:4] = cross[:, :3, :3], -cross[:, :3, 3:]
    for row, column, entry in _INERTIA:
        body_regressors[:, 3 + row, 4 + column] = local[:, 3 + entry]
    return np.einsum("iba,ibp->iap", bodies.into_bodies, body_regressors)


def by_parameters(left: Array, bodies: BodyTree, regressor: Array) -> Array:
    """Return ``left_k^T sum(momenta that k moves)`` by all parameters, (nv,10 N)."""
    products = np.einsum("ka,iap->kip", left, regressor) * bodies.moves[:, :, None]
    return products.reshape(len(left), -1)


def momentum_rate_by_parameters(motion: BodyMotion, other: BodyMotion) -> Array:
    """Return ``Mdot w`` along v by all parameters, (nv,10 N).

    Args:
        motion: of v.
        other: of w.
    """
    b = motion.bodies
    momenta = momentum_regressor(b, other.twists)
    ads = motion.body_ad
    transported = np.einsum("iab,ib->ia", ads, other.twists)
    rates = momentum_regressor(b, other.twist_rates(motion) - transported)
    rates -= np.einsum("iba,ibp->iap", ads, momenta)
    return by_parameters(motion.screw_rates, b, momenta) + by_parameters(b.screws, b, rates)


def potential_by_parameters(bodies: BodyTree, displacement: Array) -> Array:
    """Return the potential of gravity by all parameters, (10 N,).

    Args:
        bodies: the tree, with the base at the origin.
        displacement: (3,) of the base from there.
    """
    slopes = np.zeros((len(bodies.placements), PARAMETERS))
    for row, placement in zip(slopes, bodies.placements, strict=True):
        row[0] = -bodies.tree.gravity @ (placement.translation + displacement)
        row[1:4] = -bodies.tree.gravity @ placement.rotation
    return slopes.ravel()


@dataclass(frozen=True)
class EnergyDerivatives:
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


@dataclass(frozen=True)
class RateDerivatives:
    """Derivatives of the velocity and of the momentum rate of a form.

    Directions of q are velocities, the base part in the base frame: a column belongs to
    ``model.integrate(q, e_j)``. The inertial parameters are ten of each body in the order of
    Pinocchio's joints: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the origin of the joint.

    Attributes:
        velocity_by_q, velocity_by_z: (nv,nv).
        velocity_by_parameters: (nv,10 bodies).
        zdot_by_q, zdot_by_z: (nv,nv).
        zdot_by_force: by generalised forces (wrench_base, torque), (nv,nv).
        zdot_by_parameters: (nv,10 bodies).
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
    """
    return _Sensitivity(form, x, Ports(gravity=gravity)).energy()


def rate_derivatives(form: Form, x: PHState, ports: Ports) -> RateDerivatives:
    """Return the derivatives of the rate of a form at a state under held efforts.

    Wrenches at the end effector and at tools are constant in the axes of their frames.

    Raises:
        StateError: a state or effort has the wrong shape or is not finite.
        ModelError: the robot is in a fluid, or the form has no closed derivatives.
    """
    return _Sensitivity(form, x, ports).rate()


class _Sensitivity:
    """Total derivatives; the columns are those of q (nv), z (nv) and the parameters (10 N)."""

    def __init__(self, form: Form, x: PHState, ports: Ports) -> None:
        if not isinstance(form, StandardForm | DecoupledForm):
            raise ModelError(
                f"a {type(form).__name__} has no closed derivatives; take StandardForm or "
                "DecoupledForm, or form.casadi().rate_derivatives"
            )
        model = self.model = form.model
        if model.fluid is not None:
            raise ModelError(
                "the derivatives do not cover robots in a fluid; use form.casadi().rate_derivatives"
            )
        self.decoupled = isinstance(form, DecoupledForm) and model.b > 0
        v = form.velocity(x)
        self.d = Evaluation(model, x.q, v)
        self.ports = Ports.checked(model, ports)
        self.bodies = BodyTree(model.tree, self.d.q_origin)
        self.motion = BodyMotion(self.bodies, self.d.v_full)
        self.inverse = np.linalg.inv(self.d.M)
        self.columns = 2 * model.nv + PARAMETERS * len(self.bodies.inertias)

    def energy(self) -> EnergyDerivatives:
        nv, v = self.model.nv, self.d.v
        # K = c^T M^-1 c / 2 of the conjugate momentum c.
        slope = v @ self.conjugate - 0.5 * (v @ self.carried(self.motion))
        if self.ports.gravity:
            slope[:nv] += self.d.g
            displacement = self.model.tree.base_displacement(self.d.q)
            slope[2 * nv :] += potential_by_parameters(self.bodies, displacement)
        return EnergyDerivatives(*(frozen(x.copy()) for x in np.split(slope, [nv, 2 * nv])))

    def rate(self) -> RateDerivatives:
        b, nv = self.model.b, self.model.nv
        rate, by_force = self.momentum_rate, np.eye(nv)
        if self.decoupled:
            rate = self.decoupled_rate(rate)
            by_force[b:, :b] = -self.d.A.T
        velocity = np.split(self.velocity, [nv, 2 * nv], axis=1)
        zdot = np.split(rate, [nv, 2 * nv], axis=1)
        every = (*velocity, *zdot[:2], by_force, zdot[2])
        return RateDerivatives(*(frozen(x.copy()) for x in every))

    def carried(self, motion: BodyMotion) -> Array:
        """The derivatives of ``M w`` of a motion with a fixed velocity w, (nv,columns)."""
        tree, nv, result = self.model.tree, self.model.nv, self.none()
        result[:, :nv] = tree.projected(motion.momentum_by_q)
        regressor = momentum_regressor(self.bodies, motion.twists)
        result[:, 2 * nv :] = self.restricted(
            by_parameters(self.bodies.screws, self.bodies, regressor)
        )
        return result

    @cached_property
    def conjugate(self) -> Array:
        """The derivatives of the momenta (p, pi) conjugate to the velocity."""
        nv, b = self.model.nv, self.model.b
        result = self.none()
        result[:, nv : 2 * nv] = np.eye(nv)
        if self.decoupled:
            # pi = pi_hat + M_bm^T v_hat.
            result[b:] += self.moved_locked[b:] + self.d.M_bm.T @ self.locked_velocity
        return result

    @cached_property
    def locked(self) -> BodyMotion:
        """The motion with locked joints, of the velocity (v_hat, 0)."""
        return self.of_base(self.d.v_hat)

    @cached_property
    def moved_locked(self) -> Array:
        return self.carried(self.locked)

    @cached_property
    def locked_velocity(self) -> Array:
        """The derivatives of v_hat at fixed p but for its own column."""
        nv, b = self.model.nv, self.model.b
        change = -self.moved_locked[:b]
        change[:, nv : nv + b] += np.eye(b)
        return self.d.M_b_inverse @ change

    @cached_property
    def velocity(self) -> Array:
        """The derivatives of the velocity."""
        return self.inverse @ (self.conjugate - self.carried(self.motion))

    @property
    def momentum_rate(self) -> Array:
        """The derivatives of the rate of (p, pi): of ``C^T v`` and all forces."""
        tree, nv, b = self.model.tree, self.model.nv, self.model.b
        by_v = tree.projected(self.motion.slope_by_v)
        if self.ports.friction is not None:
            by_v[b:, b:] -= np.diag(self.ports.friction.slope(self.d.v[b:]))
        rate = by_v @ self.velocity
        rate[:, :nv] += tree.projected(self.motion.slope_by_q + self.force_by_q)
        regressor = momentum_regressor(self.bodies, self.motion.twists)
        slope = by_parameters(self.motion.screw_rates, self.bodies, regressor)
        if self.ports.gravity:
            fall = np.tile(np.concatenate([tree.gravity, np.zeros(3)]), (len(regressor), 1))
            weight = momentum_regressor(self.bodies, fall)
            slope += by_parameters(self.bodies.screws, self.bodies, weight)
        rate[:, 2 * nv :] += self.restricted(slope)
        return rate

    @property
    def force_by_q(self) -> Array:
        """The derivatives of gravity and of the wrenches, by all joints of Pinocchio, (nv,nv)."""
        tree, bodies = self.model.tree, self.bodies
        pinocchio, q = tree.pinocchio, self.d.q_origin
        total = np.zeros((pinocchio.nv, pinocchio.nv))
        if self.ports.gravity:
            total -= pin.computeGeneralizedGravityDerivatives(pinocchio, tree.data(), q)
        wrenches = {self.model.end_effector: self.ports.wrench_end_effector}
        for name, wrench in (wrenches | dict(self.ports.wrench_tools or {})).items():
            if wrench is None:
                continue
            frame = pinocchio.frames[tree.frame_id(name)]
            body = frame.parentJoint - 1
            base_wrench = (bodies.placements[body] * frame.placement).dualAction @ wrench
            transported = (
                np.einsum("jba,b->ja", bodies.ad, base_wrench) * bodies.moves[:, body, None]
            )
            total -= np.where(bodies.below.T, bodies.screws @ transported.T, 0.0)
        return total

    def decoupled_rate(self, rate: Array) -> Array:
        """The derivatives of the rate of (p, pi_hat) from that of (p, pi).

        ``pi_hat_dot = pidot - drift_m + M_bm^T M_b^-1 (drift_b - pdot)`` with
        ``drift = Mdot (v_hat, 0)``.
        """
        tree, d, nv, b = self.model.tree, self.d, self.model.nv, self.model.b
        along = tree.projected(self.locked.momentum_by_q)
        mass_rate = d.C + d.C.T
        drift = along @ self.velocity + mass_rate[:, :b] @ self.locked_velocity
        drift[:, :nv] += tree.projected(momentum_rate_by_q(self.motion, self.locked))
        drift[:, 2 * nv :] += self.restricted(momentum_rate_by_parameters(self.motion, self.locked))
        here = mass_rate[:b, :b] @ d.v_hat - (d.C.T @ d.v + self.ports.force(d))[:b]
        transported = self.carried(self.of_base(d.M_b_inverse @ here))
        change = d.M_b_inverse @ (drift[:b] - rate[:b] - transported[:b])
        shape = rate[b:] - drift[b:] + transported[b:] + d.M_bm.T @ change
        return np.concatenate([rate[:b], shape])

    def of_base(self, twist: Array) -> BodyMotion:
        """The motion of the base alone, with locked joints."""
        velocity = np.concatenate([twist, np.zeros(self.model.n)])
        return BodyMotion(self.bodies, self.model.tree.full_velocity(velocity))

    def restricted(self, rows: Array) -> Array:
        p = self.model.tree.projection
        return rows if p is None else p.T @ rows

    def none(self) -> Array:
        return np.zeros((self.model.nv, self.columns))

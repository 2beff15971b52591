# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The interface of the port-Hamiltonian forms of a robot."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from ..actuation.friction import Friction
from ..arrays import Array, frozen, summary, vector
from ..errors import WithHints
from ..evaluation import Evaluation
from ..evaluation_batch import checked_rows, threads_of
from ..model import VMSModel
from ..robot_model import require_model
from ..tasks import Task
from .ports import Ports, PowerBalance
from .rates import core_arguments, native_rate, native_velocity, ports_of_state
from .state import Energy, PHRate, PHState

if TYPE_CHECKING:
    from ..export.casadi import CasadiForm
    from ..export.jax.form import JaxForm


class Form(WithHints, ABC):
    """A robot in port-Hamiltonian form: ``xdot = J(x) dH/dx + G(x) u``, ``y = G(x)^T dH/dx``.

    H is the kinetic Hamiltonian here; potential and external forces enter as u. Forms are
    stateless: they map states ``PHState(q, z)`` to energies, structure and rates. Rates are
    computed without any derivative tensor; the matrices of the source are for inspection, and are
    the oracle of the rates in the tests.
    """

    HINTS: ClassVar[Mapping[str, str]] = {
        "interconnection(x)": "J structure",
        "dissipation(x)": "R",
        "input_map(x)": "G B g",
        "model.evaluate(q, v).M": "M mass_matrix inertia",
        "model.evaluate(q, v).C": "C coriolis",
        "rate(x, ports), with x = state(q, v)": "xdot dynamics f evaluate",
    }

    # Whether it is the decoupled form of the C++ core; None for a form that the core lacks.
    _decoupled: bool | None = None
    # The task of a task-space form, with its reference basis (nv-m,nv).
    _exported_task: tuple[Task, Array] | None = None

    def __init__(self, model: VMSModel) -> None:
        """Create the form of a robot.

        Args:
            model: the robot; :meth:`.VMSModel.with_native` says whether terms and rates are
                computed in C++.

        Raises:
            ModelError: it is no model.
        """
        require_model(model, self)
        self.model = model

    def __repr__(self) -> str:
        """Return the form with its robot, in one line."""
        return summary(self, repr(self.model))

    @abstractmethod
    def state(self, q: Array, v: Array) -> PHState:
        """Return the state with configuration ``q`` (nq,) and velocity ``v`` (nv,)."""

    @abstractmethod
    def hamiltonian(self, x: PHState) -> Energy:
        """Return the energy of a state, J."""

    @abstractmethod
    def gradient(self, x: PHState) -> Array:
        """Return the gradient of the kinetic energy, in the layout of the form's source.

        The rows of q of the Hamiltonian's gradient have gravity besides, which is a force here:
        ``interconnection @ gradient + input_map @ (f - g)`` is the rate of the state.
        """

    @abstractmethod
    def interconnection(self, x: PHState) -> Array:
        """Return the skew-symmetric matrix J(x) that acts on :meth:`gradient`."""

    @abstractmethod
    def input_map(self, x: PHState) -> Array:
        """Return the matrix G(x) from generalised forces (nv,) to rates of the state."""

    @abstractmethod
    def dirac(self, x: PHState) -> Array:
        """Return the Dirac structure as a matrix from efforts to flows; it is skew-symmetric."""

    @abstractmethod
    def rate_arrays(self, q: Array, z: Array, ports: Ports) -> PHRate:
        """Return ``(qdot, zdot)`` without checking anything, for integrators."""

    @abstractmethod
    def velocity_arrays(self, q: Array, z: Array) -> Array:
        """Return the velocity without checking anything."""

    def layout(self, rate: PHRate) -> Array:
        """Return a rate laid out as :meth:`gradient`: ``(zdot_base, qdot_joints, zdot_joints)``."""
        b = self.model.b
        return np.concatenate([rate.zdot[:b], rate.qdot[b:], rate.zdot[b:]])

    def casadi(
        self, gravity: bool = True, friction: Friction | None = None, parameters: bool = False
    ) -> "CasadiForm":
        """Return the form as functions of CasADi: energy, structure, ports, rates and tasks.

        Args:
            gravity: whether gravity and buoyancy act.
            friction: in the joints; None for none. ``Friction.from_model(model)`` has the URDF's.
            parameters: whether the inertial parameters of all bodies are an input of all functions
                instead of the values of the robot.

        Raises:
            MissingExtraError: CasADi is not installed.
            ModelError: the friction is that of other joints, or the task has no export.
        """
        from ..export.casadi import casadi_form

        options = {"gravity": gravity, "friction": friction, "parameters": parameters}
        return casadi_form(self.model, bool(self._decoupled), self._exported_task, **options)

    def jax(self, gravity: bool = True, friction: Friction | None = None) -> "JaxForm":
        """Return the form as pure functions of JAX: energy, momenta, rates, steps and tasks.

        Args:
            gravity: whether gravity acts.
            friction: in the joints; None for none. ``Friction.from_model(model)`` has the URDF's.

        Raises:
            MissingExtraError: JAX is not installed.
            ModelError: the robot, the task or the friction is not supported.
        """
        from ..export.jax import jax_form

        decoupled, task = bool(self._decoupled), self._exported_task
        return jax_form(self.model, decoupled, task, gravity=gravity, friction=friction)

    def velocity(self, x: PHState) -> Array:
        """Return the velocity (nv,) of a state.

        Raises:
            StateError: the argument has the wrong shape or is not finite.
        """
        x = self.checked_state(x)
        return self.velocity_arrays(x.q, x.z)

    def evaluation(self, x: PHState) -> Evaluation:
        """Return the terms of the equations of motion at a state."""
        return self.model.evaluate(x.q, self.velocity(x))

    def rate(self, x: PHState, ports: Ports) -> PHRate:
        """Return the time derivative of a state under the efforts at the ports.

        Raises:
            StateError: a state or effort has the wrong shape or is not finite.
        """
        if self._decoupled is not None:
            core_rate = native_rate(self.model, self._decoupled, x.q, x.z, ports)
            if core_rate is not None:  # the core has checked the arguments
                return core_rate
        x = self.checked_state(x)
        return self.rate_arrays(x.q, x.z, Ports.checked(self.model, ports))

    def rate_batch(
        self,
        Q: npt.ArrayLike,
        Z: npt.ArrayLike,
        ports: Ports | None = None,
        threads: int | None = None,
    ) -> PHRate:
        """Return the rates of N states, as read-only contiguous arrays (N,nv).

        With the C++ core they are computed on several threads in the standard and the inertially
        decoupled form of robots without mimic joints, else state after state.

        Args:
            Q: (N,nq) configurations.
            Z: (N,nv) momenta.
            ports: efforts, each of the shape of one state for all of them or with a first axis of
                N; None for gravity alone.
            threads: number of threads; that of the processors when None.

        Raises:
            StateError: an array has a wrong shape, or a row is not a state.
            OptionError: the number of threads is not positive.
        """
        model, threads = self.model, threads_of(threads)
        q, z = checked_rows(model, Q, Z, "Z", copy=False)
        efforts = Ports.checked(model, Ports() if ports is None else ports, len(q))
        core = None if self._decoupled is None else model.cpp_core
        if core is not None:
            arguments = core_arguments(model, efforts) or ()
            return PHRate(*core.batch(threads).rates(self._decoupled, q, z, *arguments))
        rates = [self.rate_arrays(q[i], z[i], ports_of_state(efforts, i)) for i in range(len(q))]
        qdot, zdot = np.array(rates).reshape(len(q), 2, model.nv).transpose(1, 0, 2).copy()
        return PHRate(frozen(qdot), frozen(zdot))

    def power_balance(self, x: PHState, ports: Ports) -> PowerBalance:
        """Return the power balance; its residual is zero up to rounding.

        Raises:
            StateError: a state or effort has the wrong shape or is not finite.
        """
        rate = self.rate(x, ports)
        d = self.model.evaluate(x.q, rate.qdot)
        stored_power = float(self.gradient(x) @ self.layout(rate))
        if ports.gravity:
            stored_power += float(d.g @ d.v)
        return PowerBalance(stored_power, ports.supplied(d), ports.dissipated(d))

    def dissipation(self, x: PHState, friction: Friction | None = None) -> Array:
        """Return R(x) with ``xdot = (J - R) dH/dx + G u``, symmetric and positive semidefinite.

        Laid out as :meth:`interconnection`; ``dH^T R dH`` is the power, W, that friction in the
        joints and the drag of a fluid dissipate.

        Args:
            x: state.
            friction: in the joints; that of the robot's description when None.

        Raises:
            StateError: the state has the wrong shape or is not finite.
        """
        d, b = self.evaluation(x), self.model.b
        friction = Friction.from_model(self.model) if friction is None else friction
        damping = np.zeros((self.model.nv, self.model.nv))
        damping[b:, b:] = np.diag(friction.secant(d.v[b:]))
        if self.model.fluid is not None:
            damping += self.model.fluid.damping(d)
        G = self.input_map(x)
        R = G @ damping @ G.T
        return 0.5 * (R + R.T)

    def checked_state(self, x: PHState) -> PHState:
        """Return ``x`` after checking its shapes and entries.

        Raises:
            StateError: the check fails; the message states how.
        """
        model = self.model
        return PHState(model.checked_configuration(x.q), vector(x.z, model.nv, "z"))


def velocity_of_momentum(model: VMSModel, q: Array, momentum: Array) -> Array:
    """Return ``M(q)^-1`` times a generalised momentum (nv,)."""
    velocity = native_velocity(model, False, q, momentum)
    if velocity is not None:
        return velocity
    return np.linalg.solve(Evaluation(model, q, 0.0 * momentum).M, momentum)

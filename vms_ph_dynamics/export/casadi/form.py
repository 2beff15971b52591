# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A port-Hamiltonian form of a robot as functions of CasADi."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import casadi as ca

from ...actuation.friction import Friction
from ...model import VMSModel
from ...robot.kinematic_tree import PARAMETERS
from ..forms import CoordinateRates, FormTerms, checked_friction
from ..spatial import Expression
from ..tree import ExportedTree
from .configurations import retraction
from .effects import dissipation_matrix, port_force, port_powers, port_symbols
from .linear_algebra import CASADI

Function = Any
"""A ``casadi.Function``."""


class CasadiForm(ABC):
    """A port-Hamiltonian form as functions of CasADi, each built on first use.

    ``xdot = (J - R) dH/dx + G u`` with the same state, layout and conventions as the form it comes
    from. All functions have named inputs; those left out are zero. They take numbers and symbols
    (``SX``, ``MX``), can be differentiated, mapped and written as C code (``generate``).

    Inputs are ``q`` (nq,) and ``z`` (nv,) or ``v`` (nv,); of :attr:`rate` and :attr:`power` also
    the ports ``torque`` (n,), ``wrench_base`` (b,), ``wrench_end_effector`` (6,) and
    ``wrench_tools`` (6 tools,), all tools stacked, N and N m; and of all functions ``parameters``
    (10 bodies,) if the form was exported with them.

    Attributes:
        model: the robot.
        gravity: whether gravity and buoyancy act.
        friction: in the joints, or None.
    """

    def __init__(
        self,
        model: VMSModel,
        gravity: bool = True,
        friction: Friction | None = None,
        parameters: bool = False,
    ) -> None:
        """Export a form; see :meth:`.Form.casadi`.

        Raises:
            ModelError: the friction is that of another number of joints.
        """
        self.model, self.gravity = model, gravity
        self.friction = checked_friction(model, friction)
        parameter_count = PARAMETERS * (model.tree.pinocchio.njoints - 1)
        self._q, self._z = ca.SX.sym("q", model.nq), ca.SX.sym("z", model.nv)
        symbols: Expression = ca.SX.sym("phi", parameter_count) if parameters else None
        self._tree = ExportedTree(model, CASADI, self._q, symbols)
        self._v = ca.SX.sym("v", model.nv)
        self._coordinate_rate = CoordinateRates(model).rate(CASADI, self._q, self._v)
        self._parameter_symbols = {"parameters": symbols} if parameters else {}
        self._ports = port_symbols(model)

    @cached_property
    def hamiltonian(self) -> Function:
        """``(q, z)`` to the energy ``total`` and its parts as in the form's ``Energy``, J."""
        return self._function("hamiltonian", self._terms.hamiltonian(self._z, self._velocity))

    @property
    @abstractmethod
    def gradient(self) -> Function:
        """``(q, z)`` to the gradient of the kinetic Hamiltonian ``dH``."""

    @property
    @abstractmethod
    def interconnection(self) -> Function:
        """``(q, z)`` to the skew-symmetric ``J``."""

    @cached_property
    def input_map(self) -> Function:
        """``(q, z)`` to ``G``, from generalised forces (nv,) to rates [A (48), (69); D (27)]."""
        return self._function("input_map", {"G": self._input_matrix})

    @cached_property
    def dissipation(self) -> Function:
        """``(q, z)`` to ``R``, symmetric and positive semidefinite, of friction and drag.

        ``-R dH`` is the rate that friction and drag contribute.
        """
        G, R = self._input_matrix, dissipation_matrix(self._tree, self._velocity, self.friction)
        return self._function("dissipation", {"R": G @ R @ G.T})

    @cached_property
    def rate(self) -> Function:
        """``(q, z, ports)`` to ``qdot`` (nv,), the velocity, and ``zdot`` (nv,)."""
        rates = {"qdot": self._velocity, "zdot": self._momentum_rate_of_ports}
        return self._function("rate", rates, has_ports=True)

    @cached_property
    def rate_derivatives(self) -> Function:
        """``(q, z, ports)`` to the derivatives of the rate, named as in ``RateDerivatives``.

        Directions of q are velocities, the base part in the base frame. Those by parameters are
        outputs if the form was exported with them.
        """
        derivatives, forces = {}, ca.vertcat(self._ports["wrench_base"], self._ports["torque"])
        rates = {"velocity": self._velocity, "zdot": self._momentum_rate_of_ports}
        for name, expression in rates.items():
            derivatives[f"{name}_by_q"] = ca.jacobian(expression, self._q) @ self._tangent
            derivatives[f"{name}_by_z"] = ca.jacobian(expression, self._z)
            for parameters in self._parameter_symbols.values():
                derivatives[f"{name}_by_parameters"] = ca.jacobian(expression, parameters)
        derivatives["zdot_by_force"] = ca.jacobian(self._momentum_rate_of_ports, forces)
        return self._function("rate_derivatives", derivatives, has_ports=True)

    @cached_property
    def power(self) -> Function:
        """``(q, z, ports)`` to ``torque_power`` and so on for every port, and ``dissipated``, W."""
        powers = port_powers(self._tree, self._velocity, self._ports, self.friction)
        return self._function("power", powers, has_ports=True)

    @cached_property
    def velocity(self) -> Function:
        """``(q, z)`` to the velocity ``v`` (nv,)."""
        return self._function("velocity", {"v": self._velocity})

    @cached_property
    def momenta(self) -> Function:
        """``(q, v)`` to the momenta ``z`` (nv,) of the form."""
        return self._function("momenta", {"z": self._terms.momenta(self._v)}, state=self._v)

    @cached_property
    def coordinate_rate(self) -> Function:
        """``(q, v)`` to the time derivative ``qdot`` (nq,) of the entries of a configuration."""
        return self._function("coordinate_rate", {"qdot": self._coordinate_rate}, state=self._v)

    @cached_property
    def integrate(self) -> Function:
        """``(q, v)`` to the configuration ``q`` (nq,) reached by a velocity in unit time."""
        q_next = retraction(self.model, self._q, self._v)
        return self._function("integrate", {"q_next": q_next}, state=self._v)

    @cached_property
    def mass_matrix(self) -> Function:
        """``(q)`` to the mass matrix ``M`` (nv,nv)."""
        return self._function("mass_matrix", {"M": self._tree.M}, state=None)

    @cached_property
    def generalised_gravity(self) -> Function:
        """``(q)`` to ``g`` (nv,), whether gravity acts in the form or not."""
        return self._function("generalised_gravity", {"g": self._tree.gravity}, state=None)

    def frame(self, name: str | None = None) -> Function:
        """Return ``(q)`` to the pose ``T`` (4,4) of a frame and its Jacobian ``J`` (6,nv).

        The pose is that in the inertial frame, the Jacobian is in the axes of the frame, linear
        first.

        Args:
            name: of the frame; the end effector when None.

        Raises:
            ModelError: there is no such frame.
        """
        name = self.model.end_effector if name is None else name
        outputs = {"T": self._tree.pose(name).matrix, "J": self._tree.jacobian(name)}
        return self._function("frame", outputs, state=None)

    @property
    @abstractmethod
    def _terms(self) -> FormTerms:
        """The form at the configuration ``q``."""

    @property
    @abstractmethod
    def _input_matrix(self) -> Expression: ...

    @cached_property
    def _velocity(self) -> Expression:
        """The velocity of ``(q, z)``."""
        return self._terms.velocity(self._z)

    @cached_property
    def _momentum_rate_of_ports(self) -> Expression:
        force = port_force(self._tree, self._velocity, self._ports, self.friction)
        if self.gravity:
            force -= self._tree.gravity
        return self._terms.momentum_rate(self._z, self._velocity, force)

    @cached_property
    def _slope(self) -> Expression:
        return self._tree.slope(self._velocity)

    @cached_property
    def _tangent(self) -> Expression:
        """The matrix from velocities to the rates of a configuration's entries, (nq,nv)."""
        return ca.jacobian(self._coordinate_rate, self._v)

    def _derivatives(self, matrix: Expression, momentum: Expression) -> Expression:
        """Return the derivatives of ``matrix^T p`` along unit velocities, (k,nv), at fixed p."""
        p = ca.SX.sym("p", *momentum.shape)
        return ca.substitute(ca.jacobian(matrix.T @ p, self._q) @ self._tangent, p, momentum)

    def _function(
        self,
        name: str,
        outputs: dict[str, Expression],
        state: Expression | str | None = "z",
        has_ports: bool = False,
    ) -> Function:
        inputs = {"q": self._q}
        if isinstance(state, str):
            inputs["z"] = self._z
        elif state is not None:
            inputs["v"] = state
        if has_ports:
            inputs |= self._ports
        inputs |= self._parameter_symbols
        return ca.Function(
            name, [*inputs.values()], [*map(ca.densify, outputs.values())], [*inputs], [*outputs]
        )

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The power ports of a robot: efforts at the ports and the power balance."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..actuation.friction import Friction
from ..arrays import Array, vector
from ..errors import StateError
from ..evaluation import Evaluation
from ..model import VMSModel
from ..robot.joints import PORTS

__all__ = ["PORTS", "Ports", "PowerBalance", "port_names"]


def port_names(model: VMSModel) -> tuple[str, ...]:
    """Return the names of all power ports of a robot: :data:`PORTS`, then its tools."""
    return (*PORTS, *model.tools)


@dataclass(frozen=True, slots=True)
class Ports:
    """The efforts at the robot's power ports; positive power flows into the robot.

    Attributes:
        torque: (n,) at the joints, N m or N; None for zero.
        wrench_base: (b,) at the base in the base frame, linear first, N and N m.
        wrench_end_effector: (6,) at the end effector in its own frame, linear first, N and N m.
        wrench_tools: (6,) at each of ``model.tools`` in its own frame, by name; those left out
            are zero, None for all.
        gravity: whether gravity (and buoyancy) act; their potential is then part of the energy.
        friction: friction in the joints; None for none.
        drag: whether the drag of the surrounding fluid acts.

    Examples:
        >>> from vms_ph_dynamics import StandardForm
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> form = StandardForm(panda)
        >>> x = form.state(panda.home, np.ones(panda.nv))
        >>> balance = form.power_balance(x, Ports(torque=np.full(panda.n, 2.0)))
        >>> print(f"{balance.supplied['torque']:.1f} W")
        14.0 W
    """

    torque: Array | None = None
    wrench_base: Array | None = None
    wrench_end_effector: Array | None = None
    gravity: bool = True
    friction: Friction | None = None
    drag: bool = True
    wrench_tools: Mapping[str, Array] | None = None

    @classmethod
    def checked(cls, model: VMSModel, ports: "Ports", count: int | None = None) -> "Ports":
        """Return ``ports`` after checking every effort against the model.

        Args:
            model: the robot.
            ports: the efforts.
            count: number of states, of which each may have a row of its own; None for one state.

        Raises:
            StateError: the argument has the wrong shape or is not finite.
        """

        def effort(value: npt.ArrayLike | None, size: int, name: str) -> Array | None:
            if value is None:
                return None
            return vector(value, size, name) if count is None else _rows(value, count, size, name)

        if ports.friction is not None and len(ports.friction.viscous) != model.n:
            raise StateError(
                f"friction must be that of {model.n} joints; given: {len(ports.friction.viscous)}"
            )
        tools: dict[str, Any] = {
            name: effort(value, 6, f"wrench_tools['{name}']")
            for name, value in (ports.wrench_tools or {}).items()
        }
        if wrong := [name for name in tools if name not in model.tools]:
            tool_names = ", ".join(model.tools) or "none; give their names to the model"
            raise StateError(f"'{wrong[0]}' is no tool of '{model.name}'; its tools: {tool_names}")
        return replace(
            ports,
            wrench_tools=tools or None,
            torque=effort(ports.torque, model.n, "torque"),
            wrench_base=effort(ports.wrench_base, model.b, f"wrench_base of a {model.base} base"),
            wrench_end_effector=effort(ports.wrench_end_effector, 6, "wrench_end_effector"),
        )

    def __add__(self, other: "Ports") -> "Ports":
        """Return the sum of the efforts; gravity and drag act where both say so.

        The friction is that of ``other``, or this one where that has none.
        """

        def effort_sum(first: Array | None, second: Array | None) -> Array | None:
            return first if second is None else second if first is None else first + second

        a, b = self.wrench_tools or {}, other.wrench_tools or {}
        tools = {name: effort_sum(a.get(name), b.get(name)) for name in {**a, **b}}
        return Ports(
            effort_sum(self.torque, other.torque),
            effort_sum(self.wrench_base, other.wrench_base),
            effort_sum(self.wrench_end_effector, other.wrench_end_effector),
            self.gravity and other.gravity,
            self.friction if other.friction is None else other.friction,
            self.drag and other.drag,
            tools or None,  # type: ignore[arg-type]
        )

    @property
    def is_free(self) -> bool:
        """Whether gravity and drag are the only efforts."""
        efforts = (self.torque, self.wrench_base, self.wrench_end_effector, self.friction)
        return not self.wrench_tools and all(effort is None for effort in efforts)

    def force(self, d: Evaluation) -> Array:
        """Return the generalised force of all efforts including gravity, (nv,), N and N m.

        The efforts are not checked; see :meth:`checked`.
        """
        force = self.external_force(d)
        return force - d.g if self.gravity else force

    def external_force(self, d: Evaluation) -> Array:
        """Return the generalised force of all efforts except gravity, (nv,), N and N m."""
        b = d.model.b
        force = np.zeros(d.model.nv)
        if self.torque is not None:
            force[b:] += self.torque
        if self.wrench_base is not None:
            force[:b] += self.wrench_base
        if self.wrench_end_effector is not None:
            force += d.J_end_effector.T @ self.wrench_end_effector
        for name, wrench in (self.wrench_tools or {}).items():
            force += d.J_tools[name].T @ wrench
        if self.friction is not None:
            force[b:] += self.friction.force(d.v[b:])
        if self.drag and d.model.fluid is not None:
            force += d.model.fluid.drag(d)
        return force

    def supplied(self, d: Evaluation) -> dict[str, float]:
        """Return the power into the robot at every port, W."""
        b, v = d.model.b, d.v
        torque, base_wrench, tool_wrench = self.torque, self.wrench_base, self.wrench_end_effector
        powers = (
            0.0 if torque is None else float(torque @ v[b:]),
            0.0 if base_wrench is None else float(base_wrench @ v[:b]),
            0.0 if tool_wrench is None else float(tool_wrench @ (d.J_end_effector @ v)),
        )
        supplied = dict(zip(PORTS, powers, strict=True))
        for name in d.model.tools:
            wrench = None if self.wrench_tools is None else self.wrench_tools.get(name)
            supplied[name] = 0.0 if wrench is None else float(wrench @ (d.J_tools[name] @ v))
        return supplied

    def dissipated(self, d: Evaluation) -> float:
        """Return the power dissipated by friction and drag, W; never negative."""
        power = 0.0
        if self.friction is not None:
            rates = d.v[d.model.b :]
            power -= float(rates @ self.friction.force(rates))
        if self.drag and d.model.fluid is not None:
            power -= float(d.v @ d.model.fluid.drag(d))
        return power


def _rows(value: npt.ArrayLike, count: int, size: int, name: str) -> Array:
    """Return an effort of many states, (size,) or (count,size), after checking it."""
    try:
        efforts = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise StateError(f"{name} must be numbers; given: {value!r}") from None
    if efforts.shape not in ((size,), (count, size)):
        raise StateError(
            f"{name} must have shape ({size},) for all states or ({count},{size}), one row for "
            f"each; given: shape {efforts.shape}"
        )
    if not np.isfinite(efforts).all():
        raise StateError(f"{name} must be finite; an entry is not")
    return efforts


@dataclass(frozen=True, slots=True)
class PowerBalance:
    """The power balance ``stored = sum(supplied) - dissipated + residual``, all in W.

    ``stored`` is the time derivative of the Hamiltonian along the motion, computed from its
    gradient; the residual is therefore a check; it is at the level of rounding for a correct model.
    """

    stored: float
    supplied: Mapping[str, float]
    dissipated: float

    @property
    def residual(self) -> float:
        """``stored - sum(supplied) + dissipated``, W."""
        return self.stored - sum(self.supplied.values()) + self.dissipated

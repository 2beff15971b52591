# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A law of anybody behind a guard of energy."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from vms_ph_dynamics import Array, ModelError, OptionError, VMSModel
from vms_ph_dynamics.arrays import summary

from ..controller import Command, Controller, FunctionLaw, LawWrapper, Reference, RobotState, Status
from .certificate import Certificate
from .motion_limits import EnergyGuardSettings, settings_with_budget
from .port_guard import PortGuard

Law = Controller | Callable[[Array, Array, float], Any]
"""A law, or a function from q (nq,), v (nv,) and the time step (s) to efforts: torques (n,), base
wrench and torques (nv,), or a record with ``wrench_base`` and ``torque``."""


class EnergyGuard(LawWrapper):
    """Any law, and the largest energy that it may give to the robot.

    ``EnergyGuard(law, budget=1.0)`` is a controller like the law, of which the efforts pass a
    :class:`PortGuard`: unchanged while its tank covers the energy that they can give through the
    actuated ports, otherwise scaled or replaced by a brake. The tank holds the budget, less what
    was given; what a law takes out of the motion fills it up to its capacity, and the rest is lost.
    So a law may be limited that has given less than the budget on balance.
    ``print(guard.certificate)`` shows what it has given and taken. A law that raises, or returns no
    efforts of this robot, is replaced by gravity compensation and damping; the certificate counts
    such updates and names the first cause.

    Attributes:
        law: the law; a function is wrapped as a :class:`Controller` without gains.
        make_guard: of its efforts: :class:`PortGuard`, or that of a driver.

    Args:
        law: a :class:`Controller`, or a function ``(q, v, dt) -> efforts``, see :data:`Law`; None
            where a simulation sets it by :meth:`attach`.
        budget: energy that the law may give, J; None for that of the settings.
        model: the robot; needed for a function, unless a simulation gives it.
        settings: further limits; the defaults when None.
        options: further arguments of :class:`PortGuard`, such as ``allocation``.

    Raises:
        ModelError: the law is none, or settings and options do not fit the robot.
        OptionError: the budget is no energy, or there is no such option.

    Examples:
        >>> from vms_ph_io import simulate
        >>> guard = EnergyGuard(lambda q, v, dt: 40.0 * v, budget=1.0)  # negative damping
        >>> run = simulate("panda", guard, 0.3, v=[0.1] * 7)
        >>> guard.certificate.verdict
        'kept'
    """

    def __init__(
        self,
        law: Law | None = None,
        budget: float | None = None,
        *,
        model: VMSModel | None = None,
        settings: EnergyGuardSettings | None = None,
        **options: Any,
    ) -> None:
        self._settings = settings_with_budget(settings, budget)
        option_names = list(inspect.signature(PortGuard).parameters)[2:]
        if unknown_names := [name for name in options if name not in option_names]:
            raise OptionError(
                f"EnergyGuard has no option '{unknown_names[0]}'; it takes law, budget (J), model, "
                f"settings, {', '.join(option_names)}"
            )
        self._options = options
        self._port_guard: PortGuard | None = None
        self.make_guard: Callable[..., PortGuard] = PortGuard
        self._is_engaged = False
        self._failure_count, self._first_failure = 0, ""
        self._function: Callable[..., Any] | None = None
        if isinstance(law, VMSModel | type) or not (law is None or callable(law)):
            name = getattr(law, "__name__", type(law).__name__)
            raise ModelError(
                "EnergyGuard guards a law: a Controller, such as CartesianImpedance(model), or a "
                f"function (q, v, dt) that returns torques; given: {name}. "
                "PortGuard(model) guards efforts of others"
            )
        if isinstance(law, Controller) or (law is not None and model is not None):
            self.attach(law, model)
        elif law is not None:
            self._function = law

    def attach(self, law: Law | None = None, model: VMSModel | None = None) -> "EnergyGuard":
        """Guard a law on a robot from now on; return the guard itself. Simulations call this.

        Args:
            law: see :class:`EnergyGuard`; None keeps the present one.
            model: the robot; None for that of the law.

        Raises:
            ModelError: law or robot are not known, or the settings do not fit the robot.
        """
        law = self._function or vars(self).get("law") if law is None else law
        if isinstance(law, Controller):
            self._wrap(law)
        elif law is None or model is None:
            raise ModelError(
                "an EnergyGuard needs a law and its robot: EnergyGuard(law, budget=1.0), "
                "EnergyGuard(function, budget=1.0, model=model), or simulate(..., guard=guard)"
            )
        else:
            self._wrap(FunctionLaw(model, law))
        self._port_guard = self.make_guard(self.model, self._settings, **self._options)
        self._is_engaged = False
        return self

    def __repr__(self) -> str:
        """Return law and tank, in one line."""
        if self._port_guard is None:
            return summary(self, f"budget {self._settings.tank_initial:g} J", "no robot yet")
        return summary(self, repr(self.law), repr(self._port_guard.tank))

    @property
    def port_guard(self) -> PortGuard:
        """The guard of the efforts, with its settings and its tank."""
        if self._port_guard is None:
            self.attach()
        assert self._port_guard is not None
        return self._port_guard

    @property
    def certificate(self) -> Certificate:
        """What was given and what the guard could not see since the reset; it prints as text."""
        certificate, count = self.port_guard.certificate, self._failure_count
        return replace(certificate, law_failures=count, first_failure=self._first_failure)

    def reset(self, state: RobotState) -> None:
        """Restart the law, with a tank at its initial level; see :meth:`Controller.reset`."""
        self.port_guard.engage(state.q, state.v)
        self._failure_count, self._first_failure = 0, ""
        self.law.reset(state)
        self._is_engaged = True

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the command of the law within the budget; see :meth:`Controller.update`.

        A guard that was not reset begins at the state of its first update.
        """
        port_guard = self.port_guard
        if not self._is_engaged and state.is_usable(self.model):
            self.reset(state)
        fault = ""
        try:
            command = self.law.update(state, reference, dt)
            effort = np.concatenate([command.wrench_base, command.torque])
        except Exception as error:  # a law of a user may raise anything
            fault = f"the law raised {type(error).__name__}: {error}"
            self._failure_count += 1
            self._first_failure = self._first_failure or f"{type(error).__name__}: {error}"
            command = Command(np.zeros(self.model.b), np.zeros(self.model.n))
            effort = np.full(self.model.nv, np.nan)
        guarded_effort, b = port_guard.update(state.q, state.v, effort, dt), self.model.b
        status, reasons = guarded_effort.status, (fault, command.reason, guarded_effort.reason)
        if status is Status.HOLDING:
            self.law.note_missed_updates()
        elif command.status is not Status.OK:
            status = command.status
        clipped_power = command.energy.clipped_power
        if guarded_effort.status is not Status.HOLDING:
            clipped_power += float((guarded_effort.effort - effort) @ state.v)
        energy = replace(command.energy, clipped_power=clipped_power, tank_level=port_guard.level)
        return replace(
            command,
            wrench_base=guarded_effort.effort[:b],
            torque=guarded_effort.effort[b:],
            energy=energy,
            status=status,
            reason="; ".join(filter(None, reasons)),
        )

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Laws of this library: readable lines in Python, and a twin in C++ that runs in their place."""

from abc import abstractmethod
from contextlib import suppress
from dataclasses import asdict, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np

from vms_ph_dynamics import Allocation, Array, ModelError, StateError, VMSModel
from vms_ph_dynamics.native import NOT_INSTALLED_MESSAGE, native_module
from vms_ph_dynamics.robot.algorithms import immersed_robot, native_robot
from vms_ph_dynamics.robot_model import require_model

from ..controller import Command, ControlEnergy, Controller, Reference, RobotState, Status

_OTHER_SOURCES = "the C++ core was built from other sources, ./vms native builds it anew"


class TwinnedController(Controller):
    """A law with a twin in C++ that gives the same commands, an order faster.

    The twin runs where the C++ core is installed and serves the model, and the class of the law is
    one of this library and not derived from it. Otherwise the lines in Python run. What runs is
    decided once, at the first reset or update, so that a law never jumps from one to the other;
    :attr:`implementation` says it.
    ``VMSModel.with_native(False)`` keeps a law in Python.

    Attributes:
        gains: the present values; those of a new record act from the next update on.
    """

    def __new__(cls, model: VMSModel | None = None, *arguments: Any, **keywords: Any) -> Any:
        """Refuse what is taken for an argument of a law: a name as its robot, or a gain.

        Raises:
            ModelError: the model is none, or an argument is a gain.
        """
        law = super().__new__(cls)
        if model is not None:  # as for copies; a law of wheels takes their form
            require_model(getattr(model, "model", model), law)
        if gain_name := next((f.name for f in fields(cls.Gains) if f.name in keywords), ""):
            name = cls.__name__
            raise ModelError(f"{gain_name} is a gain: {name}(model, {name}.Gains({gain_name}=...))")
        return law

    def __init__(
        self,
        model: VMSModel,
        gains: Any,
        allocation: Allocation | None = None,
        base_actuated: bool = True,
    ) -> None:
        """Prepare a law.

        Args:
            model: the robot.
            gains: the gains; None for the defaults.
            allocation: the actuators of the base; None for a base that can apply any wrench.
            base_actuated: False for a base without actuators.
        """
        super().__init__(model)
        self._allocation, self._base_actuated = allocation, base_actuated
        self._has_started = False
        self._last_q = model.neutral_configuration()  # of the last usable state
        self.gains = self._checked_gains(gains)

    def __getstate__(self) -> dict[str, Any]:
        """Copy the law as one that was not reset: a copy holds the pose of its first update."""
        attributes = {name: value for name, value in vars(self).items() if name != "twin"}
        return {**attributes, "_has_started": False}

    @property
    def gains(self) -> Any:
        """The gains; see :class:`TwinnedController`."""
        return self._gains

    @gains.setter
    def gains(self, gains: Any) -> None:
        """Replace the gains.

        Raises:
            ModelError: they are not a ``Gains`` record of this law, or one is out of its bounds.
        """
        self._gains = self._checked_gains(gains)

    @property
    def implementation(self) -> str:
        """What runs: ``C++``, or ``Python: `` and the reason."""
        return "C++" if self.twin is not None else f"Python: {self._python_reason}"

    @cached_property
    def twin(self) -> Any:
        """The law in C++, a ``vms_ph_native.Law`` with the present gains; None for Python."""
        module, model, law_class = native_module(), self.model, type(self)
        library_class = next(c for c in law_class.__mro__ if c.__module__.startswith(__package__))
        if law_class is not library_class:
            self._python_reason = f"{law_class.__name__} derives from {library_class.__name__}"
        elif module is None:
            self._python_reason = NOT_INSTALLED_MESSAGE
        elif not model.is_native:
            self._python_reason = f"the model of '{model.name}' is evaluated in Python"
        else:
            try:
                twin = self._make_twin(module)
                if "measured_wrench" in twin.update.__doc__ and self._set_gains(twin):
                    return twin
                self._python_reason = _OTHER_SOURCES
            except (AttributeError, TypeError):
                self._python_reason = _OTHER_SOURCES
            except ValueError as error:  # the ModelError of C++, which covers fewer robots
                self._python_reason = str(error)
        return None

    def _make_twin(self, module: Any) -> Any:
        """Return the law in C++.

        Raises:
            ValueError: the core does not cover the robot.
        """
        name, model = type(self).__name__, core_model(module, self.model)
        actuators = core_allocation(module, self._allocation)
        return module.make_law(name, model, allocation=actuators, base_actuated=self._base_actuated)

    def synchronise(self) -> Any:
        """Set the present gains in the twin and return it; None where the law runs in Python."""
        twin = self.twin
        if twin is not None and self._gains is not self._twin_gains:
            self._set_gains(twin)
        return twin

    def _set_gains(self, twin: Any) -> bool:
        """Set the present gains in C++; return whether it has them all."""
        gains = self._twin_gains = self._gains
        are_accepted = [twin.set_gain(name, float(x)) for name, x in asdict(gains).items()]
        return all(are_accepted)

    def reset(self, state: RobotState) -> None:
        """Hold the present pose; see :meth:`Controller.reset`."""
        self._start(state, "reset")

    def resume(self, state: RobotState) -> None:
        """Hold the present pose with the energy that is left; see :meth:`Controller.resume`."""
        self._start(state, "resume")

    def set_minimum(self, q: Array) -> None:
        """Hold what a configuration (nq,) has: its joints, and poses of base and end effector.

        Raises:
            StateError: it is not a configuration of the model.
        """
        self.reset(RobotState(q, np.zeros(self.model.nv)))

    def _start(self, state: RobotState, method: Literal["reset", "resume"]) -> None:
        self.model.evaluate(state.q, state.v)  # says what is wrong
        self._has_started, self._last_q = True, np.array(state.q, dtype=float)
        twin = self.synchronise()
        if twin is None:
            {"reset": self._reset, "resume": self._resume}[method](state)
        elif not getattr(twin, method)(state.q, state.v):
            raise StateError("the law cannot start in this state")

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the command for a state; see :meth:`Controller.update`.

        A law that was not reset holds the pose of its first update.
        """
        if state.is_usable(self.model):
            if not self._has_started:
                with suppress(StateError):
                    self.reset(state)
            self._last_q = np.array(state.q, dtype=float)
        twin = self.synchronise()
        if twin is None:
            return self._update(state, reference, dt)
        return command_in_cpp(twin, state, reference, dt)

    def note_missed_updates(self) -> None:
        """Credit nothing to a tank for the motion; see :meth:`Controller.note_missed_updates`."""
        if self.twin is None:
            self._note_missed_updates()
        else:
            self.twin.note_missed_updates()

    def safe_output(self, q: Array) -> Command:
        """Return the effort that holds the robot; see :meth:`Controller.safe_output`.

        At the last configuration where ``q`` (nq,) is none.
        """
        is_usable = RobotState(q, np.zeros(self.model.nv)).is_usable(self.model)
        return self._safe_output(q if is_usable else self._last_q)

    def _safe_output(self, q: Array) -> Command:
        """Return the effort that holds the robot at a configuration (nq,)."""
        return super().safe_output(q)

    @abstractmethod
    def _reset(self, state: RobotState) -> None:
        """Hold the present pose, in Python."""

    def _resume(self, state: RobotState) -> None:
        """Hold the present pose with the energy that is left, in Python."""
        self._reset(state)

    @abstractmethod
    def _update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the command for a state, in Python."""

    def _note_missed_updates(self) -> None:
        """Credit nothing to a tank for the motion, in Python."""


def core_model(module: Any, model: VMSModel) -> Any:
    """Return the robot, with mimic joints and fluid, as a ``vms_ph_native.Model``.

    Raises:
        ValueError: the core does not cover the robot; the message says why.
    """
    return immersed_robot(native_robot(module, model.tree, model.end_effector), model.fluid)


def core_allocation(module: Any, allocation: Allocation | None) -> Any:
    """Return the actuators of a base as a ``vms_ph_native.Allocation``, or None."""
    if allocation is None:
        return None
    return module.Allocation.of_matrix(allocation.matrix, allocation.lower, allocation.upper)


def command_in_cpp(twin: Any, state: RobotState, reference: Reference, dt: float) -> Command:
    """Return the command of a law in C++ as a record in Python."""
    command = twin.update(state.q, state.v, dt, *reference.parts, state.age, state.wrench)
    wrench, torque, energies, status, *remaining_fields = command.parts
    return Command(wrench, torque, ControlEnergy(*energies), Status(status), *remaining_fields)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What stands between a host and a law: plausible states and references in, bounded efforts out."""

from dataclasses import asdict, replace
from typing import Any

from vms_ph_dynamics import Allocation, Array, VMSModel
from vms_ph_dynamics.arrays import is_finite
from vms_ph_dynamics.native import native_module

from ..controller import LONGEST_SAMPLE, Command, Controller, Reference, RobotState
from ..laws.sampled_impedance import holds_weight, horizon
from ..laws.twinned_controller import TwinnedController, command_in_cpp, core_allocation, core_model
from ..safety.output_stage import SafeOutput
from ..safety.plausibility import (
    Judgement,
    PlausibilityBounds,
    ReferencePlausibility,
    StatePlausibility,
)

_NO_REFERENCE = Reference()

# Time step of the safe output where the measured one cannot be one, s.
_DEFAULT_DT = 1e-3


class Supervisor:
    """Stands between a host and any law, also one of a user.

    The law receives plausible states and references only. At any other state, and where the law
    raises or returns numbers that are not finite, its safe output acts with damping
    (:class:`SafeOutput`) and status HOLDING, and so it does at a state older than a sample for a
    law without a gain ``delay`` (laws that have one lower damping and stiffness by the age), and at
    one that comes too late to hold the weight. :class:`.StatePlausibility` says when the law acts
    again; references that came in between then take effect, unless the law had to be restarted.
    Around a law that runs in C++ all of this runs in C++.

    Attributes:
        law: the law.
        twin: the ``vms_ph_native.Supervisor``; None in Python.
    """

    def __init__(
        self,
        law: Controller,
        allocation: Allocation | None = None,
        base_actuated: bool = True,
        bounds: PlausibilityBounds | None = None,
    ) -> None:
        """Supervise a law on a robot with the actuators of its base; see :class:`BaseActuation`.

        Raises:
            ModelError: the allocation is for another kind of base.
        """
        self.law, self._model = law, law.model
        self._state_check = StatePlausibility(law.model, bounds)
        self._reference_check = ReferencePlausibility(law.model, bounds)
        self._safe_output = SafeOutput(law.model, allocation, base_actuated)
        self._pending_reference = _NO_REFERENCE
        self._age = 0.0  # of the last state, s
        module: Any = native_module()
        self.twin = law.twin if isinstance(law, TwinnedController) else None
        if self.twin is not None:
            self.twin = module.Supervisor(
                core_model(module, law.model),
                self.twin,
                asdict(bounds or PlausibilityBounds()),
                core_allocation(module, allocation),
                base_actuated,
            )

    def reset(self, state: RobotState) -> None:
        """Restart the law, and accept where the robot is.

        Raises:
            StateError: the state does not fit the model.
        """
        d = self._model.evaluate(state.q, state.v)
        self.law.reset(state)
        self._pending_reference = _NO_REFERENCE
        if self.twin is not None:
            self.twin.reset(d.q, d.v)
        self._state_check.restart(d.q, d.v)

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the command of the law or the safe output; see :meth:`Controller.update`.

        Never raises; every number of the efforts is finite, and the torques are within their
        limits.

        Args:
            state: as measured.
            reference: what to follow.
            dt: time since the last update, s.
        """
        twin = self.synchronise()
        if twin is not None:
            return command_in_cpp(twin, state, reference, dt)
        self._age = max(0.0, min(state.age, LONGEST_SAMPLE))
        judgement = self._state_check.judge(state.q, state.v, dt)
        self._pending_reference = _merged_reference(self._pending_reference, reference)
        if judgement.reason:
            return self._hold(judgement, dt, f"implausible state: {judgement.reason}")
        if not self.holds_weight(state, dt):
            reason = f"states {state.age:.3g} s old come too late to hold the weight"
            return self._hold(judgement, dt, reason)
        if state.age > dt and not hasattr(self.law.gains, "delay"):
            reason = f"the state is {state.age:.3g} s old, and the law has no gain 'delay'"
            return self._hold(judgement, dt, reason)
        pending_reference, self._pending_reference = self._pending_reference, _NO_REFERENCE
        requested_reference, problem = self._reference_check.plausible_part(
            _NO_REFERENCE if judgement.needs_restart else pending_reference, state.q
        )
        try:
            if judgement.needs_restart:
                self.law.resume(state)
            command = self.law.update(state, requested_reference, dt)
            is_usable = _is_usable(command, self._model)
        except Exception as error:  # a law of a user may raise anything
            return self._hold(judgement, dt, f"the law raised {type(error).__name__}: {error}")
        if not is_usable:
            return self._hold(judgement, dt, "the law returned no finite efforts of this robot")
        return command.clip(self._model.joints.effort, "torque at its limit").with_reason(problem)

    def synchronise(self) -> Any:
        """Set the present gains in C++ and return the twin; None in Python."""
        if self.twin is not None:
            self.law.synchronise()  # type: ignore[attr-defined]
        return self.twin

    def holds_weight(self, state: RobotState, dt: float) -> bool:
        """Return whether the weight can be held with states of this age; true at age zero.

        Where it cannot, the robot falls whatever a controller does: a host commands nothing, so
        that the drives brake, which measure without delay.
        """
        if state.age == 0.0:
            return True
        if not 0.0 < state.age <= LONGEST_SAMPLE:
            return False
        h = horizon(dt, 1.0, state.age)
        return not state.is_usable(self._model) or holds_weight(self._model, state.q, h)

    def _hold(self, judgement: Judgement, dt: float, reason: str) -> Command:
        hold_time = dt if 0.0 < dt <= LONGEST_SAMPLE else _DEFAULT_DT
        try:
            self.law.note_missed_updates()
            compensation = self.law.safe_output(judgement.q)
            is_usable = _is_usable(compensation, self._model)
        except Exception:  # as above
            is_usable = False
        safe_command = self._safe_output.command(
            judgement.q, judgement.v, hold_time, compensation if is_usable else None, self._age
        )
        return replace(safe_command, reason=f"{reason}; holding against gravity and damping")


def _merged_reference(pending_reference: Reference, reference: Reference) -> Reference:
    """Return a reference with the pending targets where it has none."""
    if pending_reference is _NO_REFERENCE:
        return reference
    names = (n for n in ("position", "pose", "joints", "wrench") if getattr(reference, n) is None)
    return replace(reference, **{name: getattr(pending_reference, name) for name in names})


def _is_usable(command: Command, model: VMSModel) -> bool:
    torque, wrench = command.torque, command.wrench_base
    fits_robot = torque.shape == (model.n,) and wrench.shape == (model.b,)
    return fits_robot and is_finite(torque) and is_finite(wrench)


class ConstantReference:
    """A law or a supervised law on a reference that does not move, as control of a simulation.

    Attributes:
        law: a :class:`Supervisor` or a :class:`.Controller`.
        reference: reference that the law is given at every update.
    """

    def __init__(self, law: Supervisor | Controller, reference: Reference) -> None:
        self.law, self.reference = law, reference

    def __call__(self, q: Array, v: Array, dt: float) -> Command:
        """Return the command; see :data:`vms_ph_dynamics.simulation.Control`."""
        return self.law.update(RobotState(q, v), self.reference, dt)

    def cpp_law(self) -> tuple[Any, tuple[Any, ...]] | None:
        """Return law and reference in C++, for many steps at once; None for a law in Python."""
        twin = getattr(self.law, "synchronise", lambda: None)()
        return None if twin is None else (twin, self.reference.parts)

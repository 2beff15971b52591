# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Laws of this library in C++, without a guard, behind the interface of the laws in Python."""

from typing import Any

from vms_ph_dynamics import StateError
from vms_ph_dynamics.actuation.allocation import Allocation
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.native import chosen

from ..controller import Command, Controller, Reference, RobotState
from .native_twin import (
    OTHER_SOURCES,
    core_model,
    core_rotors,
    gains_refused,
    obstacle_of,
    recorded,
    wheels_of,
)


class NativeLaw(Controller):
    """A law in C++: the same commands, an order faster.

    A change of :attr:`gains` takes effect at the next update or reset.

    Attributes:
        law: the law in Python, which holds the gains and gives the safe output.
    """

    def __init__(
        self, law: Controller, allocation: Allocation | None, base_actuated: bool, module: Any
    ) -> None:
        """Make the counterpart of a law.

        Raises:
            ValueError: C++ does not cover this robot, or has been built from other sources.
        """
        super().__init__(law.model)
        self.law = law
        self.Gains = law.Gains  # type: ignore[misc]
        self._law = module.Law(
            type(law).__name__,
            core_model(module, law.model),
            allocation=core_rotors(module, allocation),
            base_actuated=base_actuated,
            wheels=wheels_of(law) or {},
        )
        self._taken: Any = None
        if not hasattr(self._law, "resume") or gains_refused(self._law, law.gains):
            raise ValueError(f"the installed C++ core is an earlier one; {OTHER_SOURCES}")

    @property
    def gains(self) -> Any:
        """The gains of the law."""
        return self.law.gains

    @gains.setter
    def gains(self, gains: Any) -> None:
        self.law.gains = gains

    @property
    def options(self) -> tuple[str, ...]:
        """Those of the law; see :class:`.Controller`."""
        return self.law.options

    def reset(self, state: RobotState) -> None:
        """Restart the law; see :class:`.Controller`."""
        self._begin(self._law.reset, state)

    def resume(self, state: RobotState) -> None:
        """Continue at another pose; see :class:`.Controller`."""
        self._begin(self._law.resume, state)

    def update(self, state: RobotState, reference: Reference, dt: float) -> Command:
        """Return the command for a state; see :class:`.Controller`."""
        self._take_gains()
        r = reference
        return recorded(
            self._law.update(
                state.q, state.v, r.pose, r.twist, r.joints, dt, r.position, r.velocity, r.wrench
            )
        )

    def safe_output(self, q: Array) -> Command:
        """Return the effort that holds the robot; see :class:`.Controller`."""
        return self.law.safe_output(q)

    def missed_updates(self) -> None:
        """Note that updates were missed; see :class:`.Controller`."""
        self._law.missed_updates()

    def _begin(self, how: Any, state: RobotState) -> None:
        self.model.evaluate(state.q, state.v)  # says what is wrong
        self._take_gains()
        if not how(state.q):
            raise StateError("the law cannot start in this state")

    def _take_gains(self) -> None:
        if self.law.gains is not self._taken:
            self._taken = self.law.gains
            gains_refused(self._law, self._taken)


def in_cpp(
    law: Controller,
    allocation: Allocation | None = None,
    base_actuated: bool = True,
    native: bool | None = None,
) -> Controller:
    """Return a law without a guard, in C++ where that exists.

    Args:
        law: the law; with :attr:`.Controller.options` it stays in Python, as any other class does.
        allocation: the actuators of the base.
        base_actuated: whether the base has actuators.
        native: True requires C++, False excludes it, None uses it where it exists.

    Raises:
        ModelError: ``native=True``, but there is no such law in C++.
    """
    found = chosen(
        native,
        obstacle_of(law),
        lambda module: NativeLaw(law, allocation, base_actuated, module),
        "the law in Python is used",
    )
    return law if found is None else found

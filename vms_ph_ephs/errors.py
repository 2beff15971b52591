# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Errors of systems; their messages name the box, port or junction."""

from vms_ph_dynamics import ModelError, StateError


class PatternError(ModelError):
    """An invalid connection: a port is missing, of another quantity, or connected twice."""


class StructureError(ModelError):
    """A component whose structure violates a law: it is not skew, symmetric or semidefinite."""


class SimulationError(StateError):
    """A state from which the equations cannot be continued.

    Attributes:
        time: of the last good state, s.
        state: the last good state.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.time: float | None = None
        self.state: object = None


class InconsistentState(SimulationError):
    """A state that violates a constraint by more than the tolerance."""


class TemperatureError(SimulationError):
    """An absolute temperature at or below zero."""


class SingularConstraint(SimulationError):
    """Constraints that have lost rank, so that their forces are not determined."""


class LawError(SimulationError):
    """A component that violates a law of thermodynamics at efforts that occur."""

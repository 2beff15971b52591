"""Errors of systems; their messages name the box, port or junction."""

from ..errors import ModelError, StateError


class PatternError(ModelError):
    """Wires that do not fit: a port that is missing, of another quantity, or connected twice."""


class StructureError(ModelError):
    """A component whose structure breaks a law: not skew, not symmetric, not non-negative."""


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
    """Constraints that lose rank, so that their forces are not determined."""

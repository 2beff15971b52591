"""The errors of the project; a message says what was given, what is accepted, what to do."""


class VmsPhError(Exception):
    """Base of every error that this project raises for a user's mistake."""


class ModelError(VmsPhError, ValueError):
    """A robot description that no physical robot can have, or that the theory does not cover."""


class StateError(VmsPhError, ValueError):
    """A state, force or matrix of the wrong shape, or with entries that are not finite."""


class OptionError(VmsPhError, ValueError):
    """An option or name that does not exist; the message lists those that do."""

"""Pure mathematics of manipulators on moving bases, in port-Hamiltonian form."""

from typing import TYPE_CHECKING, Any

from .errors import ModelError, StateError, VmsPhError

if TYPE_CHECKING:
    from .evaluation import Evaluation
    from .model import VMSModel

__all__ = ["Evaluation", "ModelError", "StateError", "VMSModel", "VmsPhError"]


def __getattr__(name: str) -> Any:
    # Pinocchio takes a tenth of a second to import, which those who only want an error class (a
    # launcher, a command that lists topics) need not wait for.
    if name == "VMSModel":
        from .model import VMSModel

        return VMSModel
    if name == "Evaluation":
        from .evaluation import Evaluation

        return Evaluation
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""What a differential task is."""

from abc import ABC, abstractmethod

from ..arrays import Array
from ..evaluation import Evaluation
from ..model import VMSModel


class Task(ABC):
    """A linear map ``eta = J(q) v`` from velocities to a task velocity [D (1)].

    Attributes:
        dimension: m, the size of ``eta``.
    """

    dimension: int

    def __init__(self, model: VMSModel) -> None:
        self.model = model

    @abstractmethod
    def jacobian(self, d: Evaluation) -> Array:
        """Return ``J(q)``, (m,nv)."""

    @abstractmethod
    def jacobian_rate(self, d: Evaluation) -> Array:
        """Return the derivative of ``J`` along the velocity of the evaluation, (m,nv)."""

    @abstractmethod
    def jacobian_gradient(self, d: Evaluation) -> Array:
        """Return the derivatives of ``J`` along each unit velocity, (m,nv,nv), the last index."""

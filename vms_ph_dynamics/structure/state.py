"""States of a port-Hamiltonian system and their rates."""

from dataclasses import dataclass
from typing import NamedTuple

from ..arrays import Array


@dataclass(frozen=True, slots=True)
class PHState:
    """A configuration and the momenta of a form.

    Attributes:
        q: (nq,) configuration.
        z: (nv,) momenta, stacked as defined by the form.
    """

    q: Array
    z: Array


class PHRate(NamedTuple):
    """The time derivative of a :class:`PHState`.

    Attributes:
        qdot: (nv,) velocity, base part in the base frame.
        zdot: (nv,) rate of the momenta.
    """

    qdot: Array
    zdot: Array

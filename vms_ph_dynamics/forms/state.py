# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""States, rates and energies of the forms."""

from dataclasses import dataclass
from typing import NamedTuple

from ..arrays import Array


@dataclass(frozen=True, slots=True)
class PHState:
    """A configuration and the momenta of a form.

    Attributes:
        q: (nq,) configuration, m and rad.
        z: (nv,) momenta, stacked as defined by the form, N s and N m s.
    """

    q: Array
    z: Array


class PHRate(NamedTuple):
    """The time derivative of a :class:`PHState`.

    Attributes:
        qdot: (nv,) velocity, base part in the base frame, m/s and rad/s.
        zdot: (nv,) rate of the momenta, N and N m.
    """

    qdot: Array
    zdot: Array


class Energy:
    """Value of the Hamiltonian, J, as the sum of parts that begin with ``kinetic``, and potential.

    Attributes:
        potential: potential energy of gravity and buoyancy, J.
    """

    potential: float

    def __repr__(self) -> str:
        """Return kinetic and potential energy, in one line."""
        return f"Energy(kinetic={self.kinetic:.6g} J, potential={self.potential:.6g} J)"

    @property
    def kinetic(self) -> float:
        """Kinetic energy of the whole motion, J."""
        return float(sum(part for name, part in vars(self).items() if name != "potential"))

    @property
    def total(self) -> float:
        """Kinetic and potential together, J."""
        return self.kinetic + self.potential


@dataclass(frozen=True)
class StandardEnergy(Energy):
    """Energy whose kinetic part is not split, J.

    Attributes:
        kinetic_total: the kinetic energy, J.
        potential: potential energy of gravity and buoyancy, J.
    """

    kinetic_total: float
    potential: float


@dataclass(frozen=True)
class BaseShapeEnergy(Energy):
    """Energy split into that of the locked motion and that of the shape [A (60)], J.

    Attributes:
        kinetic_base: kinetic energy of the locked motion, J.
        kinetic_shape: kinetic energy of the motion of the joints, J.
        potential: potential energy of gravity and buoyancy, J.
    """

    kinetic_base: float
    kinetic_shape: float
    potential: float


@dataclass(frozen=True)
class TaskEnergy(Energy):
    """Energy split into that of a task and that of its null space [D, after (26)], J.

    Attributes:
        kinetic_task: kinetic energy of the motion of the task, J.
        kinetic_null: kinetic energy of the motion in its null space, J.
        potential: potential energy of gravity and buoyancy, J.
    """

    kinetic_task: float
    kinetic_null: float
    potential: float

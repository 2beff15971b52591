# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""States of a port-Hamiltonian system and their rates."""

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

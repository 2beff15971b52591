# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A spring that holds the base of a robot where it was."""

from dataclasses import dataclass

import numpy as np

from vms_ph_dynamics import Array, Evaluation, VMSModel
from vms_ph_dynamics.groups import SE3

from .pose_potential import PosePotential

_SE3 = SE3()

BASE_COMPONENTS = {
    "fixed": np.zeros(0, dtype=int),
    "planar": np.array([0, 1, 5]),
    "floating": np.arange(6),
}
"""Indices of the components of a base twist in a spatial twist."""


@dataclass(frozen=True, slots=True)
class SpringForce:
    """What holds the base: its energy, J, gradient (b,) and stiffnesses (b,)."""

    energy: float
    force: Array
    stiffness: Array


class BaseSpring:
    """A :class:`PosePotential` of the base about its pose at the last restart.

    Its stiffness is given by a frequency relative to the locked inertia there.

    Attributes:
        components: (b,) indices of the components of a base twist in a spatial one.
    """

    def __init__(self, model: VMSModel) -> None:
        self._model = model
        self.components = BASE_COMPONENTS[model.base]
        self._potential = PosePotential()

    def restart(self, d: Evaluation) -> None:
        """Hold the base where it is in a state."""
        b = self._model.b
        self._home = self._model.base_pose(d.q)
        self._potential.restart(np.eye(4))
        linear = {"fixed": 0, "planar": 2, "floating": 3}[self._model.base]
        diagonal = np.diag(d.M_b)
        self._inertia = (
            (float(diagonal[:linear].mean()), float(diagonal[linear:b].mean())) if b else (0.0, 0.0)
        )

    def move(self, pose: Array) -> None:
        """Hold the base at another pose (4,4) from now on."""
        self._home = pose

    def at(self, pose: Array, frequency: float, share: float, turning: float) -> SpringForce:
        """Return the spring at a pose (4,4) of the base.

        Args:
            pose: of the base in the inertial frame.
            frequency: rad/s.
            share: of the spring of its place that is in force, in [0, 1].
            turning: of the spring of its attitude.
        """
        if share == 0.0 and turning == 0.0:
            zero = np.zeros(self._model.b)
            return SpringForce(0.0, zero, zero)
        error = _SE3.inverse(self._home) @ pose
        self._potential.follow(error)
        mass, inertia = self._inertia
        k = [share * frequency**2 * mass, turning * frequency**2 * inertia]
        gradient = self._potential.gradient(error, *k)
        stiffness = np.repeat(k, 3)
        energy = self._potential.value(error, *k)
        return SpringForce(energy, gradient[self.components], stiffness[self.components])

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A control law as a box with the ports of a robot, which gives only the energy of its store."""

from collections.abc import Mapping

import numpy as np

from vms_ph_dynamics.arrays import Array

from .. import (
    Component,
    PatternError,
    Port,
    Quantity,
    Reversible,
    Storage,
    System,
    compose,
)
from ..patterns import power, state
from ..quantities import Euclidean, R

STORE, EFFORTS = "store", "efforts"

_energy = Quantity(R, "energy")


class HeldEfforts(Reversible):
    """The Dirac structure ``f = -tau, f_store = tau . u`` of efforts tau that are held.

    What passes into the joints at the velocities u is what leaves the store, for every effort: the
    matrix is skew. The efforts are a state without energy, which is set between steps.

    Args:
        ports: of the joints, by name.
    """

    def __init__(self, ports: Mapping[str, Port]) -> None:
        width = sum(port.quantity.space.dimension for port in ports.values())
        self.held = Quantity(Euclidean(width), "held efforts")
        super().__init__(
            {**ports, STORE: power(_energy), EFFORTS: state(self.held)},
            skew=self._matrix,
            reads=(EFFORTS,),
        )

    @property
    def is_lawful(self) -> bool:
        """True: the matrix is skew for all efforts."""
        return True

    def _matrix(self, efforts: Array) -> Array:
        n = efforts.size
        matrix = np.zeros((n + 1, n + 1))
        matrix[:n, n], matrix[n, :n] = -efforts, efforts
        return matrix

    def bracket(self, states: tuple[Array, ...], e: Array) -> Array:
        """Return the forces into the joints and the power out of the store."""
        efforts = states[0]
        return np.append(-e[-1] * efforts, efforts @ e[:-1])


def controller_box(ports: Mapping[str, Port]) -> System:
    """Return a controller with some joint ports, whose boxes are ``law``, ``store`` and ``hold``.

    The state ``store`` is the energy that it may still give, J, and ``efforts`` are the forces that
    it holds, in the order of the ports.

    Args:
        ports: of the joints, by name, as in the interface of a mechanism.
    """
    law = HeldEfforts(ports)
    none = Storage(
        {EFFORTS: power(law.held)},
        lambda u: 0.0,
        lambda u: np.zeros(u.size),
        lambda u: np.zeros((u.size, u.size)),
        lower_bound=0.0,
    )
    content = Storage({STORE: power(_energy)}, lambda e: e, lambda e: np.ones(1))
    junctions: dict[str, tuple[str, ...]] = {name: (f"law.{name}", name) for name in ports}
    junctions[STORE] = (f"law.{STORE}", f"store.{STORE}")
    junctions[EFFORTS] = (f"law.{EFFORTS}", f"hold.{EFFORTS}")
    boxes: dict[str, System | Component] = {"law": law, "store": content, "hold": none}
    return compose(boxes, junctions, list(ports))


def controlled(robot: System, joints: tuple[str, ...]) -> System:
    """Return a robot in the box ``robot`` with a controller at some of its ports.

    Args:
        robot: a mechanism; its other ports stay open, under their names.
        joints: names of the ports that the controller has.

    Raises:
        PatternError: the robot lacks one of them.
    """
    for name in joints:
        if name not in robot.interface:
            raise PatternError(
                f"the robot has no port '{name}' for a controller; it has "
                f"{', '.join(robot.interface)}"
            )
    box = controller_box({name: robot.interface[name] for name in joints})
    junctions: dict[str, tuple[str, ...]] = {
        name: (f"robot.{name}", f"controller.{name}") for name in joints
    }
    rest = [name for name in robot.interface if name not in joints]
    junctions |= {name: (f"robot.{name}", name) for name in rest}
    return compose({"robot": robot, "controller": box}, junctions, rest)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A spring of one degree of freedom between two bodies, or to the ground."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..components import Component, Reversible, Storage
from ..patterns import power
from ..quantities import Quantity, displacement, momentum
from ..systems import System, compose
from .damper import Damper
from .parameters import Parameter, check_all

PARAMETERS = (
    Parameter("stiffness", "N/m or N m/rad", "force per deflection", least=0.0, required=True),
    Parameter("rest", "m or rad", "deflection without force"),
    Parameter("viscous", "N s/m or N m s/rad", "friction beside it", least=0.0),
    Parameter("grounded", "", "whether one end is fixed", number=False),
    Parameter("shaft", "", "quantity of the ports p_1 and p_2, or p", number=False),
)


class LinearSpring(Storage):
    """Stores ``stiffness (q - rest)^2 / 2`` of the deflection at the port q.

    Args:
        stiffness: N/m or N m/rad.
        rest: m or rad.
    """

    def __init__(self, stiffness: float, rest: float = 0.0) -> None:
        check_all("spring", PARAMETERS, locals())
        self.stiffness, self.rest = float(stiffness), float(rest)
        super().__init__(
            {"q": power(displacement)}, self._value, self._slope, self._curve, lower_bound=0.0
        )

    def described(self) -> Mapping[str, Any]:
        """Return stiffness and rest."""
        return {"kind": "linear_spring", "stiffness": self.stiffness, "rest": self.rest}

    def _value(self, q: Array) -> float:
        return 0.5 * self.stiffness * float(q[0] - self.rest) ** 2

    def _slope(self, q: Array) -> Array:
        return self.stiffness * (q - self.rest)

    def _curve(self, q: Array) -> Array:
        return np.array([[self.stiffness]])


def spring(
    stiffness: float,
    rest: float = 0.0,
    viscous: float = 0.0,
    grounded: bool = False,
    shaft: Quantity = momentum,
) -> System:
    """Return a spring with the ports p_1 and p_2, or p where one end is fixed, and s with friction.

    The deflection ``pe.q`` grows at ``u_2 - u_1``, or u. Boxes: ``pe``, ``pkc``; between two
    bodies ``ends``, with friction ``mf``.

    Args:
        stiffness: N/m or N m/rad.
        rest: deflection without force, m or rad.
        viscous: friction beside the spring, N s/m or N m s/rad.
        grounded: whether one end is fixed.
        shaft: quantity of the ports.

    Raises:
        StructureError: a parameter is not accepted.
    """
    check_all("spring", PARAMETERS, locals())
    inner = shaft if grounded else momentum
    ports = {"q": power(displacement), "p": power(inner)}
    boxes: dict[str, System | Component] = {
        "pe": LinearSpring(stiffness, rest),
        "pkc": Reversible(ports, skew=[[0, -1], [1, 0]]),
    }
    junctions: dict[str, tuple[str, ...]] = {"q": ("pe.q", "pkc.q"), "p": ("pkc.p",)}
    if grounded:
        junctions["p"] += ("p",)
        outer = ["p"]
    else:
        ends = {"p_1": power(shaft), "p_2": power(shaft), "p": power(momentum)}
        boxes["ends"] = Reversible(ends, constraint=[[-1.0, 1.0, -1.0]])
        junctions["p"] += ("ends.p",)
        junctions |= {"p_1": ("ends.p_1", "p_1"), "p_2": ("ends.p_2", "p_2")}
        outer = ["p_1", "p_2"]
    if viscous:
        boxes["mf"] = Damper(viscous, shaft=inner)
        junctions["p"] += ("mf.p",)
        junctions["s"] = ("mf.s", "s")
        outer.append("s")
    return compose(boxes, junctions, outer)

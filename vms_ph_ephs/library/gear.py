# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A gear with losses."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..components import Component, Irreversible, Quadratic, Reversible
from ..errors import StructureError
from ..patterns import power, state
from ..quantities import Quantity, displacement, entropy, momentum
from ..systems import System, compose
from .damper import PARAMETERS as DAMPER
from .damper import Damper, tanh_ratio
from .parameters import Parameter, check_all

PARAMETERS = (
    Parameter("ratio", "", "velocity at p_in by that at p_out", required=True),
    Parameter("stiffness", "N m/rad or N/m", "seen at p_out; rigid without one", above=0.0),
    Parameter("efficiency", "", "share of the transmitted power that arrives", above=0.0, most=1.0),
    *(p for p in DAMPER if p.name in ("viscous", "dry", "slip")),
    Parameter("shaft_in", "", "quantity of the port p_in", number=False),
    Parameter("shaft_out", "", "quantity of the port p_out", number=False),
)


class MeshFriction(Irreversible):
    """Friction that grows with the load: ``f = (dry + share |k q|) tanh(v / slip)``.

    It reads the twist q of the shaft, whose torque is ``k q``, at the port q; v is the velocity at
    the port p, and the heat leaves at the port s.

    Args:
        share: of the transmitted torque.
        stiffness: k of the shaft, N m/rad or N/m.
        slip: rad/s or m/s.
        shaft: quantity of the port p.

    Raises:
        StructureError: a number is outside its range.
    """

    def __init__(
        self, share: float, stiffness: float, slip: float = 0.01, shaft: Quantity = momentum
    ) -> None:
        if not (0.0 <= share < 1.0 and 0.0 < slip < np.inf and 0.0 < stiffness < np.inf):
            raise StructureError(
                "mesh friction needs a share from 0 to below 1, a stiffness and a slip above 0; "
                f"given: {share}, {stiffness}, {slip}"
            )
        self.share, self.stiffness, self.slip = float(share), float(stiffness), float(slip)
        ports = {"q": state(displacement), "p": power(shaft), "s": power(entropy)}
        super().__init__(ports, rows=self._root, conductance=1.0, reads=("q",))

    def described(self) -> Mapping[str, Any]:
        """Return the coefficients."""
        return {
            "kind": "mesh_friction",
            "share": self.share,
            "stiffness": self.stiffness,
            "slip": self.slip,
            "shaft": self.interface["p"].quantity,
        }

    def _root(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        load = self.share * self.stiffness * abs(float(states[0][0]))
        return np.array([[np.sqrt(load / self.slip * tanh_ratio(float(e[0]) / self.slip))]])


def gear(
    ratio: float,
    stiffness: float | None = None,
    efficiency: float = 1.0,
    viscous: float = 0.0,
    dry: float = 0.0,
    slip: float = 0.01,
    shaft_in: Quantity = momentum,
    shaft_out: Quantity = momentum,
) -> System:
    """Return a gear with the ports p_in, p_out and, with losses, s.

    A rigid one is the constraint ``u_in = ratio * u_out``. With a stiffness a shaft twists between
    the wheels and the load; its torque is known, so that losses in proportion to it are too.

    Boxes: ``mesh``; with stiffness ``shaft``, ``pkc``; with losses ``bearing``, ``teeth``.

    Args:
        ratio: of the velocities; not zero.
        stiffness: N m/rad or N/m at p_out; None for a rigid gear.
        efficiency: share of the transmitted power that arrives; below 1 only with a stiffness.
        viscous: friction of the bearing at p_out, N m s/rad or N s/m.
        dry: friction of the bearing at p_out, N m or N.
        slip: of bearing and teeth, as for :class:`.Damper`, rad/s or m/s.
        shaft_in: quantity of the port p_in.
        shaft_out: quantity of the port p_out, as ``momentum_of(pair)`` for a joint.

    Raises:
        StructureError: a parameter is not accepted.
    """
    check_all("gear", PARAMETERS, locals())
    if not ratio:
        raise StructureError(f"the ratio of a gear must not be zero; given: {ratio}")
    if efficiency < 1.0 and stiffness is None:
        raise StructureError(
            "an efficiency is a loss in proportion to the torque, which a rigid gear does not "
            f"know; give a stiffness beside the efficiency {efficiency:g}, or viscous and dry "
            "friction instead"
        )
    ends = {"p_in": power(shaft_in), "p_out": power(shaft_out)}
    boxes: dict[str, System | Component] = {}
    junctions: dict[str, tuple[str, ...]] = {
        "p_in": ("mesh.p_in", "p_in"),
        "p_out": ("mesh.p_out", "p_out"),
    }
    heat: tuple[str, ...] = ()
    if stiffness is None:
        boxes["mesh"] = Reversible(ends, constraint=[[1.0, -ratio]])
    else:
        # The twist of the shaft grows at u_in / ratio - u_out.
        boxes["mesh"] = Reversible(
            {**ends, "p": power(momentum)}, constraint=[[1.0 / ratio, -1.0, -1.0]]
        )
        boxes["shaft"] = Quadratic({"q": power(displacement)}, stiffness)
        boxes["pkc"] = Reversible(
            {"q": power(displacement), "p": power(momentum)}, skew=[[0, -1], [1, 0]]
        )
        junctions |= {"q": ("shaft.q", "pkc.q"), "p": ("mesh.p", "pkc.p")}
        if efficiency < 1.0:
            boxes["teeth"] = MeshFriction(1.0 - efficiency, stiffness, slip, shaft_out)
            junctions["q"] += ("teeth.q",)
            junctions["p_out"] += ("teeth.p",)
            heat += ("teeth.s",)
    if viscous or dry:
        boxes["bearing"] = Damper(viscous, dry, slip, shaft_out)
        junctions["p_out"] += ("bearing.p",)
        heat += ("bearing.s",)
    if heat:
        junctions["s"] = (*heat, "s")
    return compose(boxes, junctions, ["p_in", "p_out"] + ["s"] * bool(heat))

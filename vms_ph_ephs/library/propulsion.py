# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Gear, propeller and radiator."""

from typing import Annotated, Any

import numpy as np

from ..components import BracketLaw, Component, Dissipation, NumberSpec, Quadratic, Reversible, kind
from ..errors import StructureError
from ..multibody.friction import Conduction, Dry, Slip, Viscous
from ..multibody.joint import Offset
from ..patterns import power, state
from ..quantities import SE3_SPACE, Quantity, displacement, entropy, momentum, momentum_of
from ..systems import System, compose
from .mechanics import Damper


@kind("mesh_friction", "in proportion to the load")
class MeshFriction(Dissipation):
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
        self,
        share: Annotated[float, NumberSpec("", least=0.0, most=1.0)],
        stiffness: Annotated[float, NumberSpec("N/m or N m/rad", above=0.0)],
        slip: Slip = 0.01,
        shaft: Quantity = momentum,
    ) -> None:
        self.shaft = shaft
        self.share, self.stiffness, self.slip = float(share), float(stiffness), float(slip)
        ports = {"q": state(displacement), "p": power(shaft), "s": power(entropy)}
        super().__init__(ports, reads=("q",))

    def forces(self, ops: Any, states: Any, u: Any, theta: Any) -> list[Any]:
        """Return the force."""
        load = self.share * self.stiffness * ops.function("abs", states[0][0])
        return [load * ops.function("tanh", u[0] / self.slip)]


@kind("gear", "a ratio, rigid or elastic, with losses; ports p_in, p_out, perhaps s")
def gear(
    ratio: Annotated[float, NumberSpec("", "velocity at p_in by that at p_out")],
    stiffness: Annotated[
        float | None, NumberSpec("N m/rad or N/m", "seen at p_out; rigid without one", above=0.0)
    ] = None,
    efficiency: Annotated[
        float, NumberSpec("", "share of the transmitted power that arrives", above=0.0, most=1.0)
    ] = 1.0,
    viscous: Viscous = 0.0,
    dry: Dry = 0.0,
    slip: Slip = 0.01,
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
    if not ratio:
        raise StructureError(f"the ratio of a gear must not be zero; given: {ratio}")
    if efficiency < 1.0 and stiffness is None:
        raise StructureError(
            "an efficiency is a loss in proportion to the torque, which a rigid gear does not "
            f"know; give a stiffness beside the efficiency {efficiency:g}, or viscous and dry "
            "friction instead"
        )
    end_ports = {"p_in": power(shaft_in), "p_out": power(shaft_out)}
    boxes: dict[str, System | Component] = {}
    junctions: dict[str, tuple[str, ...]] = {
        "p_in": ("mesh.p_in", "p_in"),
        "p_out": ("mesh.p_out", "p_out"),
    }
    heat_ports: tuple[str, ...] = ()
    if stiffness is None:
        boxes["mesh"] = Reversible(end_ports, constraint=[[1.0, -ratio]])
    else:
        # The twist of the shaft grows at u_in / ratio - u_out.
        boxes["mesh"] = Reversible(
            {**end_ports, "p": power(momentum)}, constraint=[[1.0 / ratio, -1.0, -1.0]]
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
            heat_ports += ("teeth.s",)
    if viscous or dry:
        boxes["bearing"] = Damper(viscous, dry, slip, shaft_out)
        junctions["p_out"] += ("bearing.p",)
        heat_ports += ("bearing.s",)
    if heat_ports:
        junctions["s"] = (*heat_ports, "s")
    return compose(boxes, junctions, ["p_in", "p_out"] + ["s"] * bool(heat_ports))


ThrustFactor = Annotated[float, NumberSpec("N s^2/rad^2", "k of the thrust k w |w|", least=0.0)]
TorqueFactor = Annotated[
    float, NumberSpec("N m s^2/rad^2", "k of the drag torque k w |w|", above=0.0)
]
Inertia = Annotated[float, NumberSpec("kg m^2", "of the rotor about its axis", above=0.0)]
Axial = Annotated[
    float, NumberSpec("N s^2/(m rad)", "thrust lost per speed along the axis and |w|", least=0.0)
]
Lateral = Annotated[
    float, NumberSpec("N s^2/(m rad)", "drag per speed across the axis and |w|", least=0.0)
]
_BODY_P = momentum_of(SE3_SPACE)


@kind("thrust", "reversible part of a propeller")
class Thrust(BracketLaw):
    """The reversible part: power between shaft and body at the hub, which reads the momentum of p.

    At the spin rate ``w = p / inertia`` the thrust is ``k |w| w spin`` along z, and the shaft needs
    the torque ``k |w| v_z spin`` more while it climbs; the spinning rotor turns the body by
    ``h x omega`` with ``h = p z``. Both matrices are skew.

    Args:
        thrust: k, N s^2/rad^2.
        inertia: kg m^2.
        spin: 1 or -1.
    """

    def __init__(self, thrust: ThrustFactor, inertia: Inertia, spin: int = 1) -> None:
        self.thrust, self.inertia, self.spin = float(thrust), float(inertia), _checked_spin(spin)
        super().__init__({"p": power(momentum), "b": power(_BODY_P)}, reads=("p",))

    def law(self, ops: Any, states: Any, e: Any) -> list[Any]:
        """Return the torque of the shaft and the wrench of the body, into the component."""
        p = states[0][0]
        k = self.spin * self.thrust * ops.function("abs", p) / self.inertia
        return [k * e[3], 0, 0, -k * e[0], p * e[5], -p * e[4], 0]


@kind("air_drag", "irreversible part of a propeller")
class AirDrag(Dissipation):
    """The irreversible part: torque, lost thrust and lateral drag, all times ``|w|``, with heat.

    Args:
        torque: N m s^2/rad^2.
        axial: N s^2/(m rad).
        lateral: N s^2/(m rad).
    """

    def __init__(self, torque: TorqueFactor, axial: Axial = 0.0, lateral: Lateral = 0.0) -> None:
        self.torque, self.axial, self.lateral = float(torque), float(axial), float(lateral)
        super().__init__({"p": power(momentum), "b": power(_BODY_P), "s": power(entropy)})

    def forces(self, ops: Any, states: Any, u: Any, theta: Any) -> list[Any]:
        """Return torque and wrench."""
        speed = ops.function("abs", u[0])
        factors = (self.torque, self.lateral, self.lateral, self.axial)
        return [*(speed * factor * v for factor, v in zip(factors, u, strict=False)), 0, 0, 0]


@kind("propeller", "thrust and drag on a body; ports p, b, s")
def propeller(
    thrust: ThrustFactor,
    torque: TorqueFactor,
    inertia: Inertia,
    spin: Annotated[
        int, NumberSpec("", "1 for thrust at positive spin about z, -1 for negative")
    ] = 1,
    axial: Axial = 0.0,
    lateral: Lateral = 0.0,
    pose: Annotated[
        Any, NumberSpec("m", "(4,4) of the hub in the body frame, thrust along z")
    ] = None,
) -> System:
    """Return a propeller with the ports p (shaft), b (body, at its frame) and s (heat of the air).

    The spin ``ke.p / inertia`` is that of the rotor in space; the shaft's effort is the rate
    relative to the body, so that the motor's torque acts on the body too. At rest in the air the
    thrust is ``thrust w |w|``, the torque ``torque w |w|``.

    Boxes: ``ke``, ``mount``, ``hub``, ``thrust``, ``drag``.

    Args:
        thrust: N s^2/rad^2.
        torque: of drag, N m s^2/rad^2.
        inertia: of the rotor and all that spins with it, kg m^2.
        spin: 1 where thrust along z needs positive spin about z, -1 where negative.
        axial: thrust lost per speed along the axis and spin rate, N s^2/(m rad).
        lateral: drag per speed across the axis and spin rate, N s^2/(m rad).
        pose: (4,4) of the hub in the frame of the port b; the identity when None.

    Raises:
        StructureError: a parameter is not accepted.
    """
    placement = np.eye(4) if pose is None else np.asarray(pose, dtype=np.float64)
    if placement.shape != (4, 4) or SE3_SPACE.defect(placement) > 1e-6:
        raise StructureError(f"the pose of a propeller must be a (4,4) pose; given: {pose!r}")
    rows = np.zeros((1, 8))
    rows[0, [0, 1, 7]] = 1.0, -1.0, 1.0  # 0 = u_shaft - w + omega_z
    boxes: dict[str, System | Component] = {
        "ke": Quadratic({"p": power(momentum)}, 1.0 / inertia),
        "hub": Offset(placement, "b", "h"),
        "mount": Reversible(
            {"shaft": power(momentum), "p": power(momentum), "b": power(_BODY_P)}, constraint=rows
        ),
        "thrust": Thrust(thrust, inertia, spin),
        "drag": AirDrag(torque, axial, lateral),
    }
    return compose(
        boxes,
        {
            "rotor": ("ke.p", "mount.p", "thrust.p", "drag.p"),
            "p": ("mount.shaft", "p"),
            "b": ("hub.b", "b"),
            "hub": ("hub.h", "mount.b", "thrust.b", "drag.b"),
            "s": ("drag.s", "s"),
        },
        ["p", "b", "s"],
    )


def _checked_spin(spin: int) -> int:
    if spin not in (1, -1) or isinstance(spin, bool):
        raise StructureError(f"the spin of a propeller must be 1 or -1; given: {spin!r}")
    return int(spin)


STEFAN_BOLTZMANN = 5.670374419e-8
"""W/(m^2 K^4)."""


@kind("radiator", "convection and radiation; ports a, b")
class Radiator(Conduction):
    """The heat ``h (a - b) + emissivity sigma area (a^4 - b^4)`` from port a to port b.

    Args:
        conductance: h, W/K.
        area: m^2.
        emissivity: from 0 to 1.
    """

    def __init__(
        self,
        conductance: Annotated[float, NumberSpec("W/K", "by convection", least=0.0)] = 0.0,
        area: Annotated[float, NumberSpec("m^2", "that radiates", least=0.0)] = 0.0,
        emissivity: Annotated[float, NumberSpec("", "of that area", least=0.0, most=1.0)] = 1.0,
    ) -> None:
        super().__init__(conductance)
        self.area, self.emissivity = float(area), float(emissivity)

    def conductance_at(self, a: Any, b: Any) -> Any:
        """Return the heat between two temperatures by their difference, W/K."""
        radiation = STEFAN_BOLTZMANN * self.area * self.emissivity
        return self.conductance + radiation * (a * a + b * b) * (a + b)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Gear, propeller and radiator."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..components import Component, Irreversible, Quadratic, Reversible
from ..errors import StructureError
from ..multibody.joint import Offset
from ..patterns import power, state
from ..quantities import SE3_SPACE, Quantity, displacement, entropy, momentum, momentum_of
from ..systems import System, compose
from .mechanics import DAMPER, Damper, tanh_ratio
from .parameters import Parameter, check_all

GEAR = (
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
    check_all("gear", GEAR, locals())
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


PROPELLER = (
    Parameter("thrust", "N s^2/rad^2", "k of the thrust k w |w|", least=0.0, required=True),
    Parameter("torque", "N m s^2/rad^2", "k of the drag torque k w |w|", above=0.0, required=True),
    Parameter("inertia", "kg m^2", "of the rotor about its axis", above=0.0, required=True),
    Parameter("spin", "", "1 for thrust at positive spin about z, -1 for negative", number=False),
    Parameter("axial", "N s^2/(m rad)", "thrust lost per speed along the axis and |w|", least=0.0),
    Parameter("lateral", "N s^2/(m rad)", "drag per speed across the axis and |w|", least=0.0),
    Parameter("pose", "m", "(4,4) of the hub in the body frame, thrust along z", number=False),
)

_BODY = momentum_of(SE3_SPACE)


class Thrust(Reversible):
    """The reversible part: power between shaft and body at the hub, which reads the momentum of p.

    At the spin rate ``w = p / inertia`` the thrust is ``k |w| w spin`` along z, and the shaft needs
    the torque ``k |w| v_z spin`` more while it climbs; the spinning rotor turns the body by
    ``h x omega`` with ``h = p z``. Both matrices are skew.

    Args:
        thrust: k, N s^2/rad^2.
        inertia: kg m^2.
        spin: 1 or -1.
    """

    def __init__(self, thrust: float, inertia: float, spin: int = 1) -> None:
        self.thrust, self.inertia, self.spin = float(thrust), float(inertia), _sign(spin)
        ports = {"p": power(momentum), "b": power(_BODY)}
        super().__init__(ports, skew=self._matrix, reads=("p",))

    @property
    def is_lawful(self) -> bool:
        """True: the matrix is skew at every momentum."""
        return True

    def described(self) -> Mapping[str, Any]:
        """Return the coefficients."""
        return {"kind": "thrust", "thrust": self.thrust, "inertia": self.inertia, "spin": self.spin}

    def _matrix(self, p: Array) -> Array:
        j = np.zeros((7, 7))
        j[0, 3] = self.spin * self.thrust * abs(float(p[0])) / self.inertia
        j[3, 0] = -j[0, 3]
        j[4, 5], j[5, 4] = float(p[0]), -float(p[0])
        return j

    def bracket(self, states: tuple[Array, ...], e: Array) -> Array:
        """Return the torque of the shaft and the wrench of the body, into the component."""
        p = float(states[0][0])
        k = self.spin * self.thrust * abs(p) / self.inertia
        return np.array([k * e[3], 0.0, 0.0, -k * e[0], p * e[5], -p * e[4], 0.0])


class AirDrag(Irreversible):
    """The irreversible part: torque, lost thrust and lateral drag, all times ``|w|``, with heat.

    The rows are constant and the conductances ``|w|`` times coefficients, so that the heat
    ``torque |w|^3 + ...`` is never negative.

    Args:
        torque: N m s^2/rad^2.
        axial: N s^2/(m rad).
        lateral: N s^2/(m rad).
    """

    def __init__(self, torque: float, axial: float = 0.0, lateral: float = 0.0) -> None:
        check_all("propeller", PROPELLER, locals())
        self.torque, self.axial, self.lateral = float(torque), float(axial), float(lateral)
        self._coefficients = np.array([torque, lateral, lateral, axial])
        ports = {"p": power(momentum), "b": power(_BODY), "s": power(entropy)}
        super().__init__(ports, rows=self._root, conductance=1.0)

    def described(self) -> Mapping[str, Any]:
        """Return the coefficients."""
        return {
            "kind": "air_drag",
            "torque": self.torque,
            "axial": self.axial,
            "lateral": self.lateral,
        }

    def flows(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        """Return torque, wrench and heat."""
        out = np.zeros(8)
        out[:4] = abs(float(e[0])) * self._coefficients * e[:4]
        out[7] = -float(out[:4] @ e[:4]) / (theta_0 + float(e[7]))
        return out

    def _root(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        rows = np.zeros((4, 7))
        rows[:, :4] = np.diag(np.sqrt(abs(float(e[0])) * self._coefficients))
        return rows


def propeller(
    thrust: float,
    torque: float,
    inertia: float,
    spin: int = 1,
    axial: float = 0.0,
    lateral: float = 0.0,
    pose: Any = None,
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
    check_all("propeller", PROPELLER, locals())
    placement = np.eye(4) if pose is None else np.asarray(pose, dtype=np.float64)
    if placement.shape != (4, 4) or SE3_SPACE.defect(placement) > 1e-6:
        raise StructureError(f"the pose of a propeller must be a (4,4) pose; given: {pose!r}")
    turning = np.zeros((1, 8))
    turning[0, [0, 1, 7]] = 1.0, -1.0, 1.0  # 0 = u_shaft - w + omega_z
    boxes: dict[str, System | Component] = {
        "ke": Quadratic({"p": power(momentum)}, 1.0 / inertia),
        "hub": Offset(placement, "b", "h"),
        "mount": Reversible(
            {"shaft": power(momentum), "p": power(momentum), "b": power(_BODY)}, constraint=turning
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


def _sign(spin: int) -> int:
    if spin not in (1, -1) or isinstance(spin, bool):
        raise StructureError(f"the spin of a propeller must be 1 or -1; given: {spin!r}")
    return int(spin)


STEFAN_BOLTZMANN = 5.670374419e-8
"""W/(m^2 K^4)."""

RADIATOR = (
    Parameter("conductance", "W/K", "by convection", least=0.0),
    Parameter("area", "m^2", "that radiates", least=0.0),
    Parameter("emissivity", "", "of that area", least=0.0, most=1.0),
)


class Radiator(Irreversible):
    """The heat ``h (a - b) + emissivity sigma area (a^4 - b^4)`` from port a to port b.

    It is ``K(a, b) (a - b)`` with K positive, so that the structure is ``N^T K N`` with
    ``N = (sqrt(b/a), -sqrt(a/b))``.

    Args:
        conductance: h, W/K.
        area: m^2.
        emissivity: from 0 to 1.
    """

    def __init__(
        self, conductance: float = 0.0, area: float = 0.0, emissivity: float = 1.0
    ) -> None:
        check_all("radiator", RADIATOR, locals())
        self.conductance, self.area = float(conductance), float(area)
        self.emissivity = float(emissivity)
        self._radiating = STEFAN_BOLTZMANN * self.area * self.emissivity
        super().__init__({"a": power(entropy), "b": power(entropy)}, self._onsager)

    @property
    def is_lawful(self) -> bool:
        """True: K is positive and N annihilates the temperatures."""
        return True

    def described(self) -> Mapping[str, Any]:
        """Return the coefficients."""
        return {
            "kind": "radiator",
            "conductance": self.conductance,
            "area": self.area,
            "emissivity": self.emissivity,
        }

    def flows(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        """Return the entropy that leaves a, and minus what arrives at b."""
        a, b = theta_0 + float(e[0]), theta_0 + float(e[1])
        heat = self._between(a, b) * (a - b)
        return np.array([heat / a, -heat / b])

    def _between(self, a: float, b: float) -> float:
        return self.conductance + self._radiating * (a * a + b * b) * (a + b)

    def _onsager(self, states: tuple[Array, ...], e: Array, theta_0: float) -> Array:
        a, b = theta_0 + float(e[0]), theta_0 + float(e[1])
        return self._between(a, b) * np.array([[b / a, -1.0], [-1.0, a / b]])


def radiator(**values: Any) -> Radiator:
    """Return a :class:`Radiator`."""
    return Radiator(**values)

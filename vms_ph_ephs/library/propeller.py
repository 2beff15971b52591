# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A propeller on a body: thrust, drag torque, reaction and gyroscopic torque."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from ..components import Component, Irreversible, Quadratic, Reversible
from ..errors import StructureError
from ..multibody.joint import Offset
from ..patterns import power
from ..quantities import SE3_SPACE, entropy, momentum, momentum_of
from ..systems import System, compose
from .parameters import Parameter, check_all

PARAMETERS = (
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
        return {
            "kind": "thrust",
            "thrust": self.thrust,
            "inertia": self.inertia,
            "spin": self.spin,
        }

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
        check_all("propeller", PARAMETERS, locals())
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
    check_all("propeller", PARAMETERS, locals())
    place = np.eye(4) if pose is None else np.asarray(pose, dtype=np.float64)
    if place.shape != (4, 4) or SE3_SPACE.defect(place) > 1e-6:
        raise StructureError(f"the pose of a propeller must be a (4,4) pose; given: {pose!r}")
    turning = np.zeros((1, 8))
    turning[0, [0, 1, 7]] = 1.0, -1.0, 1.0  # 0 = u_shaft - w + omega_z
    boxes: dict[str, System | Component] = {
        "ke": Quadratic({"p": power(momentum)}, 1.0 / inertia),
        "hub": Offset(place, "b", "h"),
        "mount": Reversible(
            {"shaft": power(momentum), "p": power(momentum), "b": power(_BODY)},
            constraint=turning,
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

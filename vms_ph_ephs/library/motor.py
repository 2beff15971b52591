# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A direct-current motor, also as the model of a brushless one in rotor axes."""

import numpy as np

from ..components import Component, Environment, Quadratic, Reversible
from ..multibody.friction import Conduction
from ..patterns import power
from ..quantities import Quantity, flux, momentum
from ..systems import System, compose
from .damper import PARAMETERS as DAMPER
from .damper import Damper
from .parameters import Parameter, check_all
from .winding import COPPER, winding
from .winding import PARAMETERS as WINDING

PARAMETERS = (
    Parameter("torque_constant", "N m/A", "equal to that of the voltage in V s/rad", required=True),
    Parameter("inertia", "kg m^2", "of the rotor; without one that of what it drives", above=0.0),
    *(p for p in DAMPER if p.name in ("viscous", "dry", "slip")),
    *WINDING,
    Parameter("conductance", "W/K", "to the environment", least=0.0),
    Parameter("theta_0", "K", "temperature of the environment", above=0.0),
    Parameter("shaft", "", "quantity of the port p", number=False),
)


def motor(
    torque_constant: float,
    resistance: float,
    inductance: float = 0.0,
    *,
    inertia: float | None = None,
    viscous: float = 0.0,
    dry: float = 0.0,
    slip: float = 0.01,
    coefficient: float = COPPER,
    reference: float = 293.15,
    capacity: float | None = None,
    theta: float | None = None,
    conductance: float | None = None,
    theta_0: float = 298.15,
    shaft: Quantity = momentum,
) -> System:
    """Return a motor with the ports phi (flow: voltage), p (shaft) and, if open, s (heat).

    The torque is ``torque_constant * i`` and the voltage of rotation ``torque_constant * w``: a
    gyrator, which makes no power. Resistance and bearing heat the winding, whose resistance grows.

    Boxes: ``coil``, ``emf``; with bearing friction ``bearing``, with inertia ``rotor``, with a
    conductance ``cooling`` and ``env``. Without a conductance the port s stays open.

    Args:
        torque_constant: N m/A; negative for a motor that turns the other way.
        resistance: of the winding, ohm.
        inductance: H; 0 for a current that follows at once.
        inertia: of the rotor, kg m^2; None where the shaft's storage is elsewhere.
        viscous: friction of the bearing, N m s/rad.
        dry: friction of the bearing, N m.
        slip: rad/s, as for :class:`.Damper`.
        coefficient: of the resistance with temperature, 1/K; that of copper by default.
        reference: temperature at which the resistance is given, K.
        capacity: heat capacity of the winding, J/K.
        theta: its temperature at zero entropy, K; that of the environment when None.
        conductance: to the environment, W/K; None for an open port s.
        theta_0: temperature of the environment, K.
        shaft: quantity of the port p, as ``momentum_of(pair)`` for a joint.

    Raises:
        StructureError: a parameter is not accepted.
    """
    check_all("motor", PARAMETERS, locals())
    coil = winding(
        resistance,
        inductance,
        coefficient,
        reference,
        capacity,
        theta_0 if theta is None else theta,
    )
    k = float(torque_constant)
    ports = {"phi": power(flux), "p": power(shaft)}
    boxes: dict[str, System | Component] = {
        "coil": coil,
        "emf": Reversible(ports, skew=np.array([[0.0, k], [-k, 0.0]])),
    }
    junctions: dict[str, tuple[str, ...]] = {
        "phi": ("coil.phi", "emf.phi", "phi"),
        "p": ("emf.p", "p"),
        "s": ("coil.s",),
    }
    if viscous or dry:
        boxes["bearing"] = Damper(viscous, dry, slip, shaft)
        junctions["p"] += ("bearing.p",)
        junctions["s"] += ("bearing.s",)
    if inertia is not None:
        boxes["rotor"] = Quadratic({"p": power(shaft)}, 1.0 / inertia)
        junctions["p"] += ("rotor.p",)
    outer = ["phi", "p"]
    if conductance is None:
        junctions["s"] += ("s",)
        outer.append("s")
    elif capacity is None:
        boxes["env"] = Environment(theta_0)
        junctions["s"] += ("env.s",)
    else:
        junctions["env"] = ("env.s",)
        boxes["env"] = Environment(theta_0)
        if conductance:
            boxes["cooling"] = Conduction(conductance)
            junctions["s"] += ("cooling.a",)
            junctions["env"] += ("cooling.b",)
    return compose(boxes, junctions, outer)

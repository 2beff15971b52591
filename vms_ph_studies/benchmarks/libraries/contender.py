# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot in a state, and what a library offers to compute there."""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array

ACCELERATION = "acceleration"
MASS_MATRIX = "mass matrix"
DERIVATIVES = "derivatives"
BATCH = "acceleration in a batch"
QUANTITIES = (ACCELERATION, MASS_MATRIX, DERIVATIVES, BATCH)
"""What is timed: the acceleration by forward dynamics or a rate, the mass matrix, the derivatives
of the acceleration or the rate, and accelerations of many states in one call."""

BATCH_SIZE = 1024


class UnavailableError(Exception):
    """A library that is not installed or does not cover the robot; the message says which."""


@dataclass(frozen=True)
class Problem:
    """A robot in a state under joint torques, in no fluid and without friction.

    Attributes:
        model: the robot.
        xml: its URDF, with bodies and joints only.
        q, v, torque: the state and the torques (n,).
    """

    model: VMSModel
    xml: str
    q: Array
    v: Array
    torque: Array

    @property
    def force(self) -> Array:
        """The generalised force of the torques, (nv,)."""
        return np.concatenate([np.zeros(self.model.b), self.torque])

    @property
    def base_rotation(self) -> Array:
        """The rotation of a floating base, (3,3)."""
        return np.asarray(pin.Quaternion(self.q[3:7]).matrix())


@dataclass(frozen=True)
class Contender:
    """A library with its calls.

    Attributes:
        name: of the library.
        calls: by quantity, the names and the calls without arguments.
        joint_accelerations: returns the accelerations (n,) of the problem, for a check; None
            where the calls are those of rates.
        version: of the library, where the page does not have it already.
        per: states per call, by quantity.
    """

    name: str
    calls: Mapping[str, Mapping[str, Callable[[], object]]]
    joint_accelerations: Callable[[], Array] | None = None
    version: str = ""
    per: Mapping[str, int] = field(default_factory=lambda: {BATCH: BATCH_SIZE})


def bare_urdf(xml: str) -> str:
    """Return a URDF with bodies and joints only, without friction: what all libraries read."""
    root = ET.fromstring(xml)
    for element in list(root):
        if element.tag not in ("link", "joint"):
            root.remove(element)
    unwanted = {"visual", "collision", "dynamics", "safety_controller", "calibration"}
    for element in root:
        for part in [part for part in element if part.tag in unwanted]:
            element.remove(part)
    return ET.tostring(root, encoding="unicode")

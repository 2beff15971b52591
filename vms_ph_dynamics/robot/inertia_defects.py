# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Defects of the inertia of one body, and the nearest inertia that a body can have.

The pseudo-inertia of a body about its centre of mass is ``diag(S, m)`` with the second moments
``S = 1/2 tr(I) 1 - I`` of its mass. Mass is nowhere negative just if it is positive semidefinite
(Wensing, Kim, Slotine: Linear matrix inequalities for physically consistent inertial parameter
identification, 2018); for the principal moments this is the triangle inequality.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ..arrays import Array

TRIANGLE_TOLERANCE = 1e-3
"""Largest excess of a principal moment over the sum of the other two, relative to that moment, that
is taken for rounding; published inertias have few digits."""

# Below this, relative to the largest moment, nothing distinguishes a defect from arithmetic.
_ARITHMETIC = 1e-9

_ZERO_LENGTH = 1e-6  # m

Kind = Literal[
    "negative mass", "massless inertia", "negative moment", "triangle", "outsized", "no inertia"
]
Grade = Literal["harmless", "negligible", "grave"]


@dataclass(frozen=True)
class InertiaDefect:
    """A defect of an inertia, and what is done about it.

    Attributes:
        kind: ``"negative mass"``; ``"massless inertia"``, a rotational inertia without mass;
            ``"negative moment"``, a principal moment below zero; ``"triangle"``, a principal moment
            above the sum of the others; ``"outsized"``, moments beside which those of the other
            links vanish in rounding; ``"no inertia"``, a joint that moves no inertia.
        link: the link that has the inertia; the joint for a model that is no URDF's.
        joint: the joint that moves the link; ``"universe"`` if none does.
        grade: ``"harmless"``: taken as it is; ``"negligible"``: repaired unless all defects are
            refused; ``"grave"``: refused unless repair is asked for.
        excess: size of the violation: the negative mass, kg; else, kg m^2, the moment without mass,
            or by how much the largest moment exceeds the sum of the others; zero for no inertia.
        change: largest relative change of the kinetic energy that the repair causes, in any
            direction of motion at any of the configurations tried: the largest modulus of the
            eigenvalues of ``M^-1 dM``, with the mass matrix M after all repairs. For a joint
            without inertia it is that of the other joints.
        given: mass, kg, and principal moments, kg m^2, as given.
        repaired: the same of the nearest physical inertia.
        remedy: a sentence that says what the repair changes.
    """

    kind: Kind
    link: str
    joint: str
    grade: Grade
    excess: float
    change: float
    given: tuple[float, float, float, float]
    repaired: tuple[float, float, float, float]
    remedy: str

    def __str__(self) -> str:
        return f"{self.what}; {self.remedy}"

    @property
    def what(self) -> str:
        """What is wrong, in words."""
        if self.kind == "no inertia":
            return (
                f"the motion of joint '{self.joint}' moves no inertia: give '{self.link}' and what "
                "is fixed to it a mass and an inertia, or make the joint fixed"
            )
        return problem(self.kind, self.link, self.given[0], self.given[1:])


def problem(kind: Kind, link: str, mass: float, moments: Sequence[float]) -> str:
    """Return what is wrong with the inertia of a link."""
    if kind == "negative mass":
        return f"the mass of '{link}' must not be negative; given: {mass:g} kg"
    if kind == "massless inertia":
        return f"'{link}' has a rotational inertia but no mass"
    if kind == "outsized":
        return (
            f"the largest moment of '{link}', {max(moments):g} kg m^2, is that of a body far "
            "larger than the robot, beside which the other inertias vanish in rounding"
        )
    return (
        f"the rotational inertia of '{link}' belongs to no rigid body: its principal moments "
        f"{', '.join(f'{m:.6g}' for m in moments)} kg m^2 must be positive and each at most the "
        "sum of the other two"
    )


class Found(NamedTuple):
    """The kind of a defect and its excess, see :class:`InertiaDefect`."""

    kind: Kind
    excess: float


class PhysicalInertia(NamedTuple):
    """A mass, kg, and a rotational inertia about the centre of mass, (3,3), kg m^2."""

    mass: float
    rotational: Array


def defect_of(mass: float, rotational: Array) -> Found | None:
    """Return the defect of an inertia, or None if a body can have it.

    A massless frame (mass and inertia zero) and a point mass (inertia zero) have no defect.

    Args:
        mass: kg.
        rotational: (3,3) rotational inertia about the centre of mass, kg m^2.
    """
    if mass < 0.0:
        return Found("negative mass", -mass)
    moments = np.linalg.eigvalsh(rotational)
    largest = float(np.abs(moments).max())
    if mass == 0.0 and largest > 0.0:
        return Found("massless inertia", largest)
    excess = float(moments[2] - moments[0] - moments[1])
    if excess <= _ARITHMETIC * largest:
        return None
    # A moment that is negative by arithmetic alone is a zero.
    negative = moments[0] < -_ARITHMETIC * largest
    return Found("negative moment" if negative else "triangle", excess)


def is_rounding(found: Found, mass: float, rotational: Array) -> bool:
    """Return whether a defect may be due to the few digits of published moments.

    Moments as small as those of a body of a micrometre are zeros that were computed.
    """
    if found.kind not in ("triangle", "negative moment"):
        return False
    largest = float(np.abs(np.linalg.eigvalsh(rotational)).max())
    digits = TRIANGLE_TOLERANCE * largest if found.kind == "triangle" else 0.0
    return found.excess <= max(digits, _ZERO_LENGTH**2 * mass)


def nearest_inertia(mass: float, rotational: Array) -> PhysicalInertia:
    """Return the mass and rotational inertia nearest to given ones that a rigid body can have.

    Nearest in the Frobenius norm of the pseudo-inertia about the centre of mass, which is kept;
    so is a positive mass. A body without mass has no rotational inertia. An inertia that a body can
    have is returned unchanged.

    Args:
        mass: kg.
        rotational: (3,3) about the centre of mass, kg m^2; of one that is not symmetric, the
            symmetric part counts, which is the nearest symmetric one.
    """
    symmetric = 0.5 * (rotational + rotational.T)
    if mass <= 0.0:
        return PhysicalInertia(0.0, np.zeros((3, 3)))
    moments, axes = np.linalg.eigh(symmetric)
    second = 0.5 * moments.sum() - moments
    if second.min() >= 0.0:
        return PhysicalInertia(mass, symmetric)
    second = np.maximum(second, 0.0)
    nearest = axes @ np.diag(second.sum() - second) @ axes.T
    return PhysicalInertia(mass, 0.5 * (nearest + nearest.T))

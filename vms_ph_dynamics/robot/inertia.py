# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The inertia of bodies, links and rotors: its defects, and the nearest that a body can have.

The pseudo-inertia of a body about its centre of mass is ``diag(S, m)`` with the second moments
``S = 1/2 tr(I) 1 - I`` of its mass. Mass is nowhere negative just if it is positive semidefinite
(Wensing, Kim, Slotine: Linear matrix inequalities for physically consistent inertial parameter
identification, 2018); for the principal moments this is the triangle inequality.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..errors import ModelError

TRIANGLE_TOLERANCE = 1e-3
"""Largest excess of a principal moment over the sum of the other two, relative to that moment, that
is taken for rounding; published inertias have few digits."""

# Below this, relative to the largest moment, nothing distinguishes a defect from arithmetic.
_ROUNDING = 1e-9

_ZERO_LENGTH = 1e-6  # m

DefectKind = Literal[
    "negative mass", "massless inertia", "negative moment", "triangle", "outsized", "no inertia"
]
DefectGrade = Literal["harmless", "negligible", "grave"]


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
        original_values: mass, kg, and principal moments, kg m^2, as given.
        repaired_values: mass and moments of the nearest physical inertia.
        remedy: a sentence that says what the repair changes.
    """

    kind: DefectKind
    link: str
    joint: str
    grade: DefectGrade
    excess: float
    change: float
    original_values: tuple[float, float, float, float]
    repaired_values: tuple[float, float, float, float]
    remedy: str

    def __str__(self) -> str:
        return f"{self.description}; {self.remedy}"

    @property
    def description(self) -> str:
        """What is wrong, in words."""
        if self.kind == "no inertia":
            return (
                f"the motion of joint '{self.joint}' moves no inertia: give '{self.link}' and what "
                "is fixed to it a mass and an inertia, or make the joint fixed"
            )
        return describe(self.kind, self.link, self.original_values[0], self.original_values[1:])


def describe(kind: DefectKind, link: str, mass: float, moments: Sequence[float]) -> str:
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


class BodyDefect(NamedTuple):
    """The kind of a defect and its excess, see :class:`InertiaDefect`."""

    kind: DefectKind
    excess: float


class PhysicalInertia(NamedTuple):
    """A mass, kg, and a rotational inertia about the centre of mass, (3,3), kg m^2."""

    mass: float
    inertia: Array


def defect_of(mass: float, inertia: Array) -> BodyDefect | None:
    """Return the defect of an inertia, or None if a body can have it.

    A massless frame (mass and inertia zero) and a point mass (inertia zero) have no defect.

    Args:
        mass: kg.
        inertia: (3,3) rotational inertia about the centre of mass, kg m^2.
    """
    if mass < 0.0:
        return BodyDefect("negative mass", -mass)
    moments = np.linalg.eigvalsh(inertia)
    largest_moment = float(np.abs(moments).max())
    if mass == 0.0 and largest_moment > 0.0:
        return BodyDefect("massless inertia", largest_moment)
    excess = float(moments[2] - moments[0] - moments[1])
    if excess <= _ROUNDING * largest_moment:
        return None
    # A moment that is negative by arithmetic alone is a zero.
    is_negative = moments[0] < -_ROUNDING * largest_moment
    return BodyDefect("negative moment" if is_negative else "triangle", excess)


def is_rounding(defect: BodyDefect, mass: float, inertia: Array) -> bool:
    """Return whether a defect may be due to the few digits of published moments.

    Moments as small as those of a body of a micrometre are zeros that were computed.
    """
    if defect.kind not in ("triangle", "negative moment"):
        return False
    largest_moment = float(np.abs(np.linalg.eigvalsh(inertia)).max())
    digit_tolerance = TRIANGLE_TOLERANCE * largest_moment if defect.kind == "triangle" else 0.0
    return defect.excess <= max(digit_tolerance, _ZERO_LENGTH**2 * mass)


def nearest_inertia(mass: float, inertia: Array) -> PhysicalInertia:
    """Return the mass and rotational inertia nearest to given ones that a rigid body can have.

    Nearest in the Frobenius norm of the pseudo-inertia about the centre of mass, which is kept;
    so is a positive mass. A body without mass has no rotational inertia. An inertia that a body can
    have is returned unchanged.

    Args:
        mass: kg.
        inertia: (3,3) about the centre of mass, kg m^2; of one that is not symmetric, the
            symmetric part counts, which is the nearest symmetric one.
    """
    symmetric_inertia = 0.5 * (inertia + inertia.T)
    if mass <= 0.0:
        return PhysicalInertia(0.0, np.zeros((3, 3)))
    moments, axes = np.linalg.eigh(symmetric_inertia)
    second_moments = 0.5 * moments.sum() - moments
    if second_moments.min() >= 0.0:
        return PhysicalInertia(mass, symmetric_inertia)
    second_moments = np.maximum(second_moments, 0.0)
    nearest = axes @ np.diag(second_moments.sum() - second_moments) @ axes.T
    return PhysicalInertia(mass, 0.5 * (nearest + nearest.T))


@dataclass(frozen=True)
class LinkInertia:
    """The inertia of a link.

    Attributes:
        link: its name.
        joint: index of the Pinocchio joint that moves it.
        placement: ``pinocchio.SE3`` of the link in the axes of that joint.
        mass: kg.
        centre: (3,) centre of mass in the link, m.
        inertia: (3,3) about the centre of mass, in the axes of the link, kg m^2.
    """

    link: str
    joint: int
    placement: Any
    mass: float
    centre: Array
    inertia: Array

    def joint_inertia(self, mass: float, inertia: Array) -> Any:
        """Return another inertia about the same centre, in the axes of the joint."""
        joint_inertia = pin.Inertia.Zero()  # the constructor refuses what is no body's
        joint_inertia.mass, joint_inertia.lever, joint_inertia.inertia = mass, self.centre, inertia
        return self.placement.act(joint_inertia)


# Below this ratio of extreme eigenvalues the mass matrix cannot be inverted to useful precision.
_SINGULAR_RATIO = 1e-12
_SAMPLE_COUNT = 5

MAX_DOF = 256
"""Largest number of degrees of freedom of a robot; the terms are dense matrices of that size."""


def check_inertia(name: str, mass: float, inertia: Array) -> None:
    """Check that an inertia is that of a rigid body.

    A massless frame (mass and inertia zero) and a point mass (inertia zero) pass.

    Args:
        name: of the link or joint, for the error.
        mass: kg.
        inertia: (3,3) rotational inertia about the centre of mass, kg m^2.

    Raises:
        ModelError: a number is not finite, the mass is negative, or principal moments a, b, c
            satisfy a + b < c.
    """
    if not (np.isfinite(mass) and np.isfinite(inertia).all()):
        raise ModelError(f"the inertia of '{name}' must be finite; given: mass {mass}")
    if (defect := defect_of(mass, inertia)) and not is_rounding(defect, mass, inertia):
        raise ModelError(describe(defect.kind, name, mass, np.linalg.eigvalsh(inertia).tolist()))


def check_rotors(model: Any) -> None:
    """Check that the rotors of a Pinocchio model are those that its equations of motion contain.

    Pinocchio's algorithms take rotors from ``armature`` alone: the inertia that a rotor adds to the
    diagonal of the mass matrix, ``rotorInertia * rotorGearRatio**2``. Its reader of SRDF fills in
    all three. On a base armature would be an inertia that depends on the direction of the push and
    belongs to no momentum.

    Raises:
        ModelError: armature that is negative, not finite or on a moving base, or rotors that
            ``armature`` does not contain.
    """
    armature = np.asarray(model.armature, dtype=np.float64)
    reflected = np.asarray(model.rotorInertia) * np.asarray(model.rotorGearRatio) ** 2
    for i in range(1, model.njoints):
        rows = slice(model.idx_vs[i], model.idx_vs[i] + model.nvs[i])
        inertias, rotors, name = armature[rows], reflected[rows], model.names[i]
        if not (np.isfinite(inertias).all() and (inertias >= 0.0).all()):
            raise ModelError(
                f"the armature of joint '{name}' must be finite and not negative; given: "
                f"{inertias.tolist()} kg m^2"
            )
        if model.nvs[i] > 1 and inertias.any():
            raise ModelError(
                f"the base '{name}' has the armature {inertias.tolist()}; it is accepted on joints "
                "only: set these entries to zero and give the base link the inertia itself"
            )
        # Pinocchio's own sum of the two may differ by rounding.
        if not (rotors <= inertias * (1.0 + 1e-9)).all() or (model.rotorInertia[rows] < 0.0).any():
            raise ModelError(
                f"joint '{name}' has the rotorInertia {model.rotorInertia[rows].tolist()} and the "
                f"rotorGearRatio {model.rotorGearRatio[rows].tolist()}, but the armature "
                f"{inertias.tolist()} kg m^2, from which alone the equations of motion take "
                "rotors; set armature to rotorInertia * rotorGearRatio**2, or rotorInertia to zero"
            )


def check_size(model: Any) -> None:
    """Check that a Pinocchio model has at most :data:`MAX_DOF` degrees of freedom."""
    if model.nv > MAX_DOF:
        raise ModelError(
            f"the robot '{model.name}' has {model.nv} degrees of freedom; at most {MAX_DOF} are "
            "accepted: lock joints, or make them fixed"
        )


def sampled_configurations(model: Any) -> Iterator[Array]:
    """Yield the configurations at which mass matrices are checked, the neutral one first."""
    generator = np.random.default_rng(0)
    for k in range(_SAMPLE_COUNT):
        v = generator.uniform(-1.0, 1.0, model.nv) * min(k, 1)
        yield pin.integrate(model, pin.neutral(model), v)


def mass_matrix(model: Any, data: Any, q: Array, projection: Array | None = None) -> Array:
    """Return the mass matrix of a Pinocchio model, projected on the independent joints.

    Raises:
        ModelError: an entry is not finite.
    """
    M: Array = pin.crba(model, data, q)
    if projection is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            M = projection.T @ M @ projection
    if not np.isfinite(M).all():
        raise ModelError(
            f"the mass matrix of '{model.name}' is not finite: a mass, a length or a mimic "
            "multiplier is too large; give them in kg and m"
        )
    return M


def joints_without_inertia(
    model: Any, projection: Array | None = None, *, require_positive: bool = False
) -> list[int]:
    """Return the joints whose motion moves no inertia, the most singular motion first.

    The neutral configuration and a few more are tried. A chain that ends in a massless body, or a
    point mass on its own joint axis, is singular at all of them; a robot of point masses may be
    singular at some, for instance a leg whose foot coincides with its hip.

    Args:
        model: a ``pinocchio.Model``.
        projection: (nv_full,nv) where joints mimic others.
        require_positive: whether a mass matrix that has a negative eigenvalue at one of these
            configurations is rejected, too; a physical robot has none.

    Returns:
        Indices of joints; empty if the mass matrix is positive definite.
    """
    data, is_regular = model.createData(), False
    for q in sampled_configurations(model):
        eigenvalues, eigenvectors = np.linalg.eigh(mass_matrix(model, data, q, projection))
        tolerance = _SINGULAR_RATIO * np.abs(eigenvalues).max()
        is_regular |= eigenvalues[0] > tolerance
        if is_regular and not require_positive:
            return []
        if require_positive and eigenvalues[0] < -tolerance:
            is_regular = False
            break
    if is_regular:
        return []
    motion = eigenvectors[:, 0] if projection is None else projection @ eigenvectors[:, 0]
    joint_of = [i for i in range(1, model.njoints) for _ in range(model.nvs[i])]
    return list(dict.fromkeys(joint_of[row] for row in np.argsort(-np.abs(motion), kind="stable")))


def check_mass_matrix(
    model: Any, projection: Array | None = None, *, require_positive: bool = False
) -> None:
    """Check that the mass matrix of a model is positive definite.

    The arguments are those of :func:`joints_without_inertia`.

    Raises:
        ModelError: the motion of a joint, which the message names, moves no mass.
    """
    if joints := joints_without_inertia(model, projection, require_positive=require_positive):
        defect = "is not positive definite" if require_positive else "is singular"
        raise ModelError(
            f"the mass matrix {defect}: motion of joint '{model.names[joints[0]]}' moves "
            f"no {'positive ' if require_positive else ''}inertia; give the links behind it a mass "
            "and an inertia, or lock the joint"
        )

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of the inertia of a rigid body and of the mass matrix of a robot."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..errors import ModelError
from .inertia_defects import defect_of, is_rounding, problem

# Below this ratio of extreme eigenvalues the mass matrix cannot be inverted to useful precision.
_SINGULAR = 1e-12
_SAMPLES = 5

LARGEST = 256
"""Largest number of degrees of freedom of a robot; the terms are dense matrices of that size."""


def check_inertia(name: str, mass: float, rotational: Array) -> None:
    """Check that an inertia is that of a rigid body.

    A massless frame (mass and inertia zero) and a point mass (inertia zero) pass.

    Args:
        name: of the link or joint, for the error.
        mass: kg.
        rotational: (3,3) rotational inertia about the centre of mass, kg m^2.

    Raises:
        ModelError: a number is not finite, the mass is negative, or principal moments a, b, c
            satisfy a + b < c.
    """
    if not (np.isfinite(mass) and np.isfinite(rotational).all()):
        raise ModelError(f"the inertia of '{name}' must be finite; given: mass {mass}")
    found = defect_of(mass, rotational)
    if found is not None and not is_rounding(found, mass, rotational):
        moments = np.linalg.eigvalsh(rotational).tolist()
        raise ModelError(problem(found.kind, name, mass, moments))


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
        own, rotor, name = armature[rows], reflected[rows], model.names[i]
        if not (np.isfinite(own).all() and (own >= 0.0).all()):
            raise ModelError(
                f"the armature of joint '{name}' must be finite and not negative; given: "
                f"{own.tolist()} kg m^2"
            )
        if model.nvs[i] > 1 and own.any():
            raise ModelError(
                f"the base '{name}' has the armature {own.tolist()}; it is accepted on joints "
                "only: set these entries to zero and give the base link the inertia itself"
            )
        # Pinocchio's own sum of the two may differ by rounding.
        if not (rotor <= own * (1.0 + 1e-9)).all() or (model.rotorInertia[rows] < 0.0).any():
            raise ModelError(
                f"joint '{name}' has the rotorInertia {model.rotorInertia[rows].tolist()} and the "
                f"rotorGearRatio {model.rotorGearRatio[rows].tolist()}, but the armature "
                f"{own.tolist()} kg m^2, from which alone the equations of motion take rotors; set "
                "armature to rotorInertia * rotorGearRatio**2, or rotorInertia to zero"
            )


def check_size(model: Any) -> None:
    """Check that a Pinocchio model has at most :data:`LARGEST` degrees of freedom."""
    if model.nv > LARGEST:
        raise ModelError(
            f"the robot '{model.name}' has {model.nv} degrees of freedom; at most {LARGEST} are "
            "accepted: lock joints, or make them fixed"
        )


def sampled_configurations(model: Any) -> Iterator[Array]:
    """Yield the configurations at which mass matrices are checked, the neutral one first."""
    generator = np.random.default_rng(0)
    for k in range(_SAMPLES):
        v = generator.uniform(-1.0, 1.0, model.nv) * min(k, 1)
        yield pin.integrate(model, pin.neutral(model), v)


def mass_matrix(model: Any, data: Any, q: Array, projection: Array | None = None) -> Array:
    """Return the mass matrix of a Pinocchio model, projected on the independent joints.

    Raises:
        ModelError: an entry is not finite.
    """
    upper = np.triu(pin.crba(model, data, q))
    mass: Array = upper + np.triu(upper, 1).T
    if projection is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            mass = projection.T @ mass @ projection
    if not np.isfinite(mass).all():
        raise ModelError(
            f"the mass matrix of '{model.name}' is not finite: a mass, a length or a mimic "
            "multiplier is too large; give them in kg and m"
        )
    return mass


def joints_without_inertia(
    model: Any, projection: Array | None = None, *, everywhere: bool = False
) -> list[int]:
    """Return the joints whose motion moves no inertia, the most singular motion first.

    The neutral configuration and a few more are tried. A chain that ends in a massless body, or a
    point mass on its own joint axis, is singular at all of them; a robot of point masses may be
    singular at some, for instance a leg whose foot coincides with its hip.

    Args:
        model: a ``pinocchio.Model``.
        projection: (nv_full,nv) where joints mimic others.
        everywhere: whether a mass matrix that has a negative eigenvalue at one of these
            configurations is rejected, too; a physical robot has none.

    Returns:
        Indices of joints; empty if the mass matrix is positive definite.
    """
    data, regular = model.createData(), False
    for q in sampled_configurations(model):
        mass = mass_matrix(model, data, q, projection)
        eigenvalues, eigenvectors = np.linalg.eigh(mass)
        slack = _SINGULAR * np.abs(eigenvalues).max()
        regular |= eigenvalues[0] > slack
        if regular and not everywhere:
            return []
        if everywhere and eigenvalues[0] < -slack:
            regular = False
            break
    if regular:
        return []
    still = eigenvectors[:, 0] if projection is None else projection @ eigenvectors[:, 0]
    of_row = [i for i in range(1, model.njoints) for _ in range(model.nvs[i])]
    return list(dict.fromkeys(of_row[row] for row in np.argsort(-np.abs(still), kind="stable")))


def check_mass_matrix(
    model: Any, projection: Array | None = None, *, everywhere: bool = False
) -> None:
    """Check that the mass matrix of a model is positive definite.

    The arguments are those of :func:`joints_without_inertia`.

    Raises:
        ModelError: the motion of a joint, which the message names, moves no mass.
    """
    still = joints_without_inertia(model, projection, everywhere=everywhere)
    if still:
        lacks = "is not positive definite" if everywhere else "is singular"
        raise ModelError(
            f"the mass matrix {lacks}: motion of joint '{model.names[still[0]]}' moves no "
            f"{'positive ' if everywhere else ''}inertia; give the links behind it a mass and an "
            "inertia, or lock the joint"
        )

"""Checks of the inertia of a rigid body and of the mass matrix of a robot."""

from typing import Any

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..errors import ModelError

# Published inertias are rounded to a few digits, and may violate the triangle inequality by that.
TRIANGLE_TOLERANCE = 1e-3

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
    if mass < 0:
        raise ModelError(f"the mass of '{name}' must not be negative; given: {mass} kg")
    moments = np.sort(np.linalg.eigvalsh(rotational))
    slack = TRIANGLE_TOLERANCE * moments[2]
    if moments[0] < -slack or moments[0] + moments[1] < moments[2] - slack:
        raise ModelError(
            f"the rotational inertia of '{name}' belongs to no rigid body: its principal moments "
            f"{', '.join(f'{m:.6g}' for m in moments)} kg m^2 must be positive and each at most "
            "the sum of the other two"
        )
    if mass == 0 and moments[2] > 0:
        raise ModelError(f"'{name}' has a rotational inertia but no mass")


def check_bodies(model: Any) -> None:
    """Apply :func:`check_inertia` to every moving body of a Pinocchio model."""
    for i in range(1, model.njoints):
        body = model.inertias[i]
        check_inertia(model.names[i], body.mass, body.inertia)


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


def check_mass_matrix(model: Any, projection: Array | None = None) -> None:
    """Check that the mass matrix of a model is positive definite at some configuration.

    The neutral configuration and a few more are tried. A chain that ends in a massless body, or a
    point mass on its own joint axis, is singular at all of them; a robot of point masses may be
    singular at some, for instance a leg whose foot coincides with its hip.

    Args:
        model: a ``pinocchio.Model``.
        projection: (nv_full,nv) where joints mimic others.

    Raises:
        ModelError: the motion of a joint, which the message names, moves no mass; or the robot has
            too many joints.
    """
    if model.nv > LARGEST:
        raise ModelError(
            f"the robot '{model.name}' has {model.nv} degrees of freedom; at most {LARGEST} are "
            "accepted: lock joints, or make them fixed"
        )
    data = model.createData()
    generator = np.random.default_rng(0)
    for k in range(_SAMPLES):
        v = generator.uniform(-1.0, 1.0, model.nv) * min(k, 1)
        q = pin.integrate(model, pin.neutral(model), v)
        upper = np.triu(pin.crba(model, data, q))
        mass = upper + np.triu(upper, 1).T
        if projection is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                mass = projection.T @ mass @ projection
        if not np.isfinite(mass).all():
            raise ModelError(
                f"the mass matrix of '{model.name}' is not finite: a mass, a length or a mimic "
                "multiplier is too large; give them in kg and m"
            )
        eigenvalues, eigenvectors = np.linalg.eigh(mass)
        if eigenvalues[0] > _SINGULAR * eigenvalues[-1]:
            return
    still = eigenvectors[:, 0] if projection is None else projection @ eigenvectors[:, 0]
    worst = int(np.argmax(np.abs(still)))
    joint = next(
        model.names[i]
        for i in range(1, model.njoints)
        if model.idx_vs[i] <= worst < model.idx_vs[i] + model.nvs[i]
    )
    raise ModelError(
        f"the mass matrix is singular: motion of joint '{joint}' moves no inertia; give "
        "the links behind it a mass and an inertia, or lock the joint"
    )

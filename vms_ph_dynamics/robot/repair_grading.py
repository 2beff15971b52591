# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""How grave the defects of the inertias of a robot are.

A defect is graded by what its repair changes: the mass matrix, and with it the kinetic energy, of
the whole robot.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pinocchio as pin

from ..arrays import Array
from .inertia import mass_matrix, sampled_configurations
from .inertia_defects import Found, Grade, InertiaDefect, PhysicalInertia
from .link_inertia import LinkInertia

NEGLIGIBLE = 0.1
"""Largest relative change of the kinetic energy that is repaired unasked; published inertias, of
uniform bodies or from drawings, are hardly more accurate."""


class RepairGrading:
    """Grades defects by what their repair changes in the mass matrix of the repaired robot."""

    def __init__(self, model: Any, projection: Array | None, added: set[int]) -> None:
        """Construct for a repaired model.

        Args:
            model: a ``pinocchio.Model``.
            projection: (nv_full,nv) where joints mimic others.
            added: joints that were given an inertia, since they moved none.
        """
        self._model, self._added = model, added
        self._samples: list[tuple[Array, Array]] = []  # q and the Cholesky factor of M
        self._projection = projection
        # The motions of joints that had no inertia count for none but themselves.
        own = [i for i in range(1, model.njoints) for _ in range(model.nvs[i])]
        rows = np.array([joint in added for joint in own])
        moved = rows if projection is None else np.abs(projection[rows]).sum(axis=0) > 0.0
        self._others = ~moved
        data = model.createData()
        for q in sampled_configurations(model):
            mass = mass_matrix(model, data, q, projection)
            with suppress(np.linalg.LinAlgError):  # singular here, not everywhere
                self._samples.append((q, np.linalg.cholesky(mass)))

    def change(self, joint: int, difference: Array, others: bool = False) -> float:
        """Return the largest modulus of the eigenvalues of ``M^-1 J^T difference J``.

        Args:
            joint: whose body changes.
            difference: (6,6) of its inertia, in the axes of the joint.
            others: only the motion of joints that had an inertia.
        """
        model, largest = self._model, 0.0
        data = model.createData()
        for q, factor in self._samples:
            pin.computeJointJacobians(model, data, q)
            J = pin.getJointJacobian(model, data, joint, pin.LOCAL).reshape(6, model.nv)
            J = J if self._projection is None else J @ self._projection
            change = J.T @ difference @ J
            if others:
                keep = np.ix_(self._others, self._others)
                change, mass = change[keep], (factor @ factor.T)[keep]
                if not change.size:
                    continue
                factor = np.linalg.cholesky(mass)
            half = np.linalg.solve(factor, change)
            whole = np.linalg.solve(factor, half.T)
            largest = max(largest, float(np.abs(np.linalg.eigvalsh(whole)).max()))
        return largest if self._samples else np.inf

    def of_link(
        self, link: LinkInertia, defect: Found, nearest: PhysicalInertia | None
    ) -> InertiaDefect:
        """Return the record of a defect of a link; None for an inertia that is left."""
        given = _numbers(link.mass, link.rotational)
        grade: Grade = "harmless"
        if nearest is None:
            why = "its digits are rounded" if link.joint else "the link does not move"
            change, taken, remedy = 0.0, given, f"taken as it is, since {why}"
        else:
            difference = link.in_joint(*nearest).matrix()
            difference -= link.in_joint(link.mass, link.rotational).matrix()
            change, taken = self.change(link.joint, difference), _numbers(*nearest)
            grade = "negligible" if change <= NEGLIGIBLE else "grave"
            moments = ", ".join(f"{m:.6g}" for m in taken[1:])
            remedy = (
                f"the nearest physical inertia has {taken[0]:g} kg and {moments} kg m^2 and "
                f"changes the mass matrix by {_percent(change)}"
            )
        joint = self._model.names[link.joint]
        return InertiaDefect(
            defect.kind, link.link, joint, grade, defect.excess, change, given, taken, remedy
        )

    def of_joint(self, links: Sequence[LinkInertia], joint: int, small: Any) -> InertiaDefect:
        """Return the record of a joint that moves no inertia."""
        model = self._model
        change = self.change(joint, small.matrix(), others=True)
        alone = not any(
            self._is_above(joint, other) or self._is_above(other, joint)
            for other in self._added - {joint}
        )
        others = any(
            model.inertias[i].mass > 0.0 for i in range(1, model.njoints) if i not in self._added
        )
        negligible = alone and others and change <= NEGLIGIBLE
        own = [link for link in links if link.joint == joint]
        given = (sum(link.mass for link in own), 0.0, 0.0, 0.0)
        mass, moment = small.mass, small.inertia[0, 0]
        remedy = (
            f"a thousandth of the inertia of the body that carries it, {mass:.3g} kg and "
            f"{moment:.3g} kg m^2, makes it move and changes the mass matrix of the other joints "
            f"by {_percent(change)}"
        )
        return InertiaDefect(
            "no inertia",
            self._link_of(joint),
            model.names[joint],
            "negligible" if negligible else "grave",
            0.0,
            change,
            given,
            (mass, moment, moment, moment),
            remedy,
        )

    def _link_of(self, joint: int) -> str:
        frames = self._model.frames
        links = (f.name for f in frames if f.type == pin.FrameType.BODY and f.parentJoint == joint)
        return str(next(links, self._model.names[joint]))

    def _is_above(self, joint: int, other: int) -> bool:
        while other > joint:
            other = self._model.parents[other]
        return bool(other == joint)


def _percent(change: float) -> str:
    return f"{100.0 * change:.2g} % at most" if np.isfinite(change) else "more than can be computed"


def _numbers(mass: float, rotational: Array) -> tuple[float, float, float, float]:
    a, b, c = np.linalg.eigvalsh(rotational).tolist()
    return float(mass), a, b, c

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Repair of the inertias of a robot, and how grave their defects are.

A defect is graded by what its repair changes: the mass matrix, and with it the kinetic energy, of
the whole robot.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..errors import ModelError
from .inertia import (
    BodyDefect,
    DefectGrade,
    InertiaDefect,
    LinkInertia,
    PhysicalInertia,
    check_mass_matrix,
    defect_of,
    is_rounding,
    joints_without_inertia,
    mass_matrix,
    nearest_inertia,
    sampled_configurations,
)
from .joints import is_ancestor

MAX_NEGLIGIBLE_CHANGE = 0.1
"""Largest relative change of the kinetic energy that is repaired unasked; published inertias, of
uniform bodies or from drawings, are hardly more accurate."""


class RepairGrading:
    """Grades defects by what their repair changes in the mass matrix of the repaired robot."""

    def __init__(self, model: Any, projection: Array | None, added_joints: set[int]) -> None:
        """Construct for a repaired model.

        Args:
            model: a ``pinocchio.Model``.
            projection: (nv_full,nv) where joints mimic others.
            added_joints: joints that were given an inertia, since they moved none.
        """
        self._model, self._added_joints, self._projection = model, added_joints, projection
        self._samples: list[tuple[Array, Array]] = []  # q and the Cholesky factor of M
        # The motions of joints that had no inertia count for those joints alone.
        is_added = np.repeat([i in added_joints for i in range(1, model.njoints)], model.nvs[1:])
        if projection is not None:
            is_added = np.abs(projection[is_added]).sum(axis=0) > 0.0
        self._had_inertia = ~is_added
        data = model.createData()
        for q in sampled_configurations(model):
            M = mass_matrix(model, data, q, projection)
            with suppress(np.linalg.LinAlgError):  # a singular sample is skipped
                self._samples.append((q, np.linalg.cholesky(M)))

    def relative_change(self, joint: int, difference: Array, exclude_added: bool = False) -> float:
        """Return the largest modulus of the eigenvalues of ``M^-1 J^T difference J``.

        Args:
            joint: the joint whose body changes.
            difference: (6,6) of its inertia, in the axes of the joint.
            exclude_added: count only the motion of joints that had an inertia.
        """
        model, max_change = self._model, 0.0
        data = model.createData()
        for q, factor in self._samples:
            pin.computeJointJacobians(model, data, q)
            J = pin.getJointJacobian(model, data, joint, pin.LOCAL).reshape(6, model.nv)
            J = J if self._projection is None else J @ self._projection
            mass_change = J.T @ difference @ J
            if exclude_added:
                block = np.ix_(self._had_inertia, self._had_inertia)
                mass_change, M = mass_change[block], (factor @ factor.T)[block]
                if not mass_change.size:
                    continue
                factor = np.linalg.cholesky(M)
            scaled_change = np.linalg.solve(factor, np.linalg.solve(factor, mass_change).T)
            max_change = max(max_change, float(np.abs(np.linalg.eigvalsh(scaled_change)).max()))
        return max_change if self._samples else np.inf

    def link_defect(
        self, link: LinkInertia, defect: BodyDefect, inertias: Mapping[int, PhysicalInertia]
    ) -> InertiaDefect:
        """Return the record of a defect of a link; ``inertias`` are those of repaired links."""
        kind, excess = defect
        inertia = inertias.get(id(link))
        original_values = _mass_and_moments(link.mass, link.inertia)
        grade: DefectGrade = "harmless"
        if inertia is None:
            reason = "its digits are rounded, or the body that its joint moves is physical"
            remedy = f"taken as it is, since {reason if link.joint else 'the link does not move'}"
            change, repaired_values = 0.0, original_values
        else:
            difference = link.joint_inertia(*inertia).matrix()
            difference -= link.joint_inertia(link.mass, link.inertia).matrix()
            change = self.relative_change(link.joint, difference)
            repaired_values = _mass_and_moments(*inertia)
            grade = "negligible" if change <= MAX_NEGLIGIBLE_CHANGE else "grave"
            moments_text = ", ".join(f"{moment:.6g}" for moment in repaired_values[1:])
            remedy = (
                f"the nearest physical inertia has {repaired_values[0]:g} kg and {moments_text} "
                f"kg m^2 and changes the mass matrix by {_percent(change)}"
            )
        joint = self._model.names[link.joint]
        return InertiaDefect(
            kind, link.link, joint, grade, excess, change, original_values, repaired_values, remedy
        )

    def joint_defect(self, links: Sequence[LinkInertia], joint: int, inertia: Any) -> InertiaDefect:
        """Return the record of a joint that moves no inertia."""
        model = self._model
        change = self.relative_change(joint, inertia.matrix(), exclude_added=True)
        is_isolated = not any(
            is_ancestor(model, joint, other_joint) or is_ancestor(model, other_joint, joint)
            for other_joint in self._added_joints - {joint}
        )
        other_joints = set(range(1, model.njoints)) - self._added_joints
        has_other_masses = any(model.inertias[i].mass > 0.0 for i in other_joints)
        is_negligible = is_isolated and has_other_masses and change <= MAX_NEGLIGIBLE_CHANGE
        original_mass = sum(link.mass for link in links if link.joint == joint)
        mass, moment = inertia.mass, inertia.inertia[0, 0]
        remedy = (
            f"a thousandth of the mass of the body that carries it, {mass:.3g} kg and "
            f"{moment:.3g} kg m^2, makes it move and changes the mass matrix of the other joints "
            f"by {_percent(change)}"
        )
        return InertiaDefect(
            "no inertia",
            self._link_of(joint),
            model.names[joint],
            "negligible" if is_negligible else "grave",
            0.0,
            change,
            (original_mass, 0.0, 0.0, 0.0),
            (mass, moment, moment, moment),
            remedy,
        )

    def _link_of(self, joint: int) -> str:
        frames = self._model.frames
        names = (f.name for f in frames if f.type == pin.FrameType.BODY and f.parentJoint == joint)
        return str(next(names, self._model.names[joint]))


def _percent(change: float) -> str:
    return f"{100.0 * change:.2g} % at most" if np.isfinite(change) else "more than can be computed"


def _mass_and_moments(mass: float, inertia: Array) -> tuple[float, float, float, float]:
    a, b, c = np.linalg.eigvalsh(inertia).tolist()
    return float(mass), a, b, c


# A joint without inertia gets this share of the mass of the body that carries it.
_ADDED_MASS_RATIO = 1e-3
# Of the heaviest mass: a body below it is too light to take a share of.
_MIN_CARRIER_MASS_RATIO = 1e-6
# A radius of gyration above this multiple of the reach of the robot is not physical.
_OUTSIZED_RATIO = 100.0
_RADIUS_RANGE = (0.01, 0.1)  # m, least and largest radius of gyration of what a joint gets


class Repair(NamedTuple):
    """A robot with physical inertias.

    Attributes:
        model: a ``pinocchio.Model``; the given one if nothing had to be changed.
        defects: all defects of the given one, also the harmless ones.
    """

    model: Any
    defects: tuple[InertiaDefect, ...]


def body_inertias(model: Any) -> list[LinkInertia]:
    """Return the inertias of the moving bodies of a Pinocchio model, under their joints' names."""
    return [
        LinkInertia(model.names[i], i, pin.SE3.Identity(), body.mass, body.lever, body.inertia)
        for i, body in list(enumerate(model.inertias))[1:]
    ]


def repair(model: Any, links: Sequence[LinkInertia], projection: Array | None = None) -> Repair:
    """Return a robot with the nearest physical inertias, and the defects of the given ones.

    Args:
        model: a ``pinocchio.Model``; it is not changed.
        links: the inertias of all links, whose sums are the bodies of the model.
        projection: (nv_full,nv) where joints mimic others.

    Raises:
        ModelError: no link has a mass, or an inertia is not finite.
    """
    defective_links: list[tuple[LinkInertia, BodyDefect]] = []
    for link in links:
        if not (np.isfinite(link.mass) and np.isfinite(link.inertia).all()):
            name = link.link
            raise ModelError(f"the inertia of '{name}' must be finite; given: mass {link.mass}")
        if defect := defect_of(link.mass, link.inertia):
            defective_links.append((link, defect))
    inertias = {
        id(link): nearest_inertia(link.mass, link.inertia)
        for link, defect in defective_links
        # Defects due to rounding, of a link that does not move, or of a part of a body are left.
        if link.joint and not is_rounding(defect, link.mass, link.inertia)
        if defect_of(model.inertias[link.joint].mass, model.inertias[link.joint].inertia)
    }
    repaired_model, additions = _with_additions(_with_nearest(model, links, inertias), projection)
    if joints_without_inertia(repaired_model, projection):
        for link, defect, reduced_inertia in _outsized_links(model, links, inertias):
            inertias[id(link)] = reduced_inertia
            defective_links = [*(d for d in defective_links if d[0] is not link), (link, defect)]
        nearest_model = _with_nearest(model, links, inertias)
        repaired_model, additions = _with_additions(nearest_model, projection)
    if not defective_links and not additions:
        return Repair(model, ())
    grading = RepairGrading(repaired_model, projection, set(additions))
    defects = [grading.link_defect(link, defect, inertias) for link, defect in defective_links]
    defects += [grading.joint_defect(links, joint, inertia) for joint, inertia in additions.items()]
    return Repair(repaired_model, tuple(defects))


def _with_nearest(
    model: Any, links: Sequence[LinkInertia], inertias: Mapping[int, PhysicalInertia]
) -> Any:
    """Return a model with the nearest physical inertias of the links in ``inertias``."""
    if not inertias:
        return model
    repaired_model = model.copy()
    for joint in {link.joint for link in links if id(link) in inertias}:
        inertia = pin.Inertia.Zero()
        for link in links:
            if link.joint == joint:
                inertia += link.joint_inertia(*inertias.get(id(link), (link.mass, link.inertia)))
        repaired_model.inertias[joint] = inertia
    return repaired_model


def _outsized_links(
    model: Any, links: Sequence[LinkInertia], nearest_inertias: Mapping[int, PhysicalInertia]
) -> Iterator[tuple[LinkInertia, BodyDefect, PhysicalInertia]]:
    """Yield links whose moments need a body far larger than the robot, with reduced inertias.

    They are no defect unless a mass matrix cannot be inverted for them: beside 1e12 kg m^2, those
    of the other links vanish in rounding.
    """
    reach = _largest_reach(model, links)
    for link in links:
        mass, rotational_inertia = nearest_inertias.get(id(link), (link.mass, link.inertia))
        max_moment = float(np.linalg.eigvalsh(rotational_inertia)[-1])
        if link.joint > 0 and max_moment > mass * (_OUTSIZED_RATIO * reach) ** 2:
            reduced_inertia = rotational_inertia * (mass * reach**2 / max_moment)
            yield link, BodyDefect("outsized", max_moment), PhysicalInertia(mass, reduced_inertia)


def _largest_reach(model: Any, links: Sequence[LinkInertia]) -> float:
    """Return a length that the robot hardly exceeds, m."""
    lengths = [np.linalg.norm(p.translation) for p in list(model.jointPlacements)[1:]]
    return float(max(sum(lengths), *(np.linalg.norm(link.centre) for link in links), 0.1))


def _with_additions(model: Any, projection: Array | None) -> tuple[Any, dict[int, Any]]:
    """Return a model whose joints all move an inertia, and the inertias that had to be added.

    Each is a part of the inertia of the body that carries the joint.
    """
    trial, added_inertias = model, {}
    while inertialess_joints := [
        joint for joint in joints_without_inertia(trial, projection) if joint not in added_inertias
    ]:
        joint = inertialess_joints[0]
        body = _carrying_inertia(model, joint)
        # The inertia of a fixed link is not repaired and may be unphysical, hence max(0, ...).
        radius_squared = max(0.0, float(np.linalg.eigvalsh(body.inertia)[-1]) / body.mass)
        radius, mass = np.clip(radius_squared**0.5, *_RADIUS_RANGE), _ADDED_MASS_RATIO * body.mass
        added_inertias[joint] = pin.Inertia(mass, np.zeros(3), mass * radius**2 * np.eye(3))
        trial = model.copy() if trial is model else trial
        trial.inertias[joint] += added_inertias[joint]
    return trial, added_inertias


def _carrying_inertia(model: Any, joint: int) -> Any:
    """Return the inertia of the body that carries a joint, or the heaviest if that is too light."""
    masses = [inertia.mass for inertia in model.inertias]
    min_mass = _MIN_CARRIER_MASS_RATIO * max(masses)
    if not min_mass > 0.0:
        raise ModelError("no link has an <inertial> with a mass, so there is no dynamics")
    parent = model.parents[joint]
    while parent > 0 and masses[parent] < min_mass:
        parent = model.parents[parent]
    return model.inertias[parent if masses[parent] >= min_mass else int(np.argmax(masses))]


InertiaMode = Literal["auto", "strict", "repair", "as_given"]

MODES = get_args(InertiaMode)

_HINTS = {
    "strict": "inertia='strict' refuses all of these, inertia='auto' the grave ones",
    "auto": "correct the description, or give inertia='repair' to take the repaired inertias, or "
    "inertia='as_given' where the mass matrix is positive definite",
}


def accept_inertias(
    model: Any, links: Sequence[LinkInertia], mode: InertiaMode, projection: Array | None = None
) -> Repair:
    """Return a robot that the mode accepts, and the defects that were repaired.

    Args:
        model: a ``pinocchio.Model``; it is not changed.
        links: the inertias of all links, whose sums are the bodies of the model.
        mode: ``"auto"`` repairs negligible defects and refuses grave ones, ``"strict"`` refuses
            all, ``"repair"`` repairs all, ``"as_given"`` repairs none.
        projection: (nv_full,nv) where joints mimic others.

    Raises:
        ModelError: a defect that the mode refuses; the message lists all of them.
    """
    if check_mode(mode) == "as_given":
        check_mass_matrix(model, projection, require_positive=True)
        return Repair(model, ())
    repaired_model, defects = repair(model, links, projection)
    if defects_refused := refused_defects(defects, mode):
        defect_list = "; ".join(str(defect) for defect in defects_refused)
        raise ModelError(f"{defect_list}; {_HINTS[mode]}")
    check_mass_matrix(repaired_model, projection)
    return Repair(repaired_model, repaired_defects(defects, mode))


def check_mode(mode: InertiaMode) -> InertiaMode:
    """Return a mode, or raise a :exc:`.ModelError` that lists the modes."""
    if mode not in MODES:
        raise ModelError(f"inertia must be {', '.join(MODES[:-1])} or {MODES[-1]}; given: {mode!r}")
    return mode


def refused_defects(
    defects: Iterable[InertiaDefect], mode: InertiaMode
) -> tuple[InertiaDefect, ...]:
    """Return those of some defects that a mode refuses."""
    grades = {"strict": ("harmless", "negligible", "grave"), "auto": ("grave",)}.get(mode, ())
    return tuple(defect for defect in defects if defect.grade in grades)


def repaired_defects(
    defects: Iterable[InertiaDefect], mode: InertiaMode
) -> tuple[InertiaDefect, ...]:
    """Return those of some defects that a mode repairs."""
    grades = {"auto": ("negligible",), "repair": ("negligible", "grave")}.get(mode, ())
    return tuple(defect for defect in defects if defect.grade in grades)

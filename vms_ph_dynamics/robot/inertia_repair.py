# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Repair of the inertias of a robot: the nearest that bodies can have, and that all joints move."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ..arrays import Array
from ..errors import ModelError
from .inertia import joints_without_inertia
from .inertia_defects import (
    Found,
    InertiaDefect,
    PhysicalInertia,
    defect_of,
    is_rounding,
    nearest_inertia,
)
from .link_inertia import LinkInertia
from .repair_grading import RepairGrading

_SMALL = 1e-3  # part of the inertia of the body that carries it that a link without inertia gets
_LIGHT = 1e-6  # of the mass of the heaviest body: too light to be the measure of others
_OUTSIZED = 100.0  # times the reach of the robot, a radius of gyration
_LEAST_RADIUS = 0.01  # m, radius of gyration of a point mass for that purpose


class Repaired(NamedTuple):
    """A robot with physical inertias.

    Attributes:
        model: a ``pinocchio.Model``; the given one if nothing had to be changed.
        defects: all defects of the given one, also the harmless ones.
    """

    model: Any
    defects: tuple[InertiaDefect, ...]


def links_of(model: Any) -> list[LinkInertia]:
    """Return the inertias of the moving bodies of a Pinocchio model, under their joints' names."""
    return [
        LinkInertia(
            model.names[i],
            i,
            pin.SE3.Identity(),
            model.inertias[i].mass,
            model.inertias[i].lever,
            model.inertias[i].inertia,
        )
        for i in range(1, model.njoints)
    ]


def repair(model: Any, links: Sequence[LinkInertia], projection: Array | None = None) -> Repaired:
    """Return a robot with the nearest physical inertias, and the defects of the given ones.

    Args:
        model: a ``pinocchio.Model``; it is not changed.
        links: the inertias of all links, whose sums are the bodies of the model.
        projection: (nv_full,nv) where joints mimic others.

    Raises:
        ModelError: no link has a mass, or an inertia is not finite.
    """
    found: list[tuple[LinkInertia, Found]] = []
    for link in links:
        _check_finite(link)
        defect = defect_of(link.mass, link.rotational)
        if defect is not None:
            found.append((link, defect))
    nearest = {
        id(link): nearest_inertia(link.mass, link.rotational)
        for link, defect in found
        if not _is_harmless(link, defect)
    }
    repaired, added = _moving(_with_nearest(model, links, nearest), links, projection)
    if joints_without_inertia(repaired, projection):
        for link, defect, smaller in _outsized(model, links, nearest):
            nearest[id(link)] = smaller
            found = [*((at, was) for at, was in found if at is not link), (link, defect)]
        repaired, added = _moving(_with_nearest(model, links, nearest), links, projection)
    if not found and not added:
        return Repaired(model, ())
    grading = RepairGrading(repaired, projection, set(added))
    defects = [grading.of_link(link, defect, nearest.get(id(link))) for link, defect in found]
    defects += [grading.of_joint(links, joint, small) for joint, small in added.items()]
    return Repaired(repaired, tuple(defects))


def _check_finite(link: LinkInertia) -> None:
    if not (np.isfinite(link.mass) and np.isfinite(link.rotational).all()):
        raise ModelError(f"the inertia of '{link.link}' must be finite; given: mass {link.mass}")


def _is_harmless(link: LinkInertia, defect: Found) -> bool:
    """Return whether a defect is left: due to rounding, or of a link that does not move."""
    return link.joint == 0 or is_rounding(defect, link.mass, link.rotational)


def _with_nearest(
    model: Any, links: Sequence[LinkInertia], nearest: Mapping[int, PhysicalInertia]
) -> Any:
    if not nearest:
        return model
    repaired = model.copy()
    for joint in {link.joint for link in links if id(link) in nearest}:
        whole = pin.Inertia.Zero()
        for link in links:
            if link.joint == joint:
                whole += link.in_joint(*nearest.get(id(link), (link.mass, link.rotational)))
        repaired.inertias[joint] = whole
    return repaired


def _outsized(
    model: Any, links: Sequence[LinkInertia], nearest: Mapping[int, PhysicalInertia]
) -> Iterator[tuple[LinkInertia, Found, PhysicalInertia]]:
    """Yield moments that a body of this mass has only if it is far larger than the robot.

    They are no defect unless a mass matrix cannot be inverted for them: beside 1e12 kg m^2, those
    of the other links vanish in rounding.
    """
    reach = _reach(model, links)
    for link in links:
        mass, rotational = nearest.get(id(link), (link.mass, link.rotational))
        largest = float(np.linalg.eigvalsh(rotational)[-1])
        if link.joint > 0 and largest > mass * (_OUTSIZED * reach) ** 2:
            smaller = rotational * (mass * reach**2 / largest)
            yield link, Found("outsized", largest), PhysicalInertia(mass, smaller)


def _reach(model: Any, links: Sequence[LinkInertia]) -> float:
    """Return a length that the robot hardly exceeds, m."""
    lengths = [
        np.linalg.norm(model.jointPlacements[i].translation) for i in range(1, model.njoints)
    ]
    return float(max(sum(lengths), *(np.linalg.norm(link.centre) for link in links), 0.1))


def _moving(
    model: Any, links: Sequence[LinkInertia], projection: Array | None
) -> tuple[Any, dict[int, Any]]:
    """Return a model whose joints all move an inertia, and the inertias that had to be added.

    Each is a part of the inertia of the body that carries the joint.
    """
    trial, added = model, {}
    while still := [
        joint for joint in joints_without_inertia(trial, projection) if joint not in added
    ]:
        joint = still[0]
        body = _carrier(model, joint)
        # The inertia of the link that stands may be that of no body.
        squared = float(np.linalg.eigvalsh(body.inertia)[-1]) / body.mass
        radius = min(max(squared, _LEAST_RADIUS**2) ** 0.5, _reach(model, links))
        mass = _SMALL * body.mass
        added[joint] = pin.Inertia(mass, np.zeros(3), mass * radius**2 * np.eye(3))
        trial = model.copy() if trial is model else trial
        trial.inertias[joint] += added[joint]
    return trial, added


def _carrier(model: Any, joint: int) -> Any:
    """Return the inertia of the body that carries a joint, or of the heaviest if that is light."""
    masses = [inertia.mass for inertia in model.inertias]
    heaviest = int(np.argmax(masses))
    if not masses[heaviest] > 0.0:
        raise ModelError("no link has an <inertial> with a mass, so there is no dynamics")
    above = model.parents[joint]
    while above > 0 and masses[above] < _LIGHT * masses[heaviest]:
        above = model.parents[above]
    return model.inertias[above if masses[above] >= _LIGHT * masses[heaviest] else heaviest]

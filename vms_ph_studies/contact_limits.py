# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Speeds and energies in contact with people, by the limits of ISO/TS 15066:2016, Annex A.

A body region is a mass on a spring [Tables A.2, A.3]. A robot of the effective mass ``m_R`` that
meets it at a relative speed ``v`` compresses the spring by at most the force F of

    E = F^2 / (2 k) = mu v^2 / 2,    1 / mu = 1 / m_R + 1 / m_H.

The values were compared in at least two independent public copies of the tables, not in the
specification itself. Pressures of back, abdomen, pelvis and legs stand in one copy only and are
left out. ISO 10218-2:2025 took the tables over as Annex M; of that annex no copy was compared.
"""

from dataclasses import dataclass
from html import escape
from math import inf, sqrt
from pathlib import Path

import numpy as np

from vms_ph_controllers.guard import EnergyGuardSettings
from vms_ph_dynamics import Array, Evaluation, OptionError, VMSModel
from vms_ph_io import robots
from vms_ph_io.progress import Progress
from vms_ph_io.settings.bounded_text import writing

from .check import Check, verdict_of
from .html_page import table, write_page
from .study import Outcome, Parameter, Settings, Study


@dataclass(frozen=True)
class BodyRegion:
    """A region of the body.

    Attributes:
        force: largest quasi-static force, N.
        stiffness: effective spring constant, N/m.
        mass: effective mass, kg.
        pressure: lowest of the largest quasi-static pressures in the region, N/cm^2; infinite where
            it is not confirmed.
        transient_ratio: largest transient force or pressure over the quasi-static one; 0 where no
            contact is permitted.
    """

    force: float
    stiffness: float
    mass: float
    pressure: float = inf
    transient_ratio: float = 2.0


REGIONS = {
    "skull and forehead": BodyRegion(130.0, 150e3, 4.4, 110.0, 0.0),
    "face": BodyRegion(65.0, 75e3, 4.4, 110.0, 0.0),
    "neck": BodyRegion(150.0, 50e3, 1.2, 140.0),
    "back and shoulders": BodyRegion(210.0, 35e3, 40.0),
    "chest": BodyRegion(140.0, 25e3, 40.0, 120.0),
    "abdomen": BodyRegion(110.0, 10e3, 40.0),
    "pelvis": BodyRegion(180.0, 25e3, 40.0),
    "upper arms and elbows": BodyRegion(150.0, 30e3, 3.0, 190.0),
    "lower arms and wrists": BodyRegion(160.0, 40e3, 2.0, 180.0),
    "hands and fingers": BodyRegion(140.0, 75e3, 0.6, 190.0),
    "thighs and knees": BodyRegion(220.0, 50e3, 75.0),
    "lower legs": BodyRegion(130.0, 60e3, 75.0),
}
"""The body regions by their names."""

# Smallest limit of speed, m/s, as zero would mean no limit; time step of a simulated impact, s.
_MIN_SPEED_LIMIT, _IMPACT_STEP = 1e-6, 1e-4


@dataclass(frozen=True)
class ContactLimit:
    """Limits of the contact of a robot with a body region.

    Attributes:
        force: the largest, N.
        energy: of a compression by this force, J; the budget for :class:`PositionGuard`.
        speed: relative to the region when they meet, m/s.
    """

    force: float
    energy: float
    speed: float

    @property
    def settings(self) -> EnergyGuardSettings:
        """Settings with which :class:`EnergyGuard` gives at most this energy from rest.

        By its theorem without pushes, ``energy = 1.8 budget + max(1 mJ, energy / 20)``.
        """
        budget = max(0.0, self.energy - max(1e-3, self.energy / 20.0)) / 1.8
        return EnergyGuardSettings(budget, budget, speed=max(self.speed, _MIN_SPEED_LIMIT))


def contact_limit(
    region: str, robot_mass: float, *, is_clamped: bool = True, area: float = inf
) -> ContactLimit:
    """Return the limits of the contact of a robot with a body region.

    Args:
        region: one of :data:`REGIONS`.
        robot_mass: effective mass of the robot, kg.
        is_clamped: whether the region cannot recoil; then its force is quasi-static and its mass
            infinite.
        area: of the contact, cm^2, for the pressure; infinite where it is not considered.

    Raises:
        OptionError: there is no such region, or the mass or the area is not positive.
    """
    if region not in REGIONS:
        raise OptionError(f"there is no region '{region}'; there are {', '.join(REGIONS)}")
    if not (robot_mass > 0.0 and area > 0.0):
        given_text = f"given: {robot_mass} kg, {area} cm^2"
        raise OptionError(f"the mass of the robot and the area must be above zero; {given_text}")
    r = REGIONS[region]
    ratio = min(1.0, r.transient_ratio) if is_clamped else r.transient_ratio
    force = ratio * min(r.force, r.pressure * area)
    inverse_mass = 1.0 / robot_mass + (0.0 if is_clamped else 1.0 / r.mass)
    energy, speed = force**2 / (2.0 * r.stiffness), force * sqrt(inverse_mass / r.stiffness)
    return ContactLimit(force, energy, speed)


def effective_mass(
    model: VMSModel, q: Array, direction: Array | None = None, payload: float = 0.0
) -> float:
    r"""Return the effective mass of the end effector, :math:`1 / (u^\top \Lambda^{-1} u)`, kg.

    Args:
        model: the robot.
        q: (nq,) configuration.
        direction: (3,) u in axes of the end effector; None for that of the largest mass.
        payload: mass at the end effector that the model lacks, kg.
    """
    d = model.evaluate(q, np.zeros(model.nv))
    u = heaviest_direction(d) if direction is None else direction / np.linalg.norm(direction)
    jacobian = d.J_end_effector[:3]
    loaded_mass_matrix = d.M + payload * jacobian.T @ jacobian
    mobility = float(u @ jacobian @ np.linalg.solve(loaded_mass_matrix, jacobian.T) @ u)
    return 1.0 / mobility if mobility > 1e-9 else inf


def heaviest_direction(d: Evaluation) -> Array:
    """Return the unit vector (3,) of the largest effective mass, in axes of the end effector.

    Directions in which it cannot move do not count.
    """
    jacobian = d.J_end_effector[:3]
    mobilities, vectors = np.linalg.eigh(jacobian @ np.linalg.solve(d.M, jacobian.T))
    return np.array(vectors[:, np.argmax(mobilities > 1e-9)])


def peak_force(model: VMSModel, q: Array, direction: Array, region: str, speed: float) -> float:
    """Return the largest force of an impact on a free body region at rest, N, by simulation.

    Args:
        model: the robot, with torques against its weight only.
        q: (nq,) configuration at the start.
        direction: (3,) unit vector of the motion, in axes of the end effector at the start.
        region: one of :data:`REGIONS`.
        speed: of the end effector, m/s.
    """
    r, d = REGIONS[region], model.evaluate(q, np.zeros(model.nv))
    velocity_response = np.linalg.solve(d.M, d.J_end_effector[:3].T @ direction)
    v = speed / float(direction @ d.J_end_effector[:3] @ velocity_response) * velocity_response
    u = d.placement(model.end_effector)[:3, :3] @ direction
    compression = region_speed = largest_force = 0.0
    while compression >= largest_force / r.stiffness:  # as long as it grows
        largest_force = r.stiffness * compression
        d = model.evaluate(q, v)
        jacobian_row = u @ d.placement(model.end_effector)[:3, :3] @ d.J_end_effector[:3]
        v = v - _IMPACT_STEP * np.linalg.solve(d.M, d.C @ v + jacobian_row * largest_force)
        region_speed += _IMPACT_STEP * largest_force / r.mass
        q = model.integrate(q, _IMPACT_STEP * v)
        compression += _IMPACT_STEP * (float(jacobian_row @ v) - region_speed)
    return largest_force


_NOT_COVERED = (
    "This is no certification and no proof of conformity: forces and pressures must be measured.",
    "The values are those of ISO/TS 15066:2016, Tables A.2 and A.3, as public copies state them. "
    "Read the edition that applies; ISO 10218-2:2025 (Annex M) was not compared.",
    "They are for healthy adults and blunt contact, at the onset of pain or slight injury: not for "
    "edges, points, heat, children, or contact with the head.",
    "Pressure limits the force only where a contact area is given and the table has a value.",
    "The effective mass is that of the end effector in this configuration, not the estimate M/2 + "
    "load of the specification; contact of other links is not covered.",
    "Speeds are relative: a person who moves towards the robot takes a part of them.",
    "Budgets hold from rest, without refill, for one guard on all actuators, as its theorem says. "
    "Weight that is carried wrongly, loads that fall and people who push give energy of their own. "
    "The guard is software without a safety rating.",
)


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    name, direction = str(settings["robot"]), str(settings["direction"])
    model, payload = robots.load(name), float(settings["payload"])
    q, area = model.home, float(settings["area"]) or inf
    heaviest_axis = heaviest_direction(model.evaluate(q, np.zeros(model.nv)))
    axis = heaviest_axis if direction == "heaviest" else np.eye(3)["xyz".index(direction)]
    mass, unloaded_mass = (effective_mass(model, q, axis, load) for load in (payload, 0.0))
    checks, rows = list[Check](), list[list[str]]()
    for region, r in REGIONS.items():
        progress(len(rows) / len(REGIONS), region)
        cells = [r.force, 1e-3 * r.stiffness, r.mass, r.pressure]
        for is_clamped in (False, True):
            limit = contact_limit(region, mass, is_clamped=is_clamped, area=area)
            cells += [limit.speed, limit.energy, limit.settings.tank_initial]
        rows.append([region, *("-" if value == inf else f"{value:.3g}" for value in cells)])
        if r.transient_ratio:
            free_limit = contact_limit(region, unloaded_mass, is_clamped=False)
            title = f"{region}: force of an impact at {free_limit.speed:.3g} m/s"
            force = peak_force(model, q, axis, region, free_limit.speed)
            verdict = verdict_of(force <= 1.05 * free_limit.force)  # the arm turns away a little
            checks.append(Check(title, "N", free_limit.force, "bound", force, None, verdict))
    setup = f"{name} at home, {direction} direction, payload {payload:g} kg, contact area "
    setup += f"{'not considered' if area == inf else f'{area:g} cm²'}; effective mass {mass:.4g} kg"
    format_row = "{0}: free {5} m/s, {6} J; clamped {8} m/s, {9} J".format
    notes = [setup, *(format_row(*row) for row in rows)]
    if out is None:
        return Outcome(checks, [], notes)
    title, file = "Limits of contact with people", out / "contact-limits.html"
    header = ["region", "force, N", "stiffness, N/mm", "mass, kg", "pressure, N/cm²"]
    header += [f"{k}: {unit}" for k in ("free", "clamped") for unit in ("m/s", "J", "budget, J")]
    html_list = ["<ul>", *(f"<li>{escape(sentence)}</li>" for sentence in _NOT_COVERED), "</ul>"]
    parts = [f"<h1>{title}</h1><p>{escape(setup)}</p>", table(header, rows), "<h2>Not covered</h2>"]
    with writing(file):
        return Outcome(checks, [write_page(title, [*parts, *html_list], file)], notes)


STUDY = Study(
    id="contact-limits",
    source="ISO/TS 15066:2016, Annex A",
    title="Speeds and energies in contact with people, for a risk assessment; no certification",
    parameters={
        "robot": Parameter("panda", "robot, at its home configuration"),
        "direction": Parameter("heaviest", "in axes of the tool", ("heaviest", "x", "y", "z")),
        "payload": Parameter(0.0, "at the end effector, kg", least=0.0),
        "area": Parameter(0.0, "of the contact, cm²; 0 leaves pressure out", least=0.0),
    },
    compute=_compute,
)

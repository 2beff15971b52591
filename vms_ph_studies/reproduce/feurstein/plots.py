# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Plots of the quantities that the source shows: path, momenta, energies, efforts."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vms_ph_hopping import HoppingRun, Phase

from ...figures import Panel, draw
from .experiments import Trial

# Stances are shaded in runs of up to this, s; longer ones have too many.
_MAX_SHADED_TIME = 5.0

# Channels of a run, and their names in the legend of ports and stores. The joints are net of the
# damping; ground and damping take energy.
_PORT_ENERGIES = {
    "external": "wrench_base",
    "joint": "torque",
    "floor_dissipated": "ground",
    "radial_damping": "damping",
}


def draw_run(trial: Trial, run: HoppingRun, title: str, file: Path, zoom: float = 0.0) -> Path:
    """Draw a run as the source's figures 4.3 to 4.5 and 4.8 to 4.12.

    Args:
        trial: what ran.
        run: its run.
        title: over the panels.
        file: to write.
        zoom: only the last so many seconds; 0 for all.
    """
    view = _View(run, zoom)
    centre, foot = view.series("centre"), view.series("foot")
    spring = np.array([trial.spring_energy(leg) for leg in view.legs])
    path = {"centre of mass": (centre[:, 0], centre[:, 1]), "foot": (foot[:, 0], foot[:, 1])}
    energies = {
        "kinetic": view.series("kinetic"),
        "potential": view.series("potential"),
        "radial spring": spring,
        "total": view.series("energy") + spring,
    }
    polar = {
        "length r_cf (cm)": 1e2 * view.series("length"),
        "angle alpha (deg)": np.degrees(np.unwrap(view.series("angle"))),
    }
    momentum = {"about the centre of mass": 1e3 * view.series("angular_momentum")}
    panels = [
        Panel("(a) hopping pattern", "x (m)", "y (m)", path),
        view.panel("(b) angular momentum", "mN m s", momentum, 0.2),
        view.panel("(c) energies", "J", energies),
        view.panel("(d) radial and polar quantities", "cm, deg", polar, 2.0),
    ]
    return draw(panels, file, 2, title + view.note)


def draw_efforts(run: HoppingRun, title: str, file: Path, zoom: float) -> Path:
    """Draw momenta, velocities, forces and port energies, as in the source's figures 4.13 to 4.16.

    Args:
        run: to draw.
        title: over the panels.
        file: to write.
        zoom: only the last so many seconds.
    """
    view, system = _View(run, zoom), run.system
    phases = [Phase(int(phase)) for phase in run.phases[view.is_selected]]
    states = run.states[view.is_selected]
    motion = list(zip(phases, view.legs, states, strict=True))
    floor_forces = [system.floor_force(phase, leg, state) for phase, leg, state in motion]
    efforts = np.array([system.law.efforts(x, p is not Phase.FLIGHT).force for p, x, _ in motion])
    power, momentum = efforts * view.series("v"), view.series("momentum")
    leg_velocities = {
        "length (m/s)": view.series("length_rate"),
        "angle (rad/s)": view.series("angle_rate"),
    }
    ground = {name: [getattr(f, name) for f in floor_forces] for name in ("tangential", "normal")}
    powers = {"wrench_base": power[:, :3].sum(axis=1), "torque": power[:, 3:].sum(axis=1)}
    moments = {"wrench_base": efforts[:, 2], "torque": efforts[:, 3]}
    linear_momentum = {"horizontal": momentum[:, 0], "vertical": momentum[:, 1]}
    panels = [
        view.panel("(a) linear momentum", "N s", linear_momentum),
        view.panel("(b) radial and polar velocities", "m/s, rad/s", leg_velocities),
        view.panel("(c) floor forces", "on the foot (N)", ground),
        view.panel("(d) moment and torque", "N m", moments),
        view.panel("(e) power of the controller", "into the leg (W)", powers),
        view.panel("(f) energies in; ground and damping out", "J", _port_energies(run, view)),
    ]
    return draw(panels, file, 2, title + view.note)


def draw_energy_balance(run: HoppingRun, file: Path) -> Path:
    """Draw the cumulative energies as in the source's figure 4.14f."""
    view = _View(run, 0.0)
    net_inflow = {"net inflow": run.energy("external") + run.energy("joint")}
    energies = {**net_inflow, **_port_energies(run, view)}
    title = "Energies since the start: in at base and joints, out at ground and damping"
    return draw([view.panel(title, "J", energies)], file)


Quantities = Mapping[str, npt.ArrayLike]
"""Values over time by their names."""


class _View:
    """The last part of a run, for all panels of a figure."""

    def __init__(self, run: HoppingRun, zoom: float) -> None:
        self.is_selected = np.asarray(run.times >= (run.times[-1] - zoom if zoom else 0.0))
        self.times = run.times[self.is_selected]
        self.legs = [run.system.leg_state(state) for state in run.states[self.is_selected]]
        is_shaded = self.times[-1] - self.times[0] <= _MAX_SHADED_TIME
        in_stance = np.r_[False, run.phases[self.is_selected] != Phase.FLIGHT, False] & is_shaded
        begins, ends = np.flatnonzero(np.diff(in_stance)).reshape(-1, 2).T
        self._stances = list(zip(self.times[begins], self.times[ends - 1], strict=True))
        self.note = " (shaded: the foot is on the floor)" if is_shaded else ""

    def series(self, quantity: str) -> np.ndarray:
        """Return a quantity of the leg over time."""
        return np.array([getattr(leg, quantity) for leg in self.legs])

    def panel(self, title: str, unit: str, quantities: Quantities, span: float = 0.0) -> Panel:
        """Return a panel of quantities over time."""
        curves = {name: (self.times, np.asarray(values)) for name, values in quantities.items()}
        return Panel(title, "time (s)", unit, curves, self._stances, span=span)


def _port_energies(run: HoppingRun, view: _View) -> dict[str, np.ndarray]:
    energies = {label: run.energy(name)[view.is_selected] for name, label in _PORT_ENERGIES.items()}
    return {label: energy - energy[0] for label, energy in energies.items()}

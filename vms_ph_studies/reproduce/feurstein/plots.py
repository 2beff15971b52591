# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Plots in the form of the source: path, momenta, energies, radial and polar quantities."""

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vms_ph_hopping import HoppingRun, Phase

from .experiments import Trial

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#1f4e79", "#c0392b", "#1e8449", "#7d3c98")

# Stances are shaded in runs of up to this, s; longer ones have too many.
_SHADED = 5.0

# Channels of a run, and their names in a legend.
_PORT_ENERGIES = {
    "external": "external",
    "joint": "joint",
    "floor_dissipated": "to floor",
    "radial_damping": "to damper",
}


def draw_run(trial: Trial, run: HoppingRun, title: str, file: Path, zoom: float = 0.0) -> Path:
    """Draw a run in the four panels of the source's figures 4.3 to 4.5 and 4.8 to 4.12.

    Args:
        trial: what ran.
        run: its run.
        title: over the panels.
        file: to write.
        zoom: only the last so many seconds; 0 for all.
    """
    from matplotlib.figure import Figure

    displayed = _displayed(run, zoom)
    t = run.times[displayed]
    legs = [run.system.leg_state(y) for y in run.states[displayed]]
    figure = Figure(figsize=(11, 7.4), layout="constrained", dpi=110)
    (path, turning), (energy, radial) = figure.subplots(2, 2)
    centre = np.array([leg.centre for leg in legs])
    foot = np.array([leg.foot for leg in legs])
    path.axhline(0.0, color="black", lw=0.8)
    path.plot(centre[:, 0], centre[:, 1], color=COLOURS[0], label="centre of mass")
    path.plot(foot[:, 0], foot[:, 1], color=COLOURS[1], lw=0.7, label="foot")
    path.set(xlabel="x (m)", ylabel="y (m)")
    _at_least(path, 0.1, axis="x")
    turning.plot(t, [1e3 * leg.angular_momentum for leg in legs], color=COLOURS[0])
    turning.set(ylabel="about the centre of mass (mN m s)")
    _at_least(turning, 0.2)
    spring = np.array([trial.spring(leg) for leg in legs])
    for values, name, colour in (
        ([leg.kinetic for leg in legs], "kinetic", COLOURS[1]),
        ([leg.potential for leg in legs], "gravity", COLOURS[2]),
        (spring, "radial spring", COLOURS[3]),
        ([leg.energy + s for leg, s in zip(legs, spring, strict=True)], "total", COLOURS[0]),
    ):
        energy.plot(t, values, label=name, color=colour)
    energy.set(ylabel="energy (J)")
    _pair(
        radial,
        t,
        ("length r_cf (cm)", [1e2 * leg.length for leg in legs]),
        ("angle alpha (deg)", np.degrees(np.unwrap([leg.angle for leg in legs]))),
        least=2.0,
    )
    _named(path, "(a) hopping pattern", legend=True)
    _named(turning, "(b) angular momentum")
    _named(energy, "(c) energies", legend=True)
    _named(radial, "(d) radial and polar quantities")
    shaded = _in_time((turning, energy, radial), run, displayed)
    figure.suptitle(title + shaded)
    figure.savefig(file)
    return file


def draw_efforts(run: HoppingRun, title: str, file: Path, zoom: float) -> Path:
    """Draw momenta, velocities, forces and port energies, as in the source's figures 4.13 to 4.16.

    Args:
        run: to draw.
        title: over the panels.
        file: to write.
        zoom: only the last so many seconds.
    """
    from matplotlib.figure import Figure

    displayed = _displayed(run, zoom)
    t, system = run.times[displayed], run.system
    phases = [Phase(int(p)) for p in run.phases[displayed]]
    states = run.states[displayed]
    legs = [system.leg_state(y) for y in states]
    floor = [system.floor_force(p, leg, y) for p, leg, y in zip(phases, legs, states, strict=True)]
    efforts = np.array(
        [
            system.law.efforts(leg, p is not Phase.FLIGHT).force
            for p, leg in zip(phases, legs, strict=True)
        ]
    )
    figure = Figure(figsize=(11, 9.6), layout="constrained", dpi=110)
    panels = figure.subplots(3, 2)
    linear, rates, ground, joints, powers, energies = panels.ravel()
    momentum = np.array([leg.momentum for leg in legs])
    linear.plot(t, momentum[:, 0], color=COLOURS[0], label="horizontal")
    linear.plot(t, momentum[:, 1], color=COLOURS[1], label="vertical")
    linear.set(ylabel="N s")
    _pair(
        rates,
        t,
        ("length rate (m/s)", [leg.length_rate for leg in legs]),
        ("angle rate (rad/s)", [leg.angle_rate for leg in legs]),
    )
    ground.plot(t, [f.tangential for f in floor], color=COLOURS[0], label="tangential")
    ground.plot(t, [f.normal for f in floor], color=COLOURS[1], label="normal")
    ground.set(ylabel="on the foot (N)")
    joints.plot(t, efforts[:, 2], color=COLOURS[0], label="external")
    joints.plot(t, efforts[:, 3], color=COLOURS[1], label="joint")
    joints.set(ylabel="N m")
    v = np.array([leg.v for leg in legs])
    powers.plot(t, np.sum(efforts[:, :3] * v[:, :3], axis=1), color=COLOURS[0], label="external")
    powers.plot(t, np.sum(efforts[:, 3:] * v[:, 3:], axis=1), color=COLOURS[1], label="joint")
    powers.set(ylabel="into the leg (W)")
    for k, (name, label) in enumerate(_PORT_ENERGIES.items()):
        done = run.energy(name)[displayed]
        energies.plot(t, done - done[0], color=COLOURS[k], label=label)
    energies.set(ylabel="since the first instant shown (J)")
    for axes, name, legend in (
        (linear, "(a) linear momentum", True),
        (rates, "(b) radial and polar velocities", False),
        (ground, "(c) floor forces", True),
        (joints, "(d) moment and torque", True),
        (powers, "(e) power of the controller", True),
        (energies, "(f) port energies", True),
    ):
        _named(axes, name, legend)
    shaded = _in_time(tuple(panels.ravel()), run, displayed)
    figure.suptitle(title + shaded)
    figure.savefig(file)
    return file


def _displayed(run: HoppingRun, zoom: float) -> np.ndarray:
    return np.asarray(run.times >= (run.times[-1] - zoom if zoom else 0.0))


def _named(axes: "Axes", name: str, legend: bool = False) -> None:
    """Give a panel its title, and a legend above it."""
    axes.set_title(name, loc="left", fontsize="medium")
    axes.grid(alpha=0.3)
    if legend:
        handles, _ = axes.get_legend_handles_labels()
        axes.legend(
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            ncols=len(handles),
            frameon=False,
            fontsize="small",
            borderaxespad=0.1,
            columnspacing=1.0,
            handlelength=1.2,
        )


def _pair(
    axes: "Axes",
    t: np.ndarray,
    left: tuple[str, object],
    right: tuple[str, object],
    least: float = 0.0,
) -> None:
    """Draw two quantities of different units, each with its own axis in its colour."""
    other = axes.twinx()
    for side, (name, values), colour in ((axes, left, COLOURS[0]), (other, right, COLOURS[1])):
        side.plot(t, np.asarray(values), color=colour)
        side.set_ylabel(name, color=colour)
        side.tick_params(axis="y", colors=colour)
        _at_least(side, least)


def _at_least(axes: "Axes", span: float, axis: str = "y") -> None:
    """Widen an axis to a span at which rounding errors do not show."""
    low, high = axes.get_ylim() if axis == "y" else axes.get_xlim()
    if high - low < span:
        middle = 0.5 * (low + high)
        limits = middle - 0.5 * span, middle + 0.5 * span
        axes.set_ylim(limits) if axis == "y" else axes.set_xlim(limits)


def _in_time(panels: "tuple[Axes, ...]", run: HoppingRun, displayed: np.ndarray) -> str:
    """Label the time axes and shade the stances of a short run; return a note for the title."""
    t, standing = run.times[displayed], run.phases[displayed] != Phase.FLIGHT
    short = t[-1] - t[0] <= _SHADED
    for axes in panels:
        axes.set_xlabel("time (s)")
        axes.margins(x=0.01)
        if short:
            for stands, group in groupby(zip(t, standing, strict=True), key=lambda pair: pair[1]):
                if stands:
                    times = [time for time, _ in group]
                    axes.axvspan(times[0], times[-1], color="#000000", alpha=0.07, lw=0)
    return " (shaded: the foot is on the floor)" if short else ""

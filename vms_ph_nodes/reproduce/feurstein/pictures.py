"""The figures of the source: path, angular momentum, energies, radial and polar quantities."""

from pathlib import Path

import numpy as np

from vms_ph_dynamics.contact import HoppingRun, Phase

from .experiments import Trial

_COLOURS = ("#1f4e79", "#c0392b", "#1e8449", "#7d3c98")


def draw_run(trial: Trial, run: HoppingRun, file: Path, zoom: float = 0.0) -> Path:
    """Draw a run in the four panels of the source's figures 4.3 to 4.5 and 4.8 to 4.12.

    Args:
        trial: what ran.
        run: its run.
        file: to write.
        zoom: only the last so many seconds; 0 for all.
    """
    from matplotlib.figure import Figure

    shown = run.times >= (run.times[-1] - zoom if zoom else 0.0)
    t = run.times[shown]
    legs = [run.system.seen(y) for y in run.states[shown]]
    figure = Figure(figsize=(11, 7), layout="constrained", dpi=110)
    (path, turning), (energy, radial) = figure.subplots(2, 2)
    centre = np.array([leg.centre for leg in legs])
    foot = np.array([leg.foot for leg in legs])
    path.plot(centre[:, 0], centre[:, 1], color=_COLOURS[0], label="centre of mass")
    path.plot(foot[:, 0], foot[:, 1], color=_COLOURS[1], lw=0.7, label="foot")
    path.axhline(0.0, color="black", lw=0.8)
    path.set(xlabel="x (m)", ylabel="y (m)", title="hopping pattern")
    turning.plot(t, [1e3 * leg.angular_momentum for leg in legs], color=_COLOURS[0])
    turning.set(xlabel="time (s)", ylabel="angular momentum (mN m s)", title="about the centre")
    # In stance it swings a hundred times wider than in flight.
    flying = run.phases[shown] == Phase.FLIGHT
    widest = max(
        (abs(1e3 * leg.angular_momentum) for leg, f in zip(legs, flying, strict=True) if f),
        default=1.0,
    )
    turning.set_ylim(-4 * widest - 0.2, 4 * widest + 0.2)
    spring = np.array([trial.spring(leg) for leg in legs])
    for values, name, colour in (
        ([leg.kinetic for leg in legs], "kinetic", _COLOURS[1]),
        ([leg.potential for leg in legs], "gravity", _COLOURS[2]),
        (spring, "radial spring", _COLOURS[3]),
        ([leg.energy + s for leg, s in zip(legs, spring, strict=True)], "total", _COLOURS[0]),
    ):
        energy.plot(t, values, label=name, color=colour)
    energy.set(xlabel="time (s)", ylabel="J", title="energies")
    radial.plot(t, [1e2 * leg.length for leg in legs], color=_COLOURS[0], label="r_cf (cm)")
    radial.plot(t, np.degrees([leg.angle for leg in legs]), color=_COLOURS[1], label="alpha (deg)")
    radial.set(xlabel="time (s)", title="leg")
    for axes in (path, energy, radial):
        axes.legend(loc="upper right", fontsize="small")
    for axes in (path, turning, energy, radial):
        axes.grid(alpha=0.3)
    figure.savefig(file)
    return file


def draw_basin(
    stands: np.ndarray, drift: np.ndarray, half_widths: tuple[float, float], file: Path
) -> Path:
    """Draw which starts hop on, coloured by the momentum they end with.

    Args:
        stands: (leans, speeds) of bool.
        drift: (leans, speeds), N s.
        half_widths: of the leans, deg, and speeds, m/s.
        file: to write.
    """
    from matplotlib.figure import Figure

    lean, speed = half_widths
    figure = Figure(figsize=(6.5, 5), layout="constrained", dpi=110)
    axes = figure.subplots()
    shown = np.ma.masked_where(~stands, drift)
    rows, columns = stands.shape
    x = np.linspace(-speed, speed, columns)
    y = np.linspace(-lean, lean, rows)
    axes.set_facecolor("#dddddd")
    colours = axes.pcolormesh(x, y, shown, cmap="RdBu_r", vmin=-0.25, vmax=0.25, shading="nearest")
    figure.colorbar(colours, label="horizontal momentum at the end (N s); grey: fallen")
    axes.set(xlabel="horizontal speed at the start (m/s)", ylabel="lean at the start (deg)")
    figure.savefig(file)
    return file

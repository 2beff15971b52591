# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A page that replays recorded runs: a time line, a second run as a ghost, the audit's findings."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import viser
import viser.uplot

from vms_ph_dynamics import Array, VmsPhError
from vms_ph_dynamics.energy.legend import PURPLE, label_of, rgb
from vms_ph_io import robots
from vms_ph_io.audits import Audit

from .overview import conservation_badge, energy_balance_html
from .robot_scene import RobotScene
from .sankey import Flow, Sankey, Stream
from .strip_chart import PLOT_OPTIONS, plot_axes, plot_series, round_bounds
from .viewpoint import WorldView, set_theme, viewpoint

_GHOST_COLOUR = rgb(PURPLE)
_NO_CHOICE = "none"
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")
_MAX_INSTANTS = 400  # of a plot
_MIN_RANGE = 4e-3  # least height of a vertical axis, in its unit
_PICTURES_HZ = 5.0

_CURSOR = viser.uplot.Series(label="now", stroke="#888888", width=2, dash=(2, 4))

_MEAN_WINDOW = 0.2  # s, of which the powers of a flow are means

BALANCE = "energy balance"


@dataclass(frozen=True)
class Finding:
    """Something of a run to look at.

    Attributes:
        time: when it begins, s.
        text: sentence on the finding.
    """

    time: float
    text: str


class RecordedRun:
    """A run and its audit.

    Attributes:
        path: of the recording.
        audit: of the recording.
        description: URDF of the robot.
        findings: what the audit has found, in the order of time.
    """

    def __init__(self, path: Path, audit: Audit, description: str) -> None:
        self.path, self.audit, self.description = path, audit, description
        self.findings = _findings(audit)
        ledger, series = audit.ledger, audit.ledger.series
        self._times = ledger.time
        self._sources = {"torque": series["supplied_by_joint"].sum(axis=1)} | {
            audit.port_name(port): series["supplied_by_port"][:, k]
            for k, port in enumerate(ledger.ports)
        }
        self._sinks = {name: series[name] for name in ("potential", "kinetic")}
        self._sinks["dissipated"] = series["dissipated_by_joint"].sum(1) + series["drag"].sum(1)

    @property
    def duration(self) -> float:
        """Time from the first to the last instant, s."""
        return float(self._times[-1] - self._times[0])

    def configuration(self, time: float) -> Array:
        """Return the recorded configuration nearest to a time (s) since the first one, (nq,)."""
        return self.audit.q[np.argmin(np.abs(self._times - self._times[0] - time))]

    def flow(self, time: float) -> Flow:
        """Return the flow of energy in the time before a time (s) since the first instant.

        What the balance leaves is unaccounted for.
        """
        end = self._times[0] + max(time, _MEAN_WINDOW)
        interval = np.array([end - _MEAN_WINDOW, end])

        def stream(name: str, series: Array) -> Stream:
            start_energy, end_energy = np.interp(interval, self._times, series)
            return Stream(name, float(end_energy - start_energy) / _MEAN_WINDOW, float(end_energy))

        sources = [stream(name, energies) for name, energies in self._sources.items()]
        sinks = [stream(name, energies) for name, energies in self._sinks.items()]
        sources.append(stream("unaccounted", self.audit.ledger.series["unaccounted"]))
        return Flow(tuple(sources), tuple(sinks), _MEAN_WINDOW, "since 0 s")

    def curves(self, limit: int) -> tuple[Array, dict[str, tuple[str, Mapping[str, Array]]]]:
        """Return the times since the first instant, and groups of curves by name.

        A group has the label of its axis and the curves by name: the energy balance, in J since
        the first instant, and those of the audit's report.

        Args:
            limit: largest number of instants.
        """
        curves = self.audit.curves(limit)
        energy = curves.groups["energy"][1]
        balance = {
            "stored": energy["stored"],
            "supplied": np.sum([energy[name] for name in self._sources], axis=0),
            "dissipated": -energy["dissipated"],
            "unaccounted": curves.unaccounted,
        }
        groups = {f"{row}, as in the audit's report": group for row, group in curves.groups.items()}
        return curves.time - curves.time[0], {BALANCE: ("J", balance)} | groups


def _findings(audit: Audit) -> tuple[Finding, ...]:
    start_time = float(audit.ledger.time[0])
    findings = []
    for jump in audit.energy_jumps:
        location = next(iter(jump.energies), "")
        change = "appeared" if jump.energy > 0.0 else "disappeared"
        text = f"{abs(jump.energy):.3g} J {change}" + (f" at {location}" if location else "")
        findings.append(Finding(max(jump.begin - start_time, 0.0), text))
    for supply in audit.port_supplies:
        if supply.violates:
            name = label_of(audit.port_name(supply.name))
            text = f"{name} has supplied {supply.largest_supply:.3g} J beyond what it had taken"
            findings.append(Finding(max(supply.time - start_time, 0.0), text))
    ledger = audit.ledger
    text = f"largest unaccounted energy, {ledger.largest_unaccounted:.3g} J"
    findings.append(Finding(max(float(ledger.largest_time) - start_time, 0.0), text))
    return tuple(sorted(findings, key=lambda finding: finding.time))


LoadRun = Callable[[Path], RecordedRun]
"""Reads and audits a recording."""


class Replay:
    """Shows runs on a page; :meth:`step` is called periodically."""

    def __init__(
        self,
        server: viser.ViserServer,
        runs: Iterable[Path],
        load: LoadRun,
        compare: bool = False,
        speed: str = "1",
    ) -> None:
        """Build the page, with the first of the runs.

        Args:
            server: of the page.
            runs: recordings to choose from.
            load: reads and audits one of them.
            compare: show the second of the runs as a ghost.
            speed: speed of the replay, one of SPEEDS, in times of real time.
        """
        self._server, self._load = server, load
        self._paths = _paths_by_name(runs)
        self._loaded_runs: dict[Path, RecordedRun] = {}
        self._run: RecordedRun | None = None
        self._ghost_run: RecordedRun | None = None
        self._scene: RobotScene | None = None
        self._ghost_scene: RobotScene | None = None
        self._sankey = Sankey()
        self._time, self._drawn_time, self._picture_time = 0.0, -1.0, 0.0
        self._lock = threading.RLock()
        self._view = WorldView(server)
        self._build_page()
        self._speed_choice.value = speed
        self._open_run(next(iter(self._paths), ""))
        if compare:
            self._ghost_choice.value = tuple(self._paths)[1]

    @property
    def time(self) -> float:
        """The time that is shown, s since the begin of the run."""
        return self._time

    def step(self, seconds: float) -> None:
        """Show the run ``seconds`` later than before, if it is played; otherwise what is chosen."""
        with self._lock:
            run = self._run
            if run is None:
                return
            if self._play_checkbox.value:
                self._time += seconds * float(self._speed_choice.value)
                if self._time > run.duration:
                    self._time = 0.0 if self._loop_checkbox.value else run.duration
                    self._play_checkbox.value = bool(self._loop_checkbox.value)
                self._slider.value = round(self._time, 2)
            if self._time == self._drawn_time:
                return
            self._drawn_time = self._time
            with self._server.atomic():
                self._place_robots()
            now = time.monotonic()
            if now - self._picture_time >= 1.0 / _PICTURES_HZ or not self._play_checkbox.value:
                self._picture_time = now
                self._mark_time()
                self._picture = self._sankey.draw(run.flow(self._time), f"at {self._time:.2f} s")
                self._top_html.content = f'<div class="vms-top">{self._badge}{self._picture}</div>'

    def _build_page(self) -> None:
        gui = self._server.gui
        names = tuple(self._paths)
        self._badge = self._picture = ""
        self._top_html = gui.add_html('<div class="vms-top"></div>')
        self._head_html = gui.add_html("")
        self._run_choice = gui.add_dropdown("run", names or (_NO_CHOICE,))
        self._ghost_choice = gui.add_dropdown("compare with", (_NO_CHOICE, *names))
        self._play_checkbox = gui.add_checkbox("play", initial_value=False)
        self._slider = gui.add_slider("time (s)", min=0.0, max=1.0, step=0.01, initial_value=0.0)
        self._finding_choice = gui.add_dropdown("jump to", (_NO_CHOICE,))
        self._plot_folder = gui.add_folder("Energies over the run")
        with self._plot_folder:
            self._plot_choice = gui.add_dropdown("plot", (BALANCE,))
        with gui.add_folder("Speed, loop, dark", expand_by_default=False):
            self._speed_choice = gui.add_dropdown("speed", SPEEDS, initial_value="1")
            self._loop_checkbox = gui.add_checkbox("loop", initial_value=True)
            self._dark = gui.add_checkbox("dark", initial_value=False)
        self._curve_plots: list[Any] = []

        @self._dark.on_update
        def _(_: Any) -> None:
            set_theme(self._server, self._dark.value)
            with self._lock:
                for plot in self._curve_plots:
                    plot.axes = plot_axes("time (s)", plot.axes[1]["label"], self._dark.value)

        self._run_choice.on_update(lambda _: self._open_run(self._run_choice.value))
        self._ghost_choice.on_update(lambda _: self._compare(self._ghost_choice.value))
        self._finding_choice.on_update(lambda _: self._jump_to(self._finding_choice.value))

        @self._slider.on_update
        def _(event: Any) -> None:
            if event.client is not None:  # moved by a user, not by the page
                self._time = float(self._slider.value)

        @self._plot_choice.on_update
        def _(_: Any) -> None:
            with self._lock:
                if self._run is not None:
                    self._plot()
                    self._mark_time()

    def _jump_to(self, finding: str) -> None:
        """Go to a finding, by its entry of the list."""
        if finding != _NO_CHOICE:
            self._play_checkbox.value = False
            self._set_time(float(finding.partition(" s: ")[0]))

    def _set_time(self, time: float) -> None:
        self._time = time
        self._slider.value = round(time, 2)

    def _load_run(self, name: str) -> RecordedRun | None:
        """Return a run, or None after a message about why there is none."""
        if (path := self._paths.get(name)) is None:
            self._show_text("<b>no run is chosen</b>")
            return None
        if path not in self._loaded_runs:
            self._show_text(f"reading and auditing <b>{escape(name)}</b> …")
            try:
                self._loaded_runs[path] = self._load(path)
            except VmsPhError as error:
                self._show_text(f"<b>{escape(name)}</b> cannot be shown: {escape(str(error))}")
                return None
        return self._loaded_runs[path]

    def _open_run(self, name: str) -> None:
        with self._lock:
            if (run := self._load_run(name)) is None:
                return
            previous_run, self._run, self._drawn_time = self._run, run, -1.0
            model, robot = run.audit.model, (run.description, run.audit.model.base)
            last_robot = previous_run and (previous_run.description, previous_run.audit.model.base)
            if self._scene is None or last_robot != robot:
                if self._scene is not None:
                    self._scene.remove()
                self._scene = RobotScene(self._server, model, run.description)
                q = run.configuration(0.0)
                self._view.show(viewpoint(model, self._scene.box(q)), self._scene.root_position(q))
            self._slider.max = max(run.duration, 0.01)
            self._set_time(0.0)
            findings = (f"{finding.time:.2f} s: {finding.text}" for finding in run.findings)
            self._finding_choice.options = (*dict.fromkeys([_NO_CHOICE, *findings]),)
            self._server.gui.set_panel_label(f"vms_ph: {robots.known_as(model.name)}, recorded")
            self._plot_choice.options = (*run.curves(2)[1],)
            self._describe_runs()
            self._plot()

    def _compare(self, name: str) -> None:
        with self._lock:
            if self._ghost_scene is not None:
                self._ghost_scene.remove()
                self._ghost_scene = None
            if self._run is None:
                return  # the page says why there is none
            self._ghost_run = None if name == _NO_CHOICE else self._load_run(name)
            if self._ghost_run is not None:
                self._ghost_scene = RobotScene(
                    self._server, self._ghost_run.audit.model, self._ghost_run.description,
                    "/world/ghost", _GHOST_COLOUR,
                )  # fmt: skip
            self._drawn_time = -1.0
            if name == _NO_CHOICE or self._ghost_run is not None:
                self._describe_runs()
                self._plot()

    def _place_robots(self) -> None:
        run, scene = self._run, self._scene
        q = run.configuration(self._time)
        scene.configure(q)
        if self._ghost_scene is not None and self._ghost_run is not None:
            self._ghost_scene.configure(self._ghost_run.configuration(self._time))
        self._view.follow(scene.root_position(q))

    def _show_text(self, html: str, badge: str = "") -> None:
        self._badge = badge
        self._top_html.content = f'<div class="vms-top">{badge}{self._picture}</div>'
        self._head_html.content = f'<div class="vms-text">{html}</div>'

    def _describe_runs(self) -> None:
        """Say how the energy balance of the run ends."""
        lines, badge, tint = [], "", f"rgb{_GHOST_COLOUR}"
        names = {path: name for name, path in self._paths.items()}
        for run, run_name, colour in ((self._run, "run", ""), (self._ghost_run, "ghost", tint)):
            if run is None:
                continue
            ledger = run.audit.ledger
            exchanged = ledger.exchanged
            badge = badge or conservation_badge(ledger.unaccounted, exchanged)
            balance_html = energy_balance_html(
                ledger.stored, ledger.supplied, ledger.dissipated, ledger.unaccounted, exchanged
            )
            lines.append(
                f'<b style="color:{colour}">{run_name}</b> '
                f"{escape(names[run.path])}, over all {run.duration:.1f} s: {balance_html}"
            )
        self._show_text("<br>".join(lines), badge)

    def _plot(self) -> None:
        """Draw the energies of the run, and of the ghost beside them."""
        for plot in self._curve_plots:
            plot.remove()
        self._curve_plots.clear()
        t, curves, label = self._chosen_curves(self._run)
        ghost_series: dict[str, Any] = {}
        if self._ghost_run is not None:
            ghost_time, ghost_curves, _ = self._chosen_curves(self._ghost_run)
            ghost_series = {name: np.interp(t, ghost_time, y) for name, y in ghost_curves.items()}
        # What is unaccounted for is small beside the rest.
        residual_names = [name for name in curves if name == "unaccounted"]
        with self._plot_folder:
            for names in ([name for name in curves if name not in residual_names], residual_names):
                ghosts = {name: ghost_series[name] for name in names if name in ghost_series}
                if names:
                    run_curves = {name: curves[name] for name in names}
                    self._curve_plots.append(self._add_plot(t, run_curves, ghosts, label))

    def _chosen_curves(self, run: RecordedRun) -> tuple[Any, dict[str, Any], str]:
        """Return times, curves and the label of their axis, of what is chosen to be plotted."""
        t, groups = run.curves(_MAX_INSTANTS)
        label, curves = groups[self._plot_choice.value]
        return t, dict(curves), label

    def _mark_time(self) -> None:
        """Draw where on the curves the time is that is shown."""
        for plot in self._curve_plots:
            t, first_curve, *other_columns = plot.data
            # An upright line: from below the axis to above it and back.
            bottom, top = _axis_bounds((first_curve, *other_columns[:-1]))
            cursor = np.full(len(t), 2.0 * bottom - top)
            cursor[np.argmin(np.abs(t - self._time))] = 2.0 * top - bottom
            plot.data = (t, first_curve, *other_columns[:-1], cursor)

    def _add_plot(self, t: Any, curves: dict[str, Any], ghosts: dict[str, Any], label: str) -> Any:
        columns = [*map(np.ascontiguousarray, (*curves.values(), *ghosts.values()))]
        return self._server.gui.add_uplot(
            (t, *columns, np.zeros(len(t))),
            (*plot_series(curves, ghosts), _CURSOR),
            # A fixed range: the page otherwise rescales the time axis of a plot that is made anew.
            scales={
                "x": viser.uplot.Scale(time=False, range=(0.0, max(float(t[-1]), 0.01))),
                "y": viser.uplot.Scale(range=_axis_bounds(columns)),
            },
            axes=plot_axes("time (s)", label, self._dark.value),
            **PLOT_OPTIONS,
        )


def _axis_bounds(columns: Sequence[Any]) -> tuple[float, float]:
    """Return the bounds of the vertical axis of curves."""
    low, high = (float(f([f(column) for column in columns])) for f in (np.min, np.max))
    return round_bounds(low, high, _MIN_RANGE)


def _paths_by_name(paths: Iterable[Path]) -> dict[str, Path]:
    """Return paths by the last two parts of each, or by the whole of it where those are taken."""
    paths_by_name: dict[str, Path] = {}
    for path in paths:
        name = f"{path.parent.name}/{path.name}" if path.parent.name else path.name
        paths_by_name[str(path.resolve()) if name in paths_by_name else name] = path
    return paths_by_name

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy audit of a recording."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite, nan
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from vms_ph_dynamics import Array, VMSModel, VmsPhError
from vms_ph_dynamics.energy.joint_friction import JointFriction
from vms_ph_dynamics.energy.ledger import (
    DISSIPATED,
    Ledger,
    LedgerWriter,
    PortSupply,
    UnaccountedInterval,
    port_supplies,
    unaccounted_intervals,
)
from vms_ph_dynamics.energy.legend import label_of
from vms_ph_dynamics.errors import WithHints, check_arguments

from .. import robots
from ..progress import Progress, no_progress
from ..recordings import read_recording
from ..recordings.base_states import moving_root
from ..recordings.conditioning import Conditioning
from ..recordings.motion import MotionOptions, RecordedMotion
from ..recordings.recording import Recording, RecordingError
from ..robots.robot_settings import RobotSettings
from ..settings.remedies import remedies
from .plots import Curves, draw, text_and_plot

MAX_INSTANTS = 20_000
"""Largest number of instants of the series of an audit."""


@dataclass(frozen=True)
class Audit(WithHints):
    """The audit of a recording.

    Attributes:
        recording: the recording.
        model: the robot.
        friction: where the friction of the ledger is from: "URDF", "none" or a file.
        ledger: the energy balance.
        conditioning: what was found about the signals.
        energy_jumps: when and where energy appeared or disappeared.
        port_supplies: the most that each port and the residual of each joint supplied.
        q: configurations at the instants of the ledger's series.
        identified: what an identification found, for the document.
        findings: what an identification tells of the model; see also ``answers``.
        options: names and values of the command line that asked for it; empty in Python.
    """

    recording: Recording
    model: VMSModel
    friction: str
    ledger: Ledger
    conditioning: Conditioning
    energy_jumps: list[UnaccountedInterval]
    port_supplies: list[PortSupply]
    q: Array
    identified: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Mapping[str, Any], ...] = ()
    options: tuple[tuple[str, str], ...] = ()

    HINTS: ClassVar[Mapping[str, str]] = remedies("Audit")

    def __repr__(self) -> str:
        """Return at most ten lines: the motion, the largest entries of the balance, what is left.

        `lines` of this package gives all of them.
        """
        ledger = self.ledger
        entries = [entry for entry in balance(self) if entry.name != "unaccounted"]
        largest_entries = sorted(entries[1:], key=lambda entry: -abs(entry.energy))[:6]
        rows = [entries[0], *(entry for entry in entries[1:] if entry in largest_entries)]
        note = [f"  and {len(entries) - len(rows)} smaller"] if len(entries) > len(rows) else []
        return "\n".join(
            [
                f"Audit of {ledger.duration:.3f} s of '{self.model.name}' in "
                f"{self.recording.path.name}, energies in J",
                *(f"  {entry.name:<24}{entry.energy:+.6g}" for entry in rows),
                *note,
                f"  {'unaccounted':<24}{ledger.unaccounted:+.3g}, 95 % within "
                f"{ledger.band[-1]:.2g} by noise and sampling",
            ]
        )

    def curves(self, limit: int) -> Curves:
        """Return energies and powers over time at no more than ``limit`` instants."""
        ledger, ports = self.ledger, [*map(self.port_name, self.ledger.ports)]
        count = len(ledger.time)
        indices = np.linspace(0, count - 1, min(count, limit)).astype(int)
        time = ledger.time[indices]
        series = {name: values[indices] for name, values in ledger.series.items()}
        series["stored"] = series["kinetic"] + series["potential"]
        energy = {n: series[n] - series[n][0] for n in ("kinetic", "potential", "stored")}
        energy["torque"] = series["supplied_by_joint"].sum(1)
        energy |= zip(ports, series["supplied_by_port"].T, strict=True)
        energy["dissipated"] = -(series["dissipated_by_joint"].sum(1) + series["drag"][:, 0])
        supplied = np.hstack([series["supplied_by_joint"], series["supplied_by_port"]])
        power = zip((*ledger.joints, *ports), _mean_powers(time, supplied).T, strict=True)
        friction_power = _mean_powers(time, series["dissipated_by_joint"])
        friction = zip(ledger.joints, friction_power.T, strict=True)
        residual = zip(ledger.momenta, series["residual_by_joint"].T, strict=True)
        return Curves(
            time,
            {
                "energy": ("energy since the start (J)", energy),
                "power": ("power into the robot (W)", dict(power)),
                "friction": (f"friction power (W),\n{self.friction}", dict(friction)),
                "residual": ("energy of the residual (J)", dict(residual)),
            },
            series["unaccounted"],
            ledger.band[indices],
        )

    def plot(self, file: str | Path | None = None) -> Any:
        """Return a figure of matplotlib: energies, powers, friction, and what is unaccounted.

        Args:
            file: path of a PNG, PDF or SVG file to write it to; None for none.
        """
        title = (
            f"{self.recording.path.name}: gross {self.ledger.gross:.4g} J, "
            f"unaccounted {self.ledger.unaccounted:+.3g} J"
        )
        figure = draw(self.curves(3000), title, self.energy_jumps)
        if file is not None:
            figure.savefig(file)
        return figure

    def _repr_html_(self) -> str:
        """Return energy balance and plots, for notebooks."""
        return text_and_plot(repr(self), self.plot())

    def port_name(self, port: str) -> str:
        """Return the name of a port of the ledger as topics and forms have it."""
        if port == "base":
            return "wrench_base"
        return "wrench_end_effector" if port == self.model.end_effector else port

    @property
    def port_energies(self) -> dict[str, float]:
        """Energies by port, J; those that the recording itself contains are exact."""
        ledger, names = self.ledger, ("torque", *map(self.port_name, self.ledger.ports))
        values = [ledger.supplied_by_joint.sum(), *ledger.supplied_by_port]
        exact = {n: e for n, e in ledger.recorded.items() if n in names or (e and n != DISSIPATED)}
        return {**dict(zip(names, map(float, values), strict=True)), **exact}

    @property
    def other_energies(self) -> dict[str, float]:
        """Recorded energies (J) of ports whose forces are not recorded, such as a contact."""
        other_names = {"torque", "payload", DISSIPATED, *map(self.port_name, self.ledger.ports)}
        energies = self.ledger.recorded or self.recording.last_energies
        return {name: e for name, e in energies.items() if abs(e) > 0.0 and name not in other_names}


def _mean_powers(time: Array, energy: Array) -> Array:
    """Return mean powers between the instants, the first one twice."""
    if len(time) < 2 or not energy.shape[1]:
        return np.zeros_like(energy)
    rate = np.diff(energy, axis=0) / np.maximum(np.diff(time), 1e-12)[:, None]
    return np.vstack([rate[:1], rate])


def audit_motion(
    motion: RecordedMotion,
    friction: JointFriction | None = None,
    friction_name: str = "",
    progress: Progress = no_progress,
) -> Audit:
    """Return the audit of a recorded motion.

    Args:
        motion: the motion.
        friction: of the joints; None: of the URDF, or none if the recording is that of a simulation
            without friction. Where it is given, port energies of a simulation are not used.
        friction_name: where the friction is from, for the report.
        progress: called with the share that is done.
    """
    model, conditioning = motion.model, motion.conditioning
    friction_source = friction_name or "URDF"
    has_payload = isfinite(motion.recording.last_energies.get("payload", nan))
    if has_payload:
        note = "the simulation had a payload: not its port energies are used, but the samples"
        conditioning = replace(conditioning, notes=(*conditioning.notes, note))
    is_exact = friction is None and not has_payload
    if friction is None:
        friction, friction_source = _default_friction(motion)
    stride = max(1, -(-len(motion) // MAX_INSTANTS))
    writer = LedgerWriter(model, motion.ports, friction, conditioning.noise, stride)
    configurations, sample_count = [], 0
    for block in motion.blocks():
        writer.add(block.samples, block.continues, block.exact_energies if is_exact else None)
        configurations.append(block.samples.q[writer.rows_in_series])
        sample_count += len(block.samples)
        progress(min(1.0, sample_count / max(len(motion), 1)), "auditing")
    ledger = writer.ledger()
    series = unaccounted_intervals(ledger), port_supplies(ledger), np.concatenate(configurations)
    return Audit(motion.recording, model, friction_source, ledger, conditioning, *series)


@check_arguments({"robot": "model urdf description"})
def audit(
    recording: str | Path | Recording,
    robot: str | Path | VMSModel = "",
    options: MotionOptions | None = None,
    *,
    columns: str | Path | None = None,
    friction: JointFriction | None = None,
) -> Audit:
    """Return where the energy of a recorded motion came from and went, by joint and port.

    Args:
        recording: path of a bag of ROS 2 or ROS 1, of a CSV, NPZ or MAT file, or a recording.
        robot: name of a bundled robot, path of a description, or a model; empty: that of the bag.
        options: how its signals are interpreted.
        columns: a column map (YAML) of a file of columns.
        friction: of the joints, such as ``JointFriction.none(model)``; None: as for
            :func:`audit_motion`.

    Raises:
        RecordingError: there is no recording, or signals that an audit needs are missing.
        VmsPhError: no robot is given and the recording has no description.

    Examples:
        >>> import tempfile
        >>> from vms_ph_io import simulate
        >>> folder = tempfile.mkdtemp() + "/run"
        >>> path = simulate("panda", lambda q, v, dt: -2.0 * v, 0.5).save(folder)
        >>> round(audit(folder).ledger.stored, 3)
        -17.222
    """
    if not isinstance(recording, Recording | str | Path):
        raise RecordingError(
            "a recording is the path of a bag or of a CSV, NPZ or MAT file; a Trajectory has its "
            f"own audit, run.audit; given: {type(recording).__name__}"
        )
    if not isinstance(friction, JointFriction | None):
        text = "friction is that of the URDF where it is None, or JointFriction.none(model), "
        text += f"JointFriction(viscous, coulomb) of vms_ph_io.audits; given: {friction!r}"
        raise VmsPhError(text)
    if not isinstance(recording, Recording):
        recording = read_recording(recording, columns=columns)
    if not isinstance(robot, VMSModel):
        robot, _ = recorded_robot(recording, RobotSettings(str(robot)))
    motion = RecordedMotion(recording, robot, options)
    return audit_motion(motion, friction, "" if friction is None else "given")


def recorded_robot(
    recording: Recording, settings: RobotSettings, warn: Callable[[str], None] = warnings.warn
) -> tuple[VMSModel, str]:
    """Return the model of the robot that is chosen, or of that in the recording, and its URDF.

    The end effector of that in the recording is the frame of its ``wrench_end_effector``.

    Raises:
        VmsPhError: no robot is chosen and the recording has no description.
    """
    description = settings.description(warn) if settings.robot else recording.description
    if not description:
        text = "the recording contains no robot description; give the robot: a name or a file "
        text += "(--robot on the command line)"
        raise VmsPhError(text)
    if "${" in description and not settings.robot:
        text = "the robot description in the recording is xacro that was not expanded; give the "
        raise VmsPhError(text + "robot: a name or a file (--robot on the command line)")
    robot_name = settings.robot
    settings = settings.with_changes({"robot": robot_name or robots.vehicle_of(description)})
    model = settings.model(description)
    tool_frames = (s.frame for s in recording.wrenches if s.name.endswith("wrench_end_effector"))
    frame = next(tool_frames, "").rpartition("/")[2]
    is_chosen = robot_name or settings.end_effector or frame == model.end_effector
    if not is_chosen and model.tree.has_frame(frame):
        settings = settings.with_changes({"end_effector": frame})
        model = settings.model(description)
    if not settings.base and not settings.is_bundled and model.base == "fixed":
        moving_link = moving_root(recording, model)
        if moving_link:
            warn(f"'{moving_link}' moves in the recording: the base is taken as floating (--base)")
            return settings.with_changes({"base": "floating"}).model(description), description
    return model, description


def _default_friction(motion: RecordedMotion) -> tuple[JointFriction | None, str]:
    if motion.recording.last_energies.get(DISSIPATED, nan) < 1e-9:  # rounding
        return None, "none (as in the recorded simulation)"
    friction = JointFriction.from_model(motion.model)
    is_frictionless = not friction.viscous.any() and not friction.coulomb.any()
    return (None, "none (the description has none)") if is_frictionless else (friction, "URDF")


class BalanceEntry(NamedTuple):
    """One entry: name, energy (J, positive into the robot), and whether it is the sum."""

    name: str
    energy: float
    is_sum: bool = False


def balance(audit: Audit) -> list[BalanceEntry]:
    """Return the stored energy and its parts."""
    ledger = audit.ledger
    entries = [BalanceEntry("stored", ledger.stored, True)]
    entries += [
        BalanceEntry(label_of(name), energy)
        for name, energy in (ledger.recorded or audit.port_energies).items()
        if name != DISSIPATED and (energy or name == "torque")
    ]
    entries.append(BalanceEntry(label_of("dissipated"), 0.0 - ledger.dissipated))
    entries.append(BalanceEntry("unaccounted", ledger.unaccounted))
    if ledger.gaps and ledger.unobserved:
        entries.append(BalanceEntry(label_of("gaps"), ledger.unobserved, True))
    return entries

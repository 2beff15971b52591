# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated closed loop as arrays over time, with its energy balance, a plot and a bag."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from subprocess import call
from tempfile import mkdtemp
from typing import Any, ClassVar

import numpy as np

from vms_ph_controllers.guard.certificate import Certificate
from vms_ph_dynamics import Array, PositionTask, VMSModel, VmsPhError
from vms_ph_dynamics.arrays import frozen
from vms_ph_dynamics.energy.audit import EnergyAudit, EnergySample, PortEnergies
from vms_ph_dynamics.energy.task_exchange import Exchange, energy_parts
from vms_ph_dynamics.errors import WithHints
from vms_ph_dynamics.evaluation import in_space, pose_in_space
from vms_ph_dynamics.forms import port_names
from vms_ph_dynamics.integrators import EnergyBalance
from vms_ph_dynamics.robot.kinematic_tree import LinkTree
from vms_ph_dynamics.simulation import Sample

from ..audits.plots import draw_panels, text_and_plot
from ..bag import BagError, BagWriter, MessageTypes
from ..energy_fields import port_energy_fields, power_fields
from ..settings.remedies import remedies

# Beyond a limit by more than this is noted, in the unit of the limit: stops give way a little.
_LIMIT_TOLERANCE = 1e-3

Energies = tuple[float, float, Mapping[str, float]]
"""Kinetic and potential energy, J, and the power at each port, W, of a sample."""


class SimulationStopped(VmsPhError):
    """The motion cannot be integrated any further.

    Attributes:
        trajectory: up to there.
    """

    def __init__(self, message: str, trajectory: "Trajectory") -> None:
        super().__init__(message)
        self.trajectory = trajectory


@dataclass(frozen=True, eq=False)
class Trajectory(WithHints):
    """A run of a closed loop, recorded at N+1 instants; all arrays are read-only.

    Attributes:
        model: the robot.
        t: (N+1,) s.
        q: (N+1,nq) configurations.
        v: (N+1,nv) velocities.
        torque: (N+1,n) joint torques, N m or N; at a jump, the mean of both sides. With a driver,
            those of law and driver together, as such arms measure them.
        wrench_base: (N+1,b) wrench on the base in its own axes, linear first, N and N m.
        wrenches: at the end effector (``wrench_end_effector``) and the tools, by port, (N+1,6)
            each, in the axes of the frame.
        kinetic_energy, potential_energy: (N+1,) J; they, powers and port energies in a current of
            water are those seen from the water, ``q`` and ``v`` over ground.
        power: into the robot by port, (N+1,) each, W; NaN at ports of an engine, such as contact,
            of which the energy alone is known.
        port_energy: supplied since the start by port, (N+1,) each, as the integrator counts, J.
        dissipated: (N+1,) energy lost since the start in friction, drag and stops, J.
        certificate: of the guard, or None without one.
        description: URDF of the robot, or empty.
        limited: number of samples in which the law was not OK, by its status and reason; they are
            at ``t[control["status"] > 0]``.
        control: energies (J) and powers (W) that the law reports, by the names of
            :class:`.ControlEnergy`, and ``status`` and ``smallest_singular_value`` of its
            :class:`.Command`, (N+1,) each; empty without a law.
        missed_payload: why a payload was not taken; empty if it was, or there is none.

    Examples:
        >>> from vms_ph_io import simulate
        >>> run = simulate("panda", None, 0.1)
        >>> run.q.shape, run.audit.stored.shape
        ((101, 7), (100,))
    """

    model: VMSModel
    t: Array
    q: Array
    v: Array
    torque: Array
    wrench_base: Array
    wrenches: Mapping[str, Array]
    kinetic_energy: Array
    potential_energy: Array
    power: Mapping[str, Array]
    port_energy: Mapping[str, Array]
    dissipated: Array
    certificate: Certificate | None = None
    description: str = ""
    limited: Mapping[str, int] = field(default_factory=dict)
    control: Mapping[str, Array] = field(default_factory=dict)
    missed_payload: str = ""

    HINTS: ClassVar[Mapping[str, str]] = remedies("Trajectory")

    @classmethod
    def from_samples(
        cls,
        model: VMSModel,
        samples: list[Sample],
        energies: list[Energies],
        certificate: Certificate | None = None,
        description: str = "",
    ) -> "Trajectory":
        """Return the trajectory of samples, with kinetic and potential energy (J) and powers (W).

        Energies and powers are those in the frame of the integration, that of the water in a
        current.
        """
        ports = tuple(samples[0].port_energy)
        end_effector, *tools = port_names(model)[2:]
        wrench_rows = [{end_effector: s.wrench_end_effector, **s.wrench_tools} for s in samples]
        powers = [{**dict.fromkeys(ports, np.nan), **power} for _, _, power in energies]

        def by_port(rows: list[Any], ports: Iterable[str]) -> dict[str, Array]:
            return {port: frozen(np.array([row[port] for row in rows])) for port in ports}

        def column(name: str) -> Array:
            return frozen(np.array([getattr(sample, name) for sample in samples]))

        motion = column("time"), column("q"), column("v"), column("torque"), column("wrench_base")
        wrenches = by_port(wrench_rows, (end_effector, *tools))
        kinetic, potential = (frozen(np.array([energy[k] for energy in energies])) for k in (0, 1))
        supplied_energy = by_port([sample.port_energy for sample in samples], ports)
        balance = kinetic, potential, by_port(powers, ports), supplied_energy, column("dissipated")
        return cls(model, *motion, wrenches, *balance, certificate, description)

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy, (N+1,), J."""
        return self.kinetic_energy + self.potential_energy

    @property
    def audit(self) -> EnergyBalance:
        """The energy balance between the recorded instants; it prints as text."""
        return EnergyBalance(
            frozen(np.diff(self.energy)),
            {port: frozen(np.diff(energy)) for port, energy in self.port_energy.items()},
            frozen(np.diff(self.dissipated)),
            np.zeros(len(self.t) - 1, dtype=np.int64),
            self.notes,
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the law was limited, and what went beyond the limits of the description."""
        limits, count = self.model.joints, sum(self.limited.values())
        first_time = self.t[np.argmax(self.control["status"] > 0)] if count else 0.0
        status = f"first at {first_time:.4g} s: {next(iter(self.limited), '')}"
        notes = [f"in {count} samples the law was not OK, {status}"] if count else []
        notes += [self.missed_payload] if self.missed_payload else []
        positions = np.array([self.model.joint_positions(q) for q in self.q])
        rates = self.v[:, self.model.b :]
        for kind, units, values, low, high in (
            ("torque", ("N m", "N"), self.torque, -limits.effort, limits.effort),
            ("speed", ("rad/s", "m/s"), rates, -limits.velocity, limits.velocity),
            ("position", ("rad", "m"), positions, limits.lower, limits.upper),
        ):
            limit_excess = np.maximum(values - high, low - values)
            if (limit_excess > _LIMIT_TOLERANCE).any():
                k, joint = np.unravel_index(np.argmax(limit_excess), limit_excess.shape)
                name, value = self.model.joint_names[joint], values[k, joint]
                count = (limit_excess > _LIMIT_TOLERANCE).any(1).sum()
                limit = np.clip(value, low[joint], high[joint])
                text = f"in {count} samples a {kind} was beyond its limit: {name} had {value:.4g}, "
                text += f"its limit is {limit:.4g} {units[int(limits.prismatic[joint])]}"
                notes.append(text)
        return tuple(notes)

    def placement(self, frame: str | None = None) -> Array:
        """Return the poses of a frame in the inertial frame, (N+1,4,4), m.

        Args:
            frame: name of a link, a joint or another frame; the end effector when None.

        Raises:
            ModelError: there is no such frame.
        """
        frame = self.model.end_effector if frame is None else frame
        return frozen(np.array([self.model.placement(frame, q) for q in self.q]))

    def __len__(self) -> int:
        """Return the number of recorded instants."""
        return len(self.t)

    def __repr__(self) -> str:
        """Return robot, duration and the state of the energy balance."""
        balance = "closed" if self.audit.is_closed else "open"
        text = f"Trajectory({self.model.name}, {self.t[-1]:g} s, energy balance {balance})"
        return "\n".join([text, *self.notes])

    def _repr_html_(self) -> str:
        """Return energy balance and plots, for notebooks."""
        return text_and_plot(f"{self!r}\n{self.audit}", self.plot())

    def samples(self) -> list[Sample]:
        """Return the recorded instants one by one."""
        end_effector, *tools = self.wrenches
        samples, dissipated_energy = [], self.dissipated.tolist()
        for k, time in enumerate(self.t.tolist()):
            motion = time, self.q[k], self.v[k], self.torque[k], self.wrench_base[k]
            energies = {port: float(energy[k]) for port, energy in self.port_energy.items()}
            tool_wrenches = {port: self.wrenches[port][k] for port in tools}
            wrench = self.wrenches[end_effector][k]
            samples.append(Sample(*motion, wrench, energies, dissipated_energy[k], tool_wrenches))
        return samples

    def plot(self, file: str | Path | None = None) -> Any:
        """Return a figure of matplotlib: motion, torques, powers and the energy balance.

        Args:
            file: path of a PNG, PDF or SVG file to write it to; None for none.
        """
        model, audit = self.model, self.audit
        changes = np.array([model.difference(self.q[0], q) for q in self.q])
        base_coordinates = {0: "", 3: "x y yaw", 6: "x y z rx ry rz"}[model.b].split()
        count = (len(base_coordinates) + 1) // 2  # coordinates of the position
        changes[:, :count] = self.q[:, :count] - self.q[0, :count]
        base = {f"base {axis}": changes[:, k] for k, axis in enumerate(base_coordinates)}
        joints = {name: changes[:, model.b + k] for k, name in enumerate(model.joint_names)}
        torques = {name: self.torque[:, k] for k, name in enumerate(model.joint_names)}
        power = {port: values for port, values in self.power.items() if np.nan_to_num(values).any()}
        port_energies = {port: values for port, values in self.port_energy.items() if values.any()}
        stored_energy = {"stored": self.energy - self.energy[0]}
        balance = {**stored_energy, **port_energies, "dissipated": -self.dissipated}
        panels = (
            ("change of position (m, rad)", self.t, {**base, **joints}),
            ("joint torques (N m, N)", self.t, torques),
            ("power into the robot (W)", self.t, power),
            ("energy since the start (J)", self.t, balance),
        )
        peak = float(np.abs(np.cumsum(audit.residual)).max(initial=0.0))
        figure = draw_panels(panels, f"{model.name}: largest unaccounted energy {peak:.1e} J")
        if file is not None:
            figure.savefig(file)
        return figure

    def save(self, folder: str | Path) -> Path:
        """Write a bag that ``vms-ph audit``, ``plot`` and ``bag view`` read; return its path.

        Args:
            folder: of the bag, which must not exist.

        Raises:
            BagError: it exists, or cannot be created, or has the name of a file of numbers.
        """
        if Path(folder).suffix in (".npz", ".csv", ".mat", ".pkl", ".h5"):
            raise BagError(
                f"a run is saved as a bag, which is a folder; give '{Path(folder).stem}' in place "
                f"of '{folder}'. np.savez(file, t=run.t, q=run.q, v=run.v) writes arrays"
            )
        types, base_topics = MessageTypes.of_project(), ("/vms_ph/wrench_base", "/odom")
        messages = _Messages(self.model, types.store).stream(self.samples(), self.description)
        with BagWriter(folder, ros_distro="") as bag:
            for topic, kind in _TOPIC_TYPES.items():
                if self.model.b or topic not in base_topics:
                    bag.add_topic(topic, types.definition(kind))
            for t, topic, message in messages:
                bag.write(topic, bytes(types.store.serialize_cdr(message, _TOPIC_TYPES[topic])), t)
        return Path(folder)

    def animate(self) -> None:
        """Show the motion on a web page until Ctrl-C, as ``vms-ph bag view`` does of a saved run.

        It needs the extra ``page``. The bag stays in a temporary folder.
        """
        words = "bag", "view", self.save(Path(mkdtemp(prefix="vms_ph_")) / "run")
        with suppress(KeyboardInterrupt):
            call([sys.executable, "-c", "import vms_ph_nodes.cli as c; c.main()", *words])


# Stamps begin at one second: a stamp of zero means that there is none.
_START = 1_000_000_000

_TOPIC_TYPES = {
    "/joint_states": "sensor_msgs/msg/JointState",
    "/vms_ph/wrench_end_effector": "geometry_msgs/msg/WrenchStamped",
    "/vms_ph/wrench_base": "geometry_msgs/msg/WrenchStamped",
    "/vms_ph/port_energy": "vms_ph/msg/PortEnergy",
    "/vms_ph/energy": "vms_ph/msg/Energy",
    "/vms_ph/power": "vms_ph/msg/Power",
    "/odom": "nav_msgs/msg/Odometry",
    "/robot_description": "std_msgs/msg/String",
}

_ARRAYS = ("tool_power", "tool_energy")  # fields that are numpy arrays in messages of rosbags


class _Messages:
    """The messages of a simulation."""

    def __init__(self, model: VMSModel, store: Any) -> None:
        self._model, self._store = model, store
        self._audit, self._task = EnergyAudit(), PositionTask(self._model)
        self._root = LinkTree(self._model.tree).root
        self._inertial_frame = "odom" if self._model.b else self._root

    def stream(self, samples: Iterable[Sample], description: str) -> Iterator[tuple[int, str, Any]]:
        """Yield time (ns), topic and message of all samples in order."""
        if description:
            yield _START, "/robot_description", self._message("std_msgs/msg/String", (description,))
        for sample in samples:
            time_ns = _START + round(sample.time * 1e9)
            for topic, content in self._contents(time_ns, sample).items():
                yield time_ns, topic, self._message(_TOPIC_TYPES[topic], content)

    def _message(self, kind: str, content: Any) -> Any:
        """Return the message of a type with the fields of a tuple, in their order, or by name."""
        if not isinstance(content, (tuple, dict)):
            return content
        fields = self._store.fielddefs[kind][1]
        if isinstance(content, dict):
            content = {name: np.array(x) if name in _ARRAYS else x for name, x in content.items()}
            content = tuple(content[name] for name, _ in fields)
        pairs = zip(fields, content, strict=True)
        return self._store.types[kind](*(self._message(name, x) for (_, (_, name)), x in pairs))

    def _contents(self, time_ns: int, sample: Sample) -> dict[str, Any]:
        model, stamp = self._model, divmod(time_ns, 10**9)
        header, inertial_header = (stamp, ""), (stamp, self._inertial_frame)
        d = model.evaluate(sample.q, sample.v)
        energies = energy_parts(d, self._task)
        port_energies = PortEnergies(sample.port_energy, sample.dissipated)
        power = {**dict.fromkeys(sample.port_energy, nan), **sample.ports.supplied(d)}
        energy_sample = EnergySample(time_ns, energies["total"], power, nan, port_energies)
        self._audit.add(energy_sample)
        wrench_at_tool = (stamp, model.end_effector), _force_moment(sample.wrench_end_effector)
        balance = power_fields(energy_sample, self._audit, Exchange())
        positions, rates = model.joint_positions(sample.q), sample.v[model.b :]
        contents = {
            "/joint_states": (header, list(model.joint_names), positions, rates, sample.torque),
            "/vms_ph/wrench_end_effector": wrench_at_tool,
            "/vms_ph/port_energy": {"header": header, **port_energy_fields(port_energies)},
            "/vms_ph/energy": {"header": inertial_header, **energies},
            "/vms_ph/power": {"header": inertial_header, **balance},
        }
        if model.b:
            wrench = np.concatenate(in_space(model.b, sample.wrench_base))
            contents["/vms_ph/wrench_base"] = (stamp, self._root), _force_moment(wrench)
            contents["/odom"] = self._odometry(inertial_header, sample)
        return contents

    def _odometry(self, header: Any, sample: Sample) -> tuple[Any, ...]:
        position, quaternion = pose_in_space(self._model.b, sample.q)
        linear, angular = in_space(self._model.b, sample.v[: self._model.b])
        pose, twist = (tuple(position), tuple(quaternion)), (tuple(linear), tuple(angular))
        return header, self._root, (pose, np.zeros(36)), (twist, np.zeros(36))


def _force_moment(wrench: Array) -> tuple[Any, ...]:
    return tuple(wrench[:3]), tuple(wrench[3:])

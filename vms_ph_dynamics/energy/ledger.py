# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The energy ledger of a recording: what each port supplied, and what no port accounts for.

Blocks of samples are added one after the other, so that a recording of any length needs the memory
of one block and of the series that are kept for plots.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..arrays import Array, ArrayRecord
from ..errors import StateError
from ..evaluation_batch import EvaluationBatch
from ..model import VMSModel
from ..robot.joints import BASE_COMPONENTS
from .energy_path import generalised_forces, momentum_rate
from .joint_friction import JointFriction
from .samples import MotionSamples, SampleNoise, displacements

RESETS = "resets"
"""Key of the number of resets among the recorded port energies."""

DISSIPATED = "dissipated"
"""Key of the energy dissipated by friction."""


@dataclass
class RecordedEnergies:
    """Compares the total energy with recorded port energies, since the first of them.

    After a reset of the simulation the balance goes on from the next sample.

    Attributes:
        energies: port energies at the end, since the start, by name, and :data:`DISSIPATED`; J.
        stored: change of the total energy over the same time, J.
    """

    energies: dict[str, float] = field(default_factory=dict)
    stored: float = 0.0
    _start: tuple[float, dict[str, float], float] | None = None  # energy, ports, resets
    _energies_at_reset: tuple[float, dict[str, float]] = (0.0, {})
    _residual: float = 0.0

    def unaccounted(self, series: Mapping[str, Array], stored: Array) -> Array:
        """Return the unaccounted energy at each sample, (N,), J; the last one where none is known.

        Args:
            series: port energies, dissipated energy and number of resets, each (N,); NaN where
                the recording has none.
            stored: (N,) total energy of the robot, J.
        """
        names = [name for name in series if name != RESETS]
        is_recorded = np.isfinite(np.array([series[name] for name in names])).all(0)
        unaccounted = np.empty(len(stored))
        for k in range(len(stored)):
            if is_recorded[k]:
                energies = {name: float(series[name][k]) for name in names}
                self._residual = self._update(energies, float(series[RESETS][k]), float(stored[k]))
            unaccounted[k] = self._residual
        return unaccounted

    def _update(self, energies: dict[str, float], resets: float, total_energy: float) -> float:
        if self._start is None or self._start[2] != resets:
            self._energies_at_reset = (self.stored, dict(self.energies))
            self._start = (total_energy, energies, resets)
        start_energy, start_energies, _ = self._start
        stored_before, before = self._energies_at_reset
        self.stored = stored_before + total_energy - start_energy
        self.energies = {p: before.get(p, 0.0) + energies[p] - start_energies[p] for p in energies}
        dissipated = self.energies[DISSIPATED]
        return self.stored - (sum(self.energies.values()) - dissipated) + dissipated


WINDOW = 0.1
"""Length of the windows, s."""


class ResidualWindows:
    """Averages residual efforts over windows: noise of single samples cancels within one.

    Args:
        nv: number of momentum balances.
    """

    def __init__(self, nv: int) -> None:
        self._impulse, self._square_sums = np.zeros(nv), np.zeros(nv)
        self._end_time, self._start, self._window_count = 0.0, 0.0, 0

    def add(self, impulses: Array, dt: Array) -> None:
        """Add residual impulses (N, nv) over intervals (N,), s."""
        if not len(dt):
            return
        elapsed_times = self._end_time + np.cumsum(dt)
        window_numbers = np.floor(np.concatenate([[self._end_time], elapsed_times]) / WINDOW + 1e-6)
        window_ends = np.flatnonzero(np.diff(window_numbers))
        total_impulse = self._impulse + np.cumsum(impulses, axis=0)
        borders = np.concatenate([[self._start], elapsed_times[window_ends]])
        border_impulses = np.vstack([np.zeros_like(self._impulse), total_impulse[window_ends]])
        mean_efforts = np.diff(border_impulses, axis=0) / np.diff(borders)[:, None]
        self._square_sums = self._square_sums + (mean_efforts**2).sum(axis=0)
        self._window_count += len(window_ends)
        self._impulse = total_impulse[-1] - border_impulses[-1]
        self._end_time, self._start = float(elapsed_times[-1]), float(borders[-1])

    @property
    def root_mean_square(self) -> Array:
        """Of the residual efforts, (nv,), N m or N."""
        return np.asarray(np.sqrt(self._square_sums / max(self._window_count, 1)))


BASE = "base"
"""Key of the base wrench among the wrenches of samples, and of the base in balances."""


@dataclass(frozen=True, repr=False)
class Ledger(ArrayRecord):
    """The energy balance of a recording, J; positive energies flow into the robot.

    ``stored = supplied - dissipated + unaccounted``, without the gaps.

    Attributes:
        joints: names of the joints.
        momenta: names of the balanced momenta: the base where it moves, then the joints.
        ports: names of the ports besides the joints.
        time: (K,) instants of the series, s.
        series: cumulative energies at these instants, each (K,) or (K, number of names); the
            names are those of the attributes below, ``kinetic`` and ``potential`` are not
            cumulative.
        gross: sum over the joints of the integral of ``|tau qdot|``.
        gross_by_joint, supplied_by_joint, returned_by_joint, dissipated_by_joint: (n,); what a
            joint returns is part of what it supplies, with the opposite sign.
        residual_by_joint: (balanced,) energy that the residual of each momentum balance brings;
            their sum is the unaccounted energy of the samples, up to the discretisation.
        residual_effort: (balanced,) root mean square of the residual effort over windows, N m or N.
        supplied_by_port: (ports,).
        stored: change of the total energy, without the gaps.
        unobserved: change of the total energy in the gaps.
        unaccounted: unaccounted energy at the end.
        band: (K,) half the width of the 95 % interval of the unaccounted energy, from the noise of
            the samples and the error of the quadrature, not from errors of the model.
        largest_unaccounted: largest size of the unaccounted energy, at ``largest_time``, s.
        from_samples: unaccounted energy at the end if the port energies that the recording
            contains are left aside; equal to ``unaccounted`` where it contains none.
        sampling_bound: bound of the error of the quadrature at the end.
        recorded: port energies that the recording contains, at the end, by name; empty without.
        samples: number of samples.
        duration: s, without the gaps.
        gaps: number of gaps.
        drag: energy dissipated by a fluid.
    """

    joints: tuple[str, ...]
    momenta: tuple[str, ...]
    ports: tuple[str, ...]
    time: Array
    series: Mapping[str, Array]
    gross_by_joint: Array
    supplied_by_joint: Array
    returned_by_joint: Array
    dissipated_by_joint: Array
    residual_by_joint: Array
    residual_effort: Array
    supplied_by_port: Array
    stored: float
    unobserved: float
    unaccounted: float
    band: Array
    largest_unaccounted: float
    largest_time: float
    from_samples: float
    sampling_bound: float
    recorded: Mapping[str, float]
    samples: int
    duration: float
    gaps: int
    drag: float = 0.0

    @property
    def gross(self) -> float:
        """Sum over the joints of the integral of ``|tau qdot|``, J."""
        return float(self.gross_by_joint.sum())

    @property
    def exchanged(self) -> float:
        """What unaccounted energy is compared with, J: gross, or more where ports supply more."""
        port_energies = [*self.supplied_by_port, *self.recorded.values()]
        return max(self.gross, abs(self.stored), float(np.abs(port_energies).sum()))

    @property
    def supplied(self) -> float:
        """Energy supplied by all ports, J."""
        if self.recorded:
            return sum(value for name, value in self.recorded.items() if name != DISSIPATED)
        return float(self.supplied_by_joint.sum() + self.supplied_by_port.sum())

    @property
    def dissipated(self) -> float:
        """Energy dissipated by friction and drag, J."""
        if self.recorded:
            return self.recorded[DISSIPATED]
        return float(self.dissipated_by_joint.sum()) + self.drag


Z95 = 1.96
"""Half the width of a 95 % interval, in standard deviations."""

_QUANTILE = 2.0  # standard deviations of errors at random


@dataclass
class LedgerWriter:
    """Makes a :class:`Ledger` from blocks of samples.

    Args:
        model: the robot.
        ports: wrench ports of the samples: :data:`BASE`, or names of frames.
        friction: of the joints, whose work is the dissipated energy; None for none.
        noise: noise of the samples.
        stride: every so many samples an instant of the series is kept.

    Raises:
        StateError: a port is no frame of the robot.
    """

    model: VMSModel
    ports: tuple[str, ...] = ()
    friction: JointFriction | None = None
    noise: SampleNoise | None = None
    stride: int = 1
    _sums: dict[str, Array] = field(default_factory=dict)
    _series: list[dict[str, Array]] = field(default_factory=list)
    _sample_count: int = 0
    _gap_count: int = 0
    _duration: float = 0.0
    _unobserved: float = 0.0
    _last_energies: tuple[float, float] | None = None  # energy, unaccounted
    _largest_unaccounted: tuple[float, float] = (0.0, 0.0)
    _first_variance: float = 0.0
    _record: RecordedEnergies = field(default_factory=RecordedEnergies)

    def __post_init__(self) -> None:
        self._residual_windows = ResidualWindows(self.model.nv)
        self.rows_in_series = np.empty(0, dtype=int)
        """Places of the samples of the last block whose instants are kept in the series."""
        tree = self.model.tree
        for name in self.ports:
            if name != BASE and not tree.has_frame(name):
                raise StateError(f"'{name}' is not a frame of '{self.model.name}'")

    def add(
        self, samples: MotionSamples, continues: bool, records: Mapping[str, Array] | None = None
    ) -> None:
        """Add a block.

        Args:
            samples: at least one sample.
            continues: whether the first sample is the last one of the block before.
            records: port energies in the recording at these samples, see
                :meth:`.RecordedEnergies.unaccounted`; None if the recording has none.
        """
        b, t = self.model.b, samples.t
        states = self.model.evaluate_batch(
            samples.q, samples.v, terms=("kinetic_energy", "potential_energy", "momentum", "C", "g")
        )
        energy = states.kinetic_energy + states.potential_energy
        dt = np.diff(t)[:, None]
        rates = samples.v[:, b:]
        joint_power = samples.torque * rates
        joint_work = _trapezoid(joint_power, dt)
        if samples.zero_order_hold:
            joint_work = samples.torque[:-1] * displacements(self.model, samples.q)[:, b:]
        friction = np.zeros_like(rates) if self.friction is None else self.friction.force(rates)
        friction_power = -friction * rates
        port_power, forces = self._port_forces(samples)
        friction_work, port_work = _trapezoid(friction_power, dt), _trapezoid(port_power, dt)
        drag_power, drag_force = self._drag_power_and_force(samples)
        drag_work = _trapezoid(drag_power[:, None], dt)
        forces = forces + drag_force
        forces[:, b:] += friction
        impulse = _trapezoid(momentum_rate(states) + forces, dt)
        impulse[:, b:] += (
            samples.torque[:-1] * dt if samples.zero_order_hold else _trapezoid(samples.torque, dt)
        )
        residual_impulse = np.diff(states.momentum, axis=0) - impulse
        residuals = residual_impulse * (0.5 * (samples.v[1:] + samples.v[:-1]))
        if b:
            residuals = np.hstack([residuals[:, :b].sum(1, keepdims=True), residuals[:, b:]])
        net_work = joint_work.sum(1) + port_work.sum(1) - friction_work.sum(1) - drag_work.sum(1)
        total_power = port_power.sum(1) - friction_power.sum(1) - drag_power
        if not samples.zero_order_hold:
            total_power = total_power + joint_power.sum(1)

        def integral(f: Callable[[Array], Array]) -> Array:
            return f(joint_work) if samples.zero_order_hold else _trapezoid(f(joint_power), dt)

        increments = {
            "supplied_by_joint": joint_work,
            "gross_by_joint": integral(np.abs),
            "returned_by_joint": integral(lambda supplied_energy: np.minimum(supplied_energy, 0.0)),
            "dissipated_by_joint": friction_work,
            "supplied_by_port": port_work,
            "drag": drag_work,
            "residual_by_joint": residuals,
            "variance": self._supply_variance(samples, dt)[:, None],
            "sampling": _doubling_errors(total_power, dt),
        }
        if self._last_energies is None:
            self._sums = {name: np.zeros((1, delta.shape[1])) for name, delta in increments.items()}
            start_totals = (float(energy[0]), 0.0)
        elif continues:
            start_totals = self._last_energies
        else:
            self._gap_count += 1
            self._unobserved += float(energy[0]) - self._last_energies[0]
            start_totals = (float(energy[0]), self._last_energies[1])
        sums = {name: np.vstack([self._sums[name], self._sums[name] + np.cumsum(delta, axis=0)])
                 for name, delta in increments.items()}  # fmt: skip
        supplied_energy = np.concatenate([[0.0], np.cumsum(net_work)])
        from_samples = start_totals[1] + (energy - start_totals[0]) - supplied_energy
        unaccounted = from_samples if records is None else self._record.unaccounted(records, energy)
        peak_index = int(np.argmax(np.abs(unaccounted)))
        if abs(unaccounted[peak_index]) > self._largest_unaccounted[0]:
            self._largest_unaccounted = (float(abs(unaccounted[peak_index])), float(t[peak_index]))
        state_variance = self._state_variance(states)
        if not self._sample_count:
            self._first_variance = float(state_variance[0])
        first_index = self._sample_count - continues
        indices = np.flatnonzero((first_index + np.arange(len(t))) % self.stride == 0)
        indices = np.union1d(indices[indices >= continues], [len(t) - 1])
        self.rows_in_series = indices
        kinetic, potential = states.kinetic_energy, states.potential_energy
        series = {"time": t, "kinetic": kinetic, "potential": potential, "unaccounted": unaccounted}
        series |= {"from_samples": from_samples, "state_variance": state_variance, **sums}
        self._series.append({name: values[indices] for name, values in series.items()})
        self._sums = {name: rows[-1:] for name, rows in sums.items()}
        self._last_energies = (float(energy[-1]), float(from_samples[-1]))
        self._duration += float(t[-1] - t[0])
        self._sample_count += len(t) - continues
        self._residual_windows.add(residual_impulse, dt[:, 0])

    def ledger(self) -> Ledger:
        """Return the ledger of all blocks.

        Raises:
            StateError: no block was added.
        """
        if not self._series or self._last_energies is None:
            raise StateError("the recording contains no sample of the robot's motion")
        series = {name: np.concatenate([block[name] for block in self._series])
                  for name in self._series[0]}  # fmt: skip
        time = series.pop("time")
        variance, errors = series.pop("variance")[:, 0], series.pop("sampling")
        state_variance = series.pop("state_variance")
        # Errors of smooth signals add up; those of jumps between samples do so at random.
        bounds = np.maximum.accumulate(np.abs(errors[:, 0])) + _QUANTILE * np.sqrt(errors[:, 1])
        band = Z95 * np.sqrt(variance + state_variance + self._first_variance) + bounds
        effort = self._residual_windows.root_mean_square
        b = self.model.b
        if b:
            effort = np.concatenate([[float(np.linalg.norm(effort[:b]))], effort[b:]])
        record = self._record
        sums = {name: rows[0] for name, rows in self._sums.items()}
        energy = series["kinetic"] + series["potential"]
        energy_change = float(energy[-1] - energy[0]) - self._unobserved
        joint_series = ("gross", "supplied", "returned", "dissipated", "residual")
        return Ledger(
            **{f"{name}_by_joint": sums[f"{name}_by_joint"] for name in joint_series},
            supplied_by_port=sums["supplied_by_port"],
            residual_effort=effort,
            joints=self.model.joint_names,
            momenta=((BASE,) if b else ()) + self.model.joint_names,
            ports=self.ports,
            time=time,
            series=series,
            stored=record.stored if record.energies else energy_change,
            unobserved=self._unobserved,
            unaccounted=float(series["unaccounted"][-1]),
            band=band,
            largest_unaccounted=self._largest_unaccounted[0],
            largest_time=self._largest_unaccounted[1],
            from_samples=self._last_energies[1],
            sampling_bound=float(bounds[-1]),
            recorded=record.energies,
            samples=self._sample_count,
            duration=self._duration,
            gaps=self._gap_count,
            drag=float(sums["drag"][0]),
        )

    def _port_forces(self, samples: MotionSamples) -> tuple[Array, Array]:
        """Return powers at the wrench ports (N, ports), and their generalised forces (N, nv)."""
        powers = np.zeros((len(samples), len(self.ports)))
        forces = np.zeros((len(samples), self.model.nv))
        b = self.model.b
        for k, name in enumerate(self.ports):
            wrench = samples.wrenches[name]
            if name == BASE:
                base_wrench = wrench[:, BASE_COMPONENTS[b]]
                forces[:, :b] += base_wrench
                powers[:, k] = (base_wrench * samples.v[:, :b]).sum(1)
            elif wrench.any():
                frame = self.model.frame_id(name)
                frame_force = generalised_forces(self.model, samples.q, wrench, frame)
                forces += frame_force
                powers[:, k] = (frame_force * samples.v).sum(1)
        return powers, forces

    def _drag_power_and_force(self, samples: MotionSamples) -> tuple[Array, Array]:
        fluid = self.model.fluid
        force = np.zeros((len(samples), self.model.nv))
        if fluid is not None:
            for k in range(len(samples)):
                force[k] = fluid.drag(self.model.evaluate(samples.q[k], samples.v[k]))
        return -(force * samples.v).sum(1), force

    def _supply_variance(self, samples: MotionSamples, dt: Array) -> Array:
        """Return the variance of the supplied energy that the noise of an interval adds, J^2."""
        if self.noise is None:
            return np.zeros(len(dt))
        b = self.model.b
        power_variance = (samples.v[:, b:] * self.noise.effort) ** 2
        power_variance = power_variance + (samples.torque * self.noise.velocity[b:]) ** 2
        return np.asarray(_trapezoid(power_variance.sum(1, keepdims=True), dt)[:, 0] * dt[:, 0])

    def _state_variance(self, states: EvaluationBatch) -> Array:
        """Return the variance of the total energy of each sample by its noise, (N,), J^2."""
        noise = self.noise
        if noise is None:
            return np.zeros(len(states))
        kinetic_variance = (states.momentum * noise.velocity) ** 2
        return np.asarray((kinetic_variance + (states.g * noise.position) ** 2).sum(1))


def _trapezoid(rate: Array, dt: Array) -> Array:
    return np.asarray(0.5 * dt * (rate[1:] + rate[:-1]))


def _doubling_errors(power: Array, dt: Array) -> Array:
    """Return what twice the step changes in the integral of a power, and its square, (N-1,2).

    Each pair of intervals is compared with the trapezium over both; an odd last interval is left.
    """
    errors, change, dt = np.zeros(len(dt)), np.diff(power), dt[:, 0]
    errors[1::2] = 0.5 * (dt[:-1] * change[1:] - dt[1:] * change[:-1])[::2]
    return np.column_stack([errors, errors**2])


_MIN_INTERVAL = 0.1  # s, at least
_MAX_INTERVALS = 2000  # of a recording, at most
_MIN_DEVIATION = 4.0  # robust standard deviations of the unaccounted power
_MAD_TO_DEVIATION = 1.4826  # standard deviation of a normal variable per median absolute deviation
_MIN_SHARE = 1e-3  # of the gross energy


@dataclass(frozen=True)
class UnaccountedInterval:
    """Energy that appeared (positive) or disappeared over some time, unaccounted for.

    Attributes:
        begin, end: s.
        energy: J.
        energies: energy by momentum balance, largest first, J: where it happened.
    """

    begin: float
    end: float
    energy: float
    energies: dict[str, float]


@dataclass(frozen=True)
class PortSupply:
    """What a port, or what is unexplained at a joint, supplied at most.

    A passive neighbour can never have supplied more than it took before:
    ``largest_supply`` is a violation of its passivity where it is positive beyond the noise.

    Attributes:
        name: name of the port or joint.
        largest_supply: largest supplied energy since the start, J; at least zero.
        time: when, s.
        rise: largest energy supplied over any time, J, from ``rise_begin`` to ``rise_end``, s.
        violates: whether ``largest_supply`` is beyond the noise.
    """

    name: str
    largest_supply: float
    time: float
    rise: float
    rise_begin: float
    rise_end: float
    violates: bool


def unaccounted_intervals(ledger: Ledger, count: int = 20) -> list[UnaccountedInterval]:
    """Return when and where energy appeared or disappeared, the largest first."""
    time, unaccounted = ledger.time, ledger.series["unaccounted"]
    duration = float(time[-1] - time[0])
    if len(time) < 4 or duration <= 0.0:
        return []
    step = max(_MIN_INTERVAL, duration / _MAX_INTERVALS)
    edges = np.arange(0.0, duration + step, step) + time[0]
    edges[-1] = time[-1]
    edges = np.unique(np.clip(edges, time[0], time[-1]))
    energy = np.diff(np.interp(edges, time, unaccounted))
    power = energy / np.diff(edges)
    median = float(np.median(power))
    deviation = _MAD_TO_DEVIATION * float(np.median(np.abs(power - median)))
    is_outlier = np.abs(power - median) > max(_MIN_DEVIATION * deviation, 1e-12)
    sign = np.where(is_outlier, np.sign(power - median), 0.0)
    residual_energy = np.array(
        [np.interp(edges, time, column) for column in ledger.series["residual_by_joint"].T]
    )
    band = np.interp(edges, time, ledger.band)
    intervals = []
    for first, end in _runs(sign):
        jump = float(energy[first:end].sum())
        if abs(jump) < max(_MIN_SHARE * ledger.gross, 2.0 * float(band[end] - band[first])):
            continue
        energies = residual_energy[:, end] - residual_energy[:, first]
        causes = {ledger.momenta[k]: float(energies[k]) for k in np.argsort(-np.abs(energies))[:3]}
        intervals.append(UnaccountedInterval(float(edges[first]), float(edges[end]), jump, causes))
    return sorted(intervals, key=lambda interval: -abs(interval.energy))[:count]


def port_supplies(ledger: Ledger) -> list[PortSupply]:
    """Return what each wrench port, and what is unexplained at each joint, supplied at most."""
    threshold = max(float(ledger.band[-1]), _MIN_SHARE * ledger.gross)
    time, supplies = ledger.time, []
    for names, key in ((ledger.ports, "supplied_by_port"), (ledger.momenta, "residual_by_joint")):
        for name, energy in zip(names, ledger.series[key].T, strict=True):
            peak_index = int(np.argmax(energy))
            end = int(np.argmax(energy - np.minimum.accumulate(energy)))
            begin, supplied = int(np.argmin(energy[: end + 1])), max(float(energy[peak_index]), 0.0)
            rise = float(energy[end] - energy[begin])
            peak_and_rise = float(time[peak_index]), rise, float(time[begin]), float(time[end])
            supplies.append(PortSupply(name, supplied, *peak_and_rise, supplied > threshold))
    return supplies


def _runs(sign: Array) -> list[tuple[int, int]]:
    """Return (first, end) of the runs of equal signs that are not zero."""
    borders = [0, *(np.flatnonzero(np.diff(sign)) + 1).tolist(), len(sign)]
    return [(a, b) for a, b in pairwise(borders) if b > a and sign[a] != 0.0]

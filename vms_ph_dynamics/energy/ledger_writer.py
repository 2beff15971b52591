# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Makes the ledger of a recorded motion.

Blocks of samples are added one after the other, so that a recording of any length needs the memory
of one block and of the series that are kept for plots.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..arrays import Array
from ..errors import StateError
from ..model import VMSModel
from .energy_path import EnergyPath, Momenta
from .joint_friction import JointFriction
from .ledger import BASE, Ledger
from .recorded_energies import RecordedEnergies
from .residual_windows import ResidualWindows
from .sample_noise import SampleNoise
from .samples import MotionSamples

Z95 = 1.96
"""Half the width of a 95 % interval, in standard deviations."""

_AT_RANDOM = 2.0  # standard deviations of errors at random


@dataclass
class LedgerWriter:
    """Makes a :class:`Ledger` from blocks of samples.

    Args:
        model: the robot.
        ports: wrench ports of the samples: :data:`BASE`, or names of frames.
        friction: of the joints, whose work is the dissipated energy; None for none.
        noise: of the samples.
        stride: every so many samples an instant of the series is kept.
    """

    model: VMSModel
    ports: tuple[str, ...] = ()
    friction: JointFriction | None = None
    noise: SampleNoise | None = None
    stride: int = 1
    _sums: dict[str, Array] = field(default_factory=dict)
    _kept: list[dict[str, Array]] = field(default_factory=list)
    _count: int = 0
    _gaps: int = 0
    _duration: float = 0.0
    _unobserved: float = 0.0
    _last: tuple[float, float, float] | None = None  # time, energy, unaccounted
    _largest: tuple[float, float] = (0.0, 0.0)
    _first_variance: float = 0.0
    _recorded: RecordedEnergies = field(default_factory=RecordedEnergies)

    def __post_init__(self) -> None:
        self._path = EnergyPath(self.model)
        self._windows = ResidualWindows(self.model.nv)
        self.kept_of_last_block = np.empty(0, dtype=int)
        """Places of the samples of the last block whose instants are kept in the series."""
        known = self.model.tree
        for name in self.ports:
            if name != BASE and not known.has_frame(name):
                raise StateError(f"'{name}' is not a frame of '{self.model.name}'")

    def add(
        self,
        samples: MotionSamples,
        continues: bool,
        exact: Mapping[str, Array] | None = None,
    ) -> None:
        """Add a block.

        Args:
            samples: at least one sample.
            continues: whether the first sample is the last one of the block before.
            exact: port energies in the recording at these samples, see
                :meth:`.RecordedEnergies.unaccounted`; None if the recording has none.
        """
        b, t = self.model.b, samples.t
        stored = self._path.stored(samples.q, samples.v)
        total = stored.total
        momenta = self._path.momenta(samples.q, samples.v)
        dt = np.diff(t)[:, None]
        rates = samples.v[:, b:]
        power, work = samples.torque * rates, self._work(samples, rates, dt)
        friction = np.zeros_like(rates)
        if self.friction is not None:
            friction = self.friction.force(rates)
        lost_power = -friction * rates
        port_power, efforts = self._at_ports(samples)
        lost, at_ports = _trapezoid(lost_power, dt), _trapezoid(port_power, dt)
        drag_power, drag_force = self._drag(samples)
        drag = _trapezoid(drag_power[:, None], dt)
        efforts = efforts + drag_force
        efforts[:, b:] += friction
        impulse = _trapezoid(momenta.drift + efforts, dt)
        impulse[:, b:] += (
            samples.torque[:-1] * dt if samples.held else _trapezoid(samples.torque, dt)
        )
        residual = np.diff(momenta.momentum, axis=0) - impulse
        mean = 0.5 * (samples.v[1:] + samples.v[:-1])
        by_balance = residual * mean
        if b:
            by_balance = np.hstack([by_balance[:, :b].sum(1, keepdims=True), by_balance[:, b:]])
        net = work.sum(1) + at_ports.sum(1) - lost.sum(1) - drag.sum(1)
        whole_power = port_power.sum(1) - lost_power.sum(1) - drag_power
        if not samples.held:
            whole_power = whole_power + power.sum(1)
        steps = {
            "supplied_by_joint": work,
            "gross_by_joint": np.abs(work) if samples.held else _trapezoid(np.abs(power), dt),
            "returned_by_joint": np.minimum(work, 0.0)
            if samples.held
            else _trapezoid(np.minimum(power, 0.0), dt),
            "dissipated_by_joint": lost,
            "supplied_by_port": at_ports,
            "drag": drag,
            "residual_by_joint": by_balance,
            "variance": self._variance(samples, power, dt)[:, None],
            "sampling": _with_square(_halving(t, whole_power, dt)),
        }
        self._begin(float(total[0]), float(t[0]), continues, steps)
        start = self._last
        assert start is not None
        whole = {name: np.vstack([self._sums[name], self._sums[name] + np.cumsum(step, axis=0)])
                 for name, step in steps.items()}  # fmt: skip
        flow = np.concatenate([[0.0], np.cumsum(net)])
        plain = start[2] + (total - start[1]) - flow
        shown = plain if exact is None else self._recorded.unaccounted(exact, total)
        place = int(np.argmax(np.abs(shown)))
        if abs(shown[place]) > self._largest[0]:
            self._largest = (float(abs(shown[place])), float(t[place]))
        variance = self._state_variance(momenta)
        if not self._count:
            self._first_variance = float(variance[0])
        self._keep(t, stored.kinetic, stored.potential, whole, shown, plain, variance, continues)
        self._sums = {name: rows[-1:] for name, rows in whole.items()}
        self._last = (float(t[-1]), float(total[-1]), float(plain[-1]))
        self._duration += float(t[-1] - t[0])
        self._count += len(t) - (1 if continues else 0)
        self._windows.add(residual, dt[:, 0])

    def ledger(self) -> Ledger:
        """Return the ledger of all blocks.

        Raises:
            StateError: no block was added.
        """
        if not self._kept or self._last is None:
            raise StateError("the recording contains no sample of the robot's motion")
        series = {name: np.concatenate([part[name] for part in self._kept])
                  for name in self._kept[0]}  # fmt: skip
        time = series.pop("time")
        variance, sampling = series.pop("variance")[:, 0], series.pop("sampling")
        at_state = series.pop("state_variance")
        # Errors of smooth signals add up; those of jumps between samples do so at random.
        bound = np.maximum.accumulate(np.abs(sampling[:, 0])) + _AT_RANDOM * np.sqrt(sampling[:, 1])
        band = Z95 * np.sqrt(variance + at_state + self._first_variance) + bound
        effort = self._windows.root_mean_square
        b = self.model.b
        if b:
            effort = np.concatenate([[float(np.linalg.norm(effort[:b]))], effort[b:]])
        recorded = self._recorded
        sums = {name: rows[0] for name, rows in self._sums.items()}
        energy = series["kinetic"] + series["potential"]
        change = float(energy[-1] - energy[0]) - self._unobserved
        return Ledger(
            joints=self.model.joint_names,
            balanced=((BASE,) if b else ()) + self.model.joint_names,
            ports=self.ports,
            time=time,
            series=series,
            gross_by_joint=sums["gross_by_joint"],
            supplied_by_joint=sums["supplied_by_joint"],
            returned_by_joint=sums["returned_by_joint"],
            dissipated_by_joint=sums["dissipated_by_joint"],
            residual_by_joint=sums["residual_by_joint"],
            residual_effort=effort,
            supplied_by_port=sums["supplied_by_port"],
            stored=recorded.stored if recorded.energies else change,
            unobserved=self._unobserved,
            unaccounted=float(series["unaccounted"][-1]),
            band=band,
            largest=self._largest[0],
            largest_time=self._largest[1],
            from_samples=self._last[2],
            sampling_bound=float(bound[-1]),
            exact=recorded.energies,
            samples=self._count,
            duration=self._duration,
            gaps=self._gaps,
            drag=float(sums["drag"][0]),
        )

    def _begin(self, energy: float, time: float, continues: bool, steps: dict[str, Array]) -> None:
        if self._last is None:
            self._sums = {name: np.zeros((1, step.shape[1])) for name, step in steps.items()}
            self._last = (time, energy, 0.0)
        elif not continues:
            self._gaps += 1
            self._unobserved += energy - self._last[1]
            self._last = (time, energy, self._last[2])

    def _work(self, samples: MotionSamples, rates: Array, dt: Array) -> Array:
        """Return the work of the joint efforts in each interval, (N-1, n)."""
        if not samples.held:
            return _trapezoid(samples.torque * rates, dt)
        model = self.model
        if model.nq - model.nq_base == model.n:
            moved = np.diff(samples.q[:, model.nq_base :], axis=0)
        else:
            moved = np.array(
                [model.difference(a, c)[model.b :] for a, c in pairwise(samples.q)]
            ).reshape(-1, model.n)
        return np.asarray(samples.torque[:-1] * moved)

    def _at_ports(self, samples: MotionSamples) -> tuple[Array, Array]:
        """Return powers at the wrench ports (N, ports), and their generalised forces (N, nv)."""
        power = np.zeros((len(samples), len(self.ports)))
        force = np.zeros((len(samples), self.model.nv))
        b = self.model.b
        for k, name in enumerate(self.ports):
            wrench = samples.wrenches[name]
            if name == BASE:
                own = wrench[:, [0, 1, 5]] if self.model.base == "planar" else wrench[:, :b]
                force[:, :b] += own
                power[:, k] = (own * samples.v[:, :b]).sum(1)
            elif wrench.any():
                frame = self.model.frame_id(name)
                at_frame = self._path.generalised(samples.q, wrench, frame)
                force += at_frame
                power[:, k] = (at_frame * samples.v).sum(1)
        return power, force

    def _drag(self, samples: MotionSamples) -> tuple[Array, Array]:
        fluid = self.model.fluid
        force = np.zeros((len(samples), self.model.nv))
        if fluid is not None:
            for k in range(len(samples)):
                force[k] = fluid.drag(self.model.evaluate(samples.q[k], samples.v[k]))
        return -(force * samples.v).sum(1), force

    def _variance(self, samples: MotionSamples, power: Array, dt: Array) -> Array:
        """Return the variance of the supplied energy that the noise of an interval adds, J^2."""
        if self.noise is None:
            return np.zeros(len(dt))
        b = self.model.b
        rate = (samples.v[:, b:] * self.noise.effort) ** 2
        rate = rate + (samples.torque * self.noise.velocity[b:]) ** 2
        return np.asarray(_trapezoid(rate.sum(1, keepdims=True), dt)[:, 0] * dt[:, 0])

    def _state_variance(self, momenta: Momenta) -> Array:
        """Return the variance of the total energy of each sample by its noise, (N,), J^2."""
        noise = self.noise
        momentum, gravity = momenta.momentum, momenta.gravity
        if noise is None:
            return np.zeros(len(momentum))
        kinetic = (momentum * noise.velocity) ** 2
        return np.asarray((kinetic + (gravity * noise.position) ** 2).sum(1))

    def _keep(
        self,
        t: Array,
        kinetic: Array,
        potential: Array,
        whole: dict[str, Array],
        shown: Array,
        plain: Array,
        variance: Array,
        continues: bool,
    ) -> None:
        first = self._count - (1 if continues else 0)
        chosen = np.flatnonzero((first + np.arange(len(t))) % self.stride == 0)
        chosen = chosen[chosen >= (1 if continues else 0)]
        if len(t) - 1 not in chosen:
            chosen = np.append(chosen, len(t) - 1)
        self.kept_of_last_block = chosen
        rows = {name: values[chosen] for name, values in whole.items()}
        rows |= {"time": t[chosen], "kinetic": kinetic[chosen], "potential": potential[chosen]}
        rows |= {"unaccounted": shown[chosen], "from_samples": plain[chosen]}
        self._kept.append(rows | {"state_variance": variance[chosen]})


def _with_square(x: Array) -> Array:
    return np.column_stack([x, x**2])


def _trapezoid(rate: Array, dt: Array) -> Array:
    return np.asarray(0.5 * dt * (rate[1:] + rate[:-1]))


def _halving(t: Array, power: Array, dt: Array) -> Array:
    """Return the difference that twice the step makes to the integral of a power, (N-1,).

    Each pair of intervals is compared with the trapezium over both; an odd last interval is left.
    """
    steps = np.zeros(len(t) - 1)
    pairs = (len(t) - 1) // 2
    if pairs:
        fine = _trapezoid(power[:, None], dt)[: 2 * pairs, 0].reshape(pairs, 2).sum(1)
        ends = power[: 2 * pairs + 1 : 2]
        coarse = 0.5 * np.diff(t[: 2 * pairs + 1 : 2]) * (ends[1:] + ends[:-1])
        steps[1 : 2 * pairs : 2] = coarse - fine
    return steps

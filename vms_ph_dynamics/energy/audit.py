"""The bookkeeping of energy from sample to sample; no ROS in here."""

from dataclasses import dataclass, field

PORTS = ("torque", "wrench_end_effector", "wrench_base")

# Port energies are published as totals: a sample without them can be passed over for a while, ns.
_PATIENCE = 1_000_000_000


@dataclass(frozen=True)
class Flow:
    """What is known of one sample.

    Attributes:
        time: ns.
        energy: total, J.
        power: into the robot at every port, W.
        dissipated: taken by friction, W.
        work: since the simulation was reset, J, where a simulator tells; ``dissipated`` included.
        resets: how often it was reset.
    """

    time: int
    energy: float
    power: dict[str, float]
    dissipated: float
    work: dict[str, float] | None = None
    resets: int = 0


@dataclass
class EnergyAudit:
    """Compares the energy stored with the work done, since its first sample or the last reset.

    Energies told by the simulator's integrator are used as they are; otherwise the powers of the
    samples are integrated by the trapezoidal rule.
    """

    work: dict[str, float] = field(default_factory=dict)
    stored: float = 0.0
    residual: float = 0.0
    exact: bool = False
    _first: Flow | None = None
    _last: Flow | None = None

    @property
    def unaccounted_energy(self) -> float:
        """Energy stored that no port has brought, J."""
        supplied = sum(self.work.get(port, 0.0) for port in PORTS)
        return self.stored - supplied + self.work.get("dissipated", 0.0)

    def add(self, flow: Flow) -> None:
        """Account for the next sample."""
        first, last = self._first, self._last
        if last is not None and _lost_its_work(last, flow):
            return
        if first is None or last is None or not _follows(last, flow):
            self._first = self._last = flow
            self.work = dict.fromkeys((*PORTS, "dissipated"), 0.0)
            self.stored = self.residual = 0.0
            self.exact = flow.work is not None
            return
        before, seconds = self.unaccounted_energy, (flow.time - last.time) * 1e-9
        if flow.work is not None and first.work is not None:
            self.work = {name: flow.work[name] - first.work[name] for name in self.work}
        else:
            for name in PORTS:
                self.work[name] += 0.5 * seconds * (last.power[name] + flow.power[name])
            self.work["dissipated"] += 0.5 * seconds * (last.dissipated + flow.dissipated)
        self.stored = flow.energy - first.energy
        self.residual = (self.unaccounted_energy - before) / seconds
        self._last = flow


def _follows(last: Flow, flow: Flow) -> bool:
    same_source = (flow.work is None) == (last.work is None)
    return flow.time > last.time and flow.resets == last.resets and same_source


def _lost_its_work(last: Flow, flow: Flow) -> bool:
    """Tell a sample whose works did not arrive from one of a robot that has none to tell."""
    return last.work is not None and flow.work is None and 0 <= flow.time - last.time < _PATIENCE

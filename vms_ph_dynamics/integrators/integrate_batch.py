# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Integration of many runs of a robot at once: initial states and efforts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, ArrayRecord, frozen
from ..errors import StateError
from ..evaluation_batch import threads_of
from ..forms import Form, PHState, Ports
from ..forms.ports import PORTS, port_names
from .compiled import CompiledStepper
from .integrate import check_steps, integrate
from .schemes import make_stepper
from .stepper import Efforts, IntegrationError
from .trajectory import FailedStep


@dataclass(frozen=True, repr=False)
class TrajectoryBatch(ArrayRecord):
    """N runs, recorded at the same K instants, as read-only arrays.

    The records of a run that ended early, see ``errors``, are not a number from there on.

    Attributes:
        t: (K,) s.
        q: (N,K,nq) configurations.
        v: (N,K,nv) velocities.
        energy: (N,K) computed from configuration and velocity, J.
        supplied: energy supplied through every port between two records, (N,K-1) each, J.
        dissipated: energy dissipated between two records, (N,K-1), J.
        failures: the failed steps of each run, which were repeated as halves.
        errors: why each run ended early, by its index.
    """

    t: Array
    q: Array
    v: Array
    energy: Array
    supplied: dict[str, Array]
    dissipated: Array
    failures: tuple[tuple[FailedStep, ...], ...]
    errors: dict[int, str]

    @property
    def residual(self) -> Array:
        """``stored - supplied + dissipated``: the unaccounted energy, (N,K-1), J."""
        stored_energy = np.diff(self.energy, axis=1)
        return stored_energy - sum(self.supplied.values(), 0.0 * stored_energy) + self.dissipated

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.q)


def integrate_batch(
    form: Form,
    states: Sequence[PHState],
    ports: Efforts | Sequence[Efforts | None] | None = None,
    *,
    dt: float,
    steps: int,
    scheme: str = "projected_rk4",
    native: bool | None = None,
    stride: int = 1,
    t0: float = 0.0,
    threads: int | None = None,
) -> TrajectoryBatch:
    """Integrate many runs of a robot over ``steps`` steps of ``dt``; see :func:`.integrate`.

    Runs under held efforts are distributed over threads where the scheme runs in C++; all others,
    and those in which a step fails, are integrated one after another.

    Args:
        form: the robot in one of its forms.
        states: the initial states, at ``t0``.
        ports: efforts, held or as a function of time and state, one for all runs or a sequence with
            one for each; None for gravity alone.
        dt: time step, s.
        steps: number of steps.
        scheme: one of :data:`.SCHEMES`.
        native: whether the scheme runs in C++, as for :func:`.integrate`.
        stride: number of steps between records.
        t0: initial time, s.
        threads: number of threads; that of the processors when None.

    Raises:
        StateError: a state, the time step or a count is not valid, or there are not as many efforts
            as states.
        OptionError: there is no scheme of this name.
        ModelError: as for :func:`.integrate`.

    Examples:
        >>> from vms_ph_dynamics import StandardForm
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> form = StandardForm(panda)
        >>> states = [form.state(panda.home, np.full(panda.nv, rate)) for rate in (0.0, 0.1, 0.2)]
        >>> integrate_batch(form, states, dt=1e-3, steps=10).q.shape
        (3, 11, 7)
    """
    check_steps(dt, steps, stride)
    states = [form.checked_state(state) for state in states]
    efforts = _efforts_of_runs(form, ports, len(states))
    model, record_steps = form.model, np.append(np.arange(0, steps, stride), steps)
    run_count, record_count = len(states), len(record_steps)

    def nans(*shape: int) -> Array:
        return np.full((run_count, *shape), np.nan)

    q, v, energy = nans(record_count, model.nq), nans(record_count, model.nv), nans(record_count)
    supplied = {name: nans(record_count - 1) for name in port_names(model)}
    dissipated = nans(record_count - 1)
    failures: list[tuple[FailedStep, ...]] = [()] * run_count
    errors: dict[int, str] = {}
    remaining_runs = set(range(run_count))
    for gravity in (True, False):
        held_efforts = {
            i: run_ports
            for i, run_ports in enumerate(efforts)
            if isinstance(run_ports, Ports)
            and not run_ports.wrench_tools
            and run_ports.gravity is gravity
        }
        stepper = make_stepper(scheme, form, gravity, native) if held_efforts else None
        if not isinstance(stepper, CompiledStepper):
            continue
        batch = stepper.run_batch(
            np.array([states[i].q for i in held_efforts]),
            np.array([form.velocity(states[i]) for i in held_efforts]),
            list(held_efforts.values()),
            (t0, dt, steps, stride),
            threads_of(threads),
        )
        is_done = (batch["steps"] == steps) & stepper.balanced_runs(
            batch["energy"], batch["supplied_energy"], batch["dissipated_energy"], stride
        )
        runs = np.array(list(held_efforts))[is_done]
        q[runs], v[runs], energy[runs] = (batch[name][is_done] for name in ("q", "v", "energy"))
        dissipated[runs] = batch["dissipated_energy"][is_done]
        for name, energies in supplied.items():
            energies[runs] = (
                0.0 if name not in PORTS else batch["supplied_energy"][PORTS.index(name)][is_done]
            )
        remaining_runs -= set(runs.tolist())
    for i in sorted(remaining_runs):
        options: dict[str, Any] = {"scheme": scheme, "native": native, "stride": stride, "t0": t0}
        try:
            trajectory = integrate(form, states[i], efforts[i], dt=dt, steps=steps, **options)
        except IntegrationError as error:
            errors[i] = str(error)
            continue
        q[i], v[i], energy[i] = trajectory.q, trajectory.v, trajectory.energy
        dissipated[i], failures[i] = trajectory.audit.dissipated, trajectory.failures
        for name, energies in supplied.items():
            energies[i] = trajectory.audit.supplied.get(name, 0.0)
    for array in (q, v, energy, dissipated, *supplied.values()):
        frozen(array)
    return TrajectoryBatch(
        frozen(t0 + dt * record_steps), q, v, energy, supplied, dissipated, tuple(failures), errors
    )


def _efforts_of_runs(form: Form, ports: Any, count: int) -> list[Efforts]:
    """Return the efforts of each run, checked where they are held: gravity alone for None."""

    def checked(run_ports: Any) -> Efforts:
        return run_ports if callable(run_ports) else Ports.checked(form.model, run_ports or Ports())

    with np.errstate(over="ignore"):  # excessively large efforts are left to the steps, which fail
        if ports is None or isinstance(ports, Ports) or callable(ports):
            return [checked(ports)] * count
        if len(ports) != count:
            raise StateError(
                "give one effort for all runs or one for each of them; states has "
                f"{count}, ports has {len(ports)}"
            )
        return [checked(run_ports) for run_ports in ports]

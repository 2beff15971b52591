# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Integration of many runs at once: initial states, efforts and parameters of the robot."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, frozen
from ..errors import StateError
from ..evaluation_batch import threads_of
from ..forms import Form, PHState, Ports
from ..forms.ports import port_names
from .compiled import CompiledStepper
from .integrate import check_steps, integrate
from .schemes import make_stepper
from .stepper import Efforts, IntegrationError
from .trajectory import FailedStep


@dataclass(frozen=True)
class TrajectoryBatch:
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
        stored = np.diff(self.energy, axis=1)
        return stored - sum(self.supplied.values(), 0.0 * stored) + self.dissipated

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.q)


def integrate_batch(
    form: Form | Sequence[Form],
    x0: PHState | Sequence[PHState],
    ports: Efforts | Sequence[Efforts | None] | None = None,
    *,
    dt: float,
    steps: int,
    scheme: str = "projected_rk4",
    native: bool | None = None,
    every: int = 1,
    t0: float = 0.0,
    threads: int | None = None,
) -> TrajectoryBatch:
    """Integrate many runs over ``steps`` steps of ``dt``; see :func:`.integrate`.

    Each of form, initial state and ports is one for all runs or a sequence with one for each:
    robots with other parameters, other states, other efforts or laws. Runs under held efforts are
    distributed over threads where the scheme runs in C++; all others, and those in which a step
    fails, are integrated one after another.

    Args:
        form: the robot in one of its forms; all of them have the same sizes.
        x0: initial state, at ``t0``.
        ports: efforts, held or as a function of time and state; None for gravity alone.
        dt: time step, s.
        steps: number of steps.
        scheme: one of :data:`.SCHEMES`.
        native: whether the scheme runs in C++, as for :func:`.integrate`.
        every: number of steps between records.
        t0: initial time, s.
        threads: number of threads; that of the processors when None.

    Raises:
        StateError: a state, the time step or a count is not valid, or the sequences differ in
            length.
        OptionError: there is no scheme of this name.
        ModelError: as for :func:`.integrate`.
    """
    check_steps(dt, steps, every)
    forms, states, efforts = _runs(form, x0, ports)
    first = forms[0].model
    ends = np.append(np.arange(0, steps, every), steps)
    count, instants = len(forms), len(ends)
    q = np.full((count, instants, first.nq), np.nan)
    v = np.full((count, instants, first.nv), np.nan)
    energy, dissipated = np.full((count, instants), np.nan), np.full((count, instants - 1), np.nan)
    supplied = {name: np.full((count, instants - 1), np.nan) for name in port_names(first)}
    failures: list[tuple[FailedStep, ...]] = [()] * count
    errors: dict[int, str] = {}

    left = set(range(count))
    groups = _compiled_groups(forms, efforts, scheme, native)

    def run(group: "_Group", threads: int) -> tuple["_Group", Any]:
        z = [states[i] for i in group.runs]
        return group, group.stepper.run_batch(
            np.array([x.q for x in z]),
            np.array([forms[i].velocity(x) for i, x in zip(group.runs, z, strict=True)]),
            [acting for acting in (efforts[i] for i in group.runs) if not callable(acting)],
            (t0, dt, steps, every),
            threads,
        )

    threads = threads_of(threads)
    # Of one robot the runs are shared among threads, of several robots the robots.
    with ThreadPoolExecutor(threads) as pool:
        inside = max(1, threads // max(1, len(groups)))
        for group, batch in pool.map(lambda group: run(group, inside), groups):
            complete = (batch["steps"] == steps) & group.stepper.closes(
                batch["energy"], batch["supplied"], batch["dissipated"], every
            )
            rows = np.array(group.runs)[complete]
            q[rows], v[rows] = batch["q"][complete], batch["v"][complete]
            energy[rows], dissipated[rows] = (
                batch["energy"][complete],
                batch["dissipated"][complete],
            )
            for name, values in supplied.items():
                index = list(supplied).index(name)
                values[rows] = batch["supplied"][index][complete] if index < 3 else 0.0
            left -= set(rows.tolist())

    for i in sorted(left):
        try:
            done = integrate(
                forms[i],
                states[i],
                efforts[i],
                dt=dt,
                steps=steps,
                scheme=scheme,
                native=native,
                every=every,
                t0=t0,
            )
        except IntegrationError as error:
            errors[i] = str(error)
            continue
        q[i], energy[i] = done.q, done.energy
        v[i] = [forms[i].velocity_arrays(x.q, x.z) for x in done.states]
        dissipated[i] = done.audit.dissipated
        for name, values in supplied.items():
            values[i] = done.audit.supplied.get(name, 0.0)
        failures[i] = done.failures
    for array in (q, v, energy, dissipated, *supplied.values()):
        frozen(array)
    return TrajectoryBatch(
        frozen(t0 + dt * ends), q, v, energy, supplied, dissipated, tuple(failures), errors
    )


@dataclass
class _Group:
    """Runs of one robot with one setting of gravity, whose scheme runs in C++."""

    stepper: CompiledStepper
    runs: list[int]


def _runs(form: Any, x0: Any, ports: Any) -> tuple[list[Form], list[PHState], list[Efforts | None]]:
    one = ports is None or isinstance(ports, Ports) or callable(ports)
    arguments: dict[str, list[Any]] = {
        "form": [form] if isinstance(form, Form) else list(form),
        "x0": [x0] if isinstance(x0, PHState) else list(x0),
        "ports": [ports] if one else list(ports),
    }
    sizes = {name: len(values) for name, values in arguments.items() if len(values) != 1}
    count = max(sizes.values(), default=1)
    if 0 in sizes.values() or set(sizes.values()) - {count}:
        counts = ", ".join(f"{name} has {len(values)}" for name, values in arguments.items())
        raise StateError(f"give one for all runs or one for each of them; {counts}")
    forms, states, efforts = (
        values * count if len(values) == 1 else values for values in arguments.values()
    )
    sizes_of = {(run_form.model.nq, run_form.model.b, run_form.model.n) for run_form in forms}
    if len(sizes_of) > 1:
        raise StateError("the robots of a batch must have the same base and number of joints")
    checked = [run_form.checked_state(x) for run_form, x in zip(forms, states, strict=True)]
    with np.errstate(over="ignore"):  # excessively large efforts are left to the steps, which fail
        efforts = [
            Ports.checked(run_form.model, acting) if isinstance(acting, Ports) else acting
            for run_form, acting in zip(forms, efforts, strict=True)
        ]
    return forms, checked, efforts


def _compiled_groups(
    forms: list[Form], efforts: list[Efforts | None], scheme: str, native: bool | None
) -> list[_Group]:
    """Return the runs whose efforts are held and whose scheme runs in C++, by robot."""
    groups: dict[tuple[int, bool], _Group | None] = {}
    for i, (form, acting) in enumerate(zip(forms, efforts, strict=True)):
        if callable(acting):
            continue
        gravity = acting is None or acting.gravity
        key = id(form.model), gravity
        if key not in groups:
            stepper = make_stepper(scheme, form, gravity, native)
            groups[key] = _Group(stepper, []) if isinstance(stepper, CompiledStepper) else None
        group = groups[key]
        if group is not None and (acting is None or not acting.wrench_tools):
            group.runs.append(i)
    return [group for group in groups.values() if group is not None and group.runs]

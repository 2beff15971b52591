# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Integration of a system over time: steps, events, the energy audit, and steps that fail."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import frozen
from ..errors import StateError
from ..forms import Form, Ports
from .retry import HALVINGS, RetriedStep, multi_step_with_retry, step_with_retry
from .schemes import make_stepper
from .stepper import Efforts, Observation, SolverState, Stepper, StepResult, system_stepper
from .trajectory import EnergyBalance, Event, FailedStep, Occurrence, Trajectory

# The instant is located to this fraction of the step.
_TIME_TOLERANCE = 1e-12
_MAX_ITERATIONS = 100


def integrate(
    form: Any,
    x0: Any,
    ports: Efforts | Any = None,
    *,
    dt: float,
    steps: int,
    scheme: str | Stepper = "projected_rk4",
    native: bool | None = None,
    events: Sequence[Event] = (),
    stride: int = 1,
    halvings: int = HALVINGS,
    t0: float = 0.0,
) -> Trajectory:
    """Integrate a system over ``steps`` steps of ``dt``.

    A step that fails (an iteration that does not converge, a state that is not finite) is recorded
    in the trajectory and repeated as two halves, each of which may be halved again.

    Args:
        form: the robot in one of its forms; a system of another kind that has schemes of its own,
            as the equations of :mod:`vms_ph_ephs`; or any system that comes with a
            stepper.
        x0: initial state, at ``t0``.
        ports: efforts, held or as a function of time and state; None for gravity alone.
        dt: time step, s; may be negative.
        steps: number of steps.
        scheme: one of :data:`SCHEMES` or of the schemes of the system, or a stepper.
        native: whether the scheme runs in C++: True requires it, False excludes it, None uses it
            where it is installed and exists for the scheme and the robot. With held efforts the run
            does not return to Python between records; the results are the same to rounding.
        events: located at every step.
        stride: number of steps between records; the audit sums over the steps between two records.
        halvings: number of times a failed step is halved before the run ends with an error.
        t0: initial time, s.

    Raises:
        IntegrationError: a step fails even after all halvings.
        StateError: the state, the time step or a count is not valid.
        OptionError: there is no scheme of this name.
        ModelError: the scheme does not cover this robot, or the system has no schemes; with
            ``native=True`` also if there is no compiled one.

    Examples:
        >>> from vms_ph_dynamics import StandardForm
        >>> from vms_ph_io import robots
        >>> panda = robots.load("panda")
        >>> form = StandardForm(panda)
        >>> run = integrate(form, form.state(panda.home, np.zeros(panda.nv)), dt=1e-3, steps=100)
        >>> print(f"{abs(run.energy[-1] - run.energy[0]):.6f} J")
        0.000000 J
    """
    check_steps(dt, steps, stride)
    if isinstance(scheme, Stepper):
        stepper = scheme
    elif isinstance(form, Form):
        stepper = make_stepper(scheme, form, _has_gravity(form, x0, ports, t0), native)
    else:
        stepper = system_stepper(form, scheme)
    ports = stepper.no_ports if ports is None else ports
    run = _Run(stepper, ports, tuple(events), halvings, stepper.begin(x0, t0), t0)
    for k in range(0, steps, stride):
        run.advance(t0, dt, k, min(k + stride, steps))
        run.record()
        if run.is_ended:
            break
    return run.trajectory()


def check_steps(dt: float, steps: int, stride: int) -> None:
    """Check the length and number of steps, and how many there are between two records.

    Raises:
        StateError: one of them makes no sense.
    """
    if not (np.isfinite(dt) and dt != 0.0) or steps < 0 or stride < 1:
        raise StateError(
            "dt must be finite and not zero, steps not negative and stride at least 1; given: "
            f"dt={dt}, steps={steps}, stride={stride}"
        )


def _has_gravity(form: Form, x0: Any, ports: Efforts | None, t0: float) -> bool:
    """Return whether gravity acts, after a check of the ports at the start."""
    if ports is None:
        return True
    efforts: Any = ports(t0, form.checked_state(x0)) if callable(ports) else ports
    if not isinstance(efforts, Ports):
        raise StateError(
            "ports are a Ports, or a function of time and state that returns one; given: "
            f"{'a function that returns ' if callable(ports) else ''}{efforts!r}"
        )
    with np.errstate(over="ignore"):  # excessively large efforts are left to the steps, which fail
        return Ports.checked(form.model, efforts).gravity


@dataclass
class _Run:
    """A run in progress."""

    stepper: Stepper
    ports: Any
    events: tuple[Event, ...]
    halvings: int
    solver_state: SolverState
    t: float
    is_ended: bool = False
    failures: list[FailedStep] = field(default_factory=list)
    occurrences: list[Occurrence] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    balances: list[StepResult] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.result_since_record = self._no_steps()
        self.times.append(self.t)
        self.observations.append(self.stepper.observe(self.solver_state))
        self.event_values = self._event_values(self.t, self.solver_state)

    def advance(self, t0: float, dt: float, first_step: int, end_step: int) -> None:
        """Integrate from one step up to another, or to an event that ends the run."""
        while first_step < end_step and not self.is_ended:
            if self.events:
                self._step(t0 + first_step * dt, dt, t0 + (first_step + 1) * dt)
                first_step += 1
                continue
            step_result, failures = multi_step_with_retry(
                self.stepper,
                self.solver_state,
                self.ports,
                t0,
                dt,
                first_step,
                end_step - first_step,
                self.halvings,
            )
            first_step += step_result.steps
            self._accept(step_result, failures, t0 + first_step * dt)

    def _step(self, t: float, dt: float, end_time: float) -> None:
        """Integrate one step, divided at the events."""
        while not self.is_ended:
            result, failures = self._trial_step(t, dt)
            duration, crossed_events = self._first_crossing(result, t, dt)
            if not crossed_events:
                self._accept(result, failures, end_time)
                return
            result, failures = self._trial_step(t, duration)
            self._accept(result, failures, t + duration)
            self._record_events(crossed_events)
            t, dt = t + duration, end_time - (t + duration)
            if abs(dt) <= 1e-12 * abs(end_time - t + duration):
                return

    def _trial_step(self, t: float, dt: float) -> RetriedStep:
        return step_with_retry(
            self.stepper, self.solver_state, self.ports, t, dt, halvings=self.halvings
        )

    def record(self) -> None:
        """Record the observation now, and the energy balance since the last record."""
        self.times.append(self.t)
        self.observations.append(self.stepper.observe(self.solver_state))
        self.balances.append(self.result_since_record)
        self.result_since_record = self._no_steps()

    def trajectory(self) -> Trajectory:
        """Return the recorded trajectory."""
        energy = np.array([observation.energy for observation in self.observations])
        names = dict.fromkeys(name for balance in self.balances for name in balance.supplied)
        audit = EnergyBalance(
            frozen(np.diff(energy)),
            {
                name: frozen(np.array([b.supplied.get(name, 0.0) for b in self.balances]))
                for name in names
            },
            frozen(np.array([balance.dissipated for balance in self.balances])),
            np.array([balance.iterations for balance in self.balances], dtype=np.int64),
        )
        return Trajectory(
            frozen(np.array(self.times)),
            tuple(observation.state for observation in self.observations),
            frozen(energy),
            frozen(np.stack([observation.spatial_momentum for observation in self.observations])),
            audit,
            tuple(self.occurrences),
            tuple(self.failures),
            self.stepper,
        )

    def _accept(self, result: StepResult, failures: Sequence[FailedStep], t: float) -> None:
        self.solver_state, self.t = result.solver_state, t
        self.result_since_record = self.result_since_record.followed_by(result)
        self.failures += failures
        if self.events:
            self.event_values = self._event_values(t, self.solver_state)

    def _no_steps(self) -> StepResult:
        return StepResult(self.solver_state, {}, 0.0, steps=0)

    def _event_values(self, t: float, solver_state: SolverState) -> list[float]:
        if not self.events:
            return []
        state = self.stepper.observe(solver_state).state
        return [float(event.value(t, state)) for event in self.events]

    def _first_crossing(
        self, result: StepResult, t: float, dt: float
    ) -> tuple[float, tuple[Event, ...]]:
        """Return the time after ``t`` of the first events, and these events."""
        end_values = self._event_values(t + dt, result.solver_state)
        shortest, crossed_events = dt, []
        for i, event in enumerate(self.events):
            if not event.is_crossing(self.event_values[i], end_values[i]):
                continue

            def event_value(s: float, i: int = i) -> float:
                trial_result, _ = self._trial_step(t, s)
                return self._event_values(t + s, trial_result.solver_state)[i]

            duration = find_crossing(event_value, self.event_values[i], end_values[i], dt)
            if abs(duration) < abs(shortest):
                shortest, crossed_events = duration, [event]
            elif duration == shortest:
                crossed_events.append(event)
        return shortest, tuple(crossed_events)

    def _record_events(self, crossed_events: Sequence[Event]) -> None:
        state = self.stepper.observe(self.solver_state).state
        self.occurrences += [Occurrence(event.name, self.t, state) for event in crossed_events]
        self.is_ended = any(event.terminal for event in crossed_events)


def find_crossing(value: Callable[[float], float], start: float, end: float, dt: float) -> float:
    """Return the first time found, within (0, dt] or [dt, 0), at which the sign has changed.

    Regula falsi with the Illinois weights, on a bracket whose right end has the new sign.

    Args:
        value: value of the event over the time since the step began, s.
        start: its value at 0.
        end: its value at ``dt``, of the other sign, or zero.
        dt: time step, s; negative for integration backwards in time.
    """
    left, right = 0.0, 1.0
    left_value, right_value = start, end
    last_side = 0
    for _ in range(_MAX_ITERATIONS):
        if right - left <= _TIME_TOLERANCE or right_value == 0.0:
            break
        middle = right - right_value * (right - left) / (right_value - left_value)
        if not left < middle < right:
            middle = 0.5 * (left + right)
        middle_value = value(middle * dt)
        if (middle_value < 0.0) == (start < 0.0) and middle_value != 0.0:
            left, left_value = middle, middle_value
            right_value = 0.5 * right_value if last_side == -1 else right_value
            last_side = -1
        else:
            right, right_value = middle, middle_value
            left_value = 0.5 * left_value if last_side == 1 else left_value
            last_side = 1
    return right * dt

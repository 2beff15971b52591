"""The one way to run a system: steps, events, the audit, and steps that fail."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import frozen
from ..errors import ModelError, StateError
from ..structure import Form, Ports
from .events import Event, locate
from .retry import multi_step_with_retry, step_with_retry
from .schemes import make_stepper
from .step import Acting
from .stepper import Observation, SolverState, Steppable, Stepper, StepResult
from .trajectory import Audit, FailedStep, Occurrence, Trajectory


def integrate(
    form: Any,
    x0: Any,
    ports: Acting | Any = None,
    *,
    dt: float,
    steps: int,
    scheme: str | Stepper = "projected_rk4",
    native: bool | None = None,
    events: Sequence[Event] = (),
    every: int = 1,
    t0: float = 0.0,
) -> Trajectory:
    """Integrate a system over ``steps`` steps of ``dt``.

    A step that fails (an iteration that does not converge, a state that is not finite) is noted in
    the trajectory and taken again in two halves, these if need be in halves again.

    Args:
        form: the robot in one of its forms; a system of another kind that has schemes of its own,
            as the equations of :mod:`vms_ph_dynamics.ephs`; or whatever a stepper is for.
        x0: state at ``t0``.
        ports: efforts, held or as a function of time and state; None where nothing acts but
            gravity.
        dt: s; may be negative.
        steps: how many.
        scheme: a name out of :data:`SCHEMES` or of those of the system, or a stepper.
        native: whether the scheme runs in C++: True and False insist, None takes it where it is
            installed and there is one for the scheme and the robot. Held efforts then run without
            returning to Python between records; the results are the same to rounding.
        events: looked for at every step.
        every: records every so many steps; the audit sums up what lies between.
        t0: s.

    Raises:
        IntegrationError: a step fails however short it is.
        StateError: a wrong state, or a step or count that makes no sense.
        ModelError: a scheme that is not for this robot, or a system that has no schemes.
            With ``native=True`` also where there is no compiled one.
    """
    if not (np.isfinite(dt) and dt != 0.0) or steps < 0 or every < 1:
        raise StateError(
            "dt must be finite and not zero, steps not negative and every at least 1; given: "
            f"dt={dt}, steps={steps}, every={every}"
        )
    stepper = (
        scheme if isinstance(scheme, Stepper) else _stepper(form, x0, ports, t0, scheme, native)
    )
    ports = stepper.nothing if ports is None else ports
    run = _Run(stepper, ports, tuple(events), stepper.begin(x0, t0), t0)
    for k in range(0, steps, every):
        run.go(t0, dt, k, min(k + every, steps))
        run.record()
        if run.ended:
            break
    return run.trajectory()


def _stepper(
    form: Any, x0: Any, ports: Any, t0: float, scheme: str, native: bool | None
) -> Stepper:
    if isinstance(form, Steppable):
        return form.stepper(scheme)
    if not isinstance(form, Form):
        raise ModelError(
            "integrate takes a robot in one of its forms, the equations that ephs.assemble gives, "
            f"or a stepper as the scheme; given: {type(form).__name__} and the scheme '{scheme}'"
        )
    return make_stepper(scheme, form, _gravity(form, x0, ports, t0), native)


def _gravity(form: Form, x0: Any, ports: Acting | None, t0: float) -> bool:
    """Whether gravity acts; on the way the ports at the start are looked at."""
    if ports is None:
        return True
    acting: Any = ports(t0, form.checked_state(x0)) if callable(ports) else ports
    if not isinstance(acting, Ports):
        raise StateError(
            "ports are a Ports, or a function of time and state that returns one; given: "
            f"{'a function that returns ' if callable(ports) else ''}{acting!r}"
        )
    with np.errstate(over="ignore"):  # efforts may be so large that the steps fail, and say so
        return Ports.checked(form.model, acting).gravity


@dataclass
class _Run:
    """A run in progress."""

    stepper: Stepper
    ports: Any
    events: tuple[Event, ...]
    solver_state: SolverState
    t: float
    ended: bool = False
    supplied: dict[str, float] = field(default_factory=dict)
    dissipated: float = 0.0
    iterations: int = 0
    failures: list[FailedStep] = field(default_factory=list)
    occurrences: list[Occurrence] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    seen: list[Observation] = field(default_factory=list)
    books: list[tuple[Mapping[str, float], float, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.times.append(self.t)
        self.seen.append(self.stepper.observe(self.solver_state))
        self.values = self._values(self.t, self.solver_state)

    def go(self, t0: float, dt: float, first: int, end: int) -> None:
        """Take the steps from one up to another, or to an event that ends the run."""
        while first < end and not self.ended:
            if self.events:
                self._step(t0 + first * dt, dt, t0 + (first + 1) * dt)
                first += 1
                continue
            advance, taken, notes = multi_step_with_retry(
                self.stepper, self.solver_state, self.ports, t0, dt, first, end - first
            )
            first += taken
            self._accept(advance, notes, t0 + first * dt)

    def _step(self, t: float, dt: float, end: float) -> None:
        """Take one step, in parts where events take place."""
        while not self.ended:
            advance, notes = step_with_retry(self.stepper, self.solver_state, self.ports, t, dt)
            reached, happened = self._first_crossing(advance, t, dt)
            if happened:
                advance, notes = step_with_retry(
                    self.stepper, self.solver_state, self.ports, t, reached
                )
                self._accept(advance, notes, t + reached)
                self._note(happened)
                t, dt = t + reached, end - (t + reached)
                if abs(dt) > 1e-12 * abs(end - t + reached):
                    continue
                return
            self._accept(advance, notes, end)
            return

    def record(self) -> None:
        """Note what can be seen now, and the books since the last time."""
        self.times.append(self.t)
        self.seen.append(self.stepper.observe(self.solver_state))
        self.books.append((self.supplied, self.dissipated, self.iterations))
        self.supplied, self.dissipated, self.iterations = {}, 0.0, 0

    def trajectory(self) -> Trajectory:
        """Return what was recorded."""
        energy = np.array([seen.energy for seen in self.seen])
        names = dict.fromkeys(name for supplied, _, _ in self.books for name in supplied)
        audit = Audit(
            frozen(np.diff(energy)),
            {
                name: frozen(np.array([supplied.get(name, 0.0) for supplied, _, _ in self.books]))
                for name in names
            },
            frozen(np.array([dissipated for _, dissipated, _ in self.books])),
            np.array([iterations for _, _, iterations in self.books], dtype=np.int64),
        )
        return Trajectory(
            frozen(np.array(self.times)),
            tuple(seen.state for seen in self.seen),
            frozen(energy),
            frozen(np.stack([seen.spatial_momentum for seen in self.seen])),
            audit,
            tuple(self.occurrences),
            tuple(self.failures),
            self.stepper,
            self.ports,
        )

    def _accept(self, advance: StepResult, notes: Sequence[FailedStep], t: float) -> None:
        self.solver_state, self.t = advance.solver_state, t
        for name, work in advance.supplied.items():
            self.supplied[name] = self.supplied.get(name, 0.0) + work
        self.dissipated += advance.dissipated
        self.iterations = max(self.iterations, advance.iterations)
        self.failures += notes
        if self.events:
            self.values = self._values(t, self.solver_state)

    def _values(self, t: float, solver_state: SolverState) -> list[float]:
        if not self.events:
            return []
        state = self.stepper.observe(solver_state).state
        return [float(event.value(t, state)) for event in self.events]

    def _first_crossing(
        self, advance: StepResult, t: float, dt: float
    ) -> tuple[float, tuple[Event, ...]]:
        """Return when, after ``t``, events take place first, and which."""
        ends = self._values(t + dt, advance.solver_state)
        first, happened = dt, []
        for i, event in enumerate(self.events):
            if not event.crossed(self.values[i], ends[i]):
                continue

            def value(s: float, i: int = i) -> float:
                reached, _ = step_with_retry(self.stepper, self.solver_state, self.ports, t, s)
                return self._values(t + s, reached.solver_state)[i]

            when = locate(value, self.values[i], ends[i], dt)
            if abs(when) < abs(first):
                first, happened = when, [event]
            elif when == first:
                happened.append(event)
        return first, tuple(happened)

    def _note(self, happened: Sequence[Event]) -> None:
        state = self.stepper.observe(self.solver_state).state
        self.occurrences += [Occurrence(event.name, self.t, state) for event in happened]
        self.ended = any(event.terminal for event in happened)

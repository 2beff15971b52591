# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated robot with a controller in its loop."""

from functools import partial
from math import isfinite
from typing import Any

import numpy as np

from ..actuation.friction import Friction
from ..arrays import Array
from ..errors import StateError
from ..forms import PHState, Ports, port_names
from ..integrators import IntegrationError, RetriedStep, step_with_retry
from ..integrators.compiled import CompiledStepper
from .efforts import Acting, Control, Efforts, External, ToolWrench, with_torque
from .held_friction import HeldFriction, must_be_held
from .held_mechanism import HeldMechanism
from .joint_stops import FORESEEN, JointStops
from .reduced import SimulatedForm, stepper_of
from .sample import Sample

# Largest number of times that a step is halved: beyond it, a step costs more than it is worth.
_HALVINGS = 4


class Simulation:
    """Integrates a form with the efforts held over each step, as digital controllers do.

    Attributes:
        dt: integrator and control step, s.
        resets: number of resets to the start.
        failures: number of failed steps since then, which were repeated in halves.
        failure: why the simulation cannot go on from its last state; empty while it can.
    """

    _start_velocity: Array | None = None
    _gripped: HeldMechanism | None = None

    def __init__(
        self,
        form: SimulatedForm,
        q: Array,
        dt: float,
        control: Control | None,
        friction: bool = False,
        scheme: str | None = None,
        native: bool | None = None,
        joint_stops: bool = False,
        start_velocity: Array | None = None,
    ) -> None:
        """Start at rest, or with a velocity.

        Args:
            form: of the robot; one with velocity constraints runs in Python.
            q: (nq,) configuration at the start and after a reset.
            dt: integrator and control step, s.
            control: the controller in the loop; None for external efforts alone.
            friction: whether the joints' friction acts; it is held over each step where it is too
                stiff for the scheme, see :class:`.HeldFriction`.
            scheme: of :data:`.integrators.SCHEMES`; the default of the robot when None.
            native: whether it runs in C++, see :func:`.integrators.integrate`.
            joint_stops: whether the joints' limits are stops, see :class:`.JointStops`.
            start_velocity: (nv,) at the start and after a reset; zero when None.

        Raises:
            OptionError: there is no such scheme.
            ModelError: the scheme does not cover this robot.
        """
        self._home, self._q, self.dt = q, q, dt
        self._start_velocity = start_velocity
        self._control = control
        self._options = (friction, scheme, native, joint_stops)
        self._take_form(form)
        self.resets = -1
        self.reset()

    def _take_form(self, form: SimulatedForm) -> None:
        friction, scheme, native, joint_stops = self._options
        self._form = form
        self._stepper: Any = stepper_of(form, scheme, native)
        self._friction = Friction.of(form.model) if friction else None
        self._held_friction: HeldFriction | None = None
        if self._friction is not None and must_be_held(form, self._friction, self._q, self.dt):
            self._held_friction = HeldFriction(form, self._friction)
            self._friction = None
        stops = JointStops(form)
        self._stops = stops if joint_stops and stops.exist else None
        self._loop: Any = None

    def go_on_with(self, form: SimulatedForm, v: Array) -> None:
        """Go on with other inertias, as when the robot takes a body, from where it is.

        Args:
            form: of the robot, in the same coordinates.
            v: (nv,) velocity now.
        """
        self._take_form(form)
        self._solver_state = self._stepper.begin(form.state(self._q, v), self.time)
        self._q, self._v = self._stepper.motion(self._solver_state)

    def begin_with(self, form: SimulatedForm) -> None:
        """Return to the start as :meth:`reset`, with other inertias in the same coordinates."""
        self._take_form(form)
        self.reset()

    def reset(self) -> None:
        """Return to the start, without external efforts; port energies begin at zero."""
        model = self._form.model
        self._external = External()
        v = np.zeros(model.nv) if self._start_velocity is None else self._start_velocity
        start = self._form.state(self._home, v)
        self._solver_state = self._stepper.begin(start, 0.0)
        self._q, self._v = self._stepper.motion(self._solver_state)
        self._steps, self.failures, self.failure = 0, 0, ""
        self._port_energy = dict.fromkeys(port_names(model), 0.0)
        self._dissipated = 0.0
        self.resets += 1
        if self._gripped is not None:
            self._gripped.reset(self._q, self._v)
        self._acting = self._efforts()
        self._before = self._acting

    def hold_mechanism(self, mechanism: HeldMechanism) -> None:
        """Take hold of a mechanism with the end effector where it is, before the first step.

        The force of the grip is part of the port ``wrench_end_effector``; steps run in Python.
        """
        self._gripped = mechanism
        mechanism.reset(self._q, self._v)

    @property
    def time(self) -> float:
        """Simulated time since the last reset, s."""
        return self._steps * self.dt

    @property
    def steps(self) -> int:
        """Steps since the last reset."""
        return self._steps

    def hold(self, external: External) -> None:
        """Apply ``external`` from now on instead of from the next sample.

        Args:
            external: efforts besides those of the controller.
        """
        self._external = external
        self._acting = self._efforts()

    def advance(self, steps: int, external: External) -> None:
        """Integrate a number of steps; ``external`` acts from their end on, at the next sample.

        A step that fails leaves the simulation at its last state, with the reason in ``failure``;
        it goes on after a :meth:`reset`.

        Args:
            steps: their number.
            external: efforts besides those of the controller.
        """
        if self._stops is not None:
            # The loop in C++ knows of no stops, and may not run longer than they can be foreseen.
            most = max(1, int(FORESEEN / self.dt))
            while steps > most and not self.failure:
                self._advance(most, self._external)
                steps -= most
        self._advance(steps, external)

    def _advance(self, steps: int, external: External) -> None:
        done = 0 if self.failure else self._advance_in_cpp(steps, external)
        for k in range(done, 0 if self.failure else steps):
            self._before = self._acting
            ports, started = self._ports(self._before), self._q
            try:
                held, ports = self._with_held_friction(ports)
                (step, failures), pushing = self._step(ports)
            except (IntegrationError, StateError) as error:
                self.failure = str(error)
                return
            self._solver_state = step.solver_state
            self._q, self._v = self._stepper.motion(step.solver_state)
            if self._gripped is not None:
                self._gripped.commit()
            self._steps += 1
            self.failures += len(failures)
            for name, energy in step.supplied.items():
                self._port_energy[name] += energy
            self._dissipated += step.dissipated
            if pushing is not None:
                held = pushing if held is None else held + pushing
            if held is not None:
                turned = self._form.model.difference(started, self._q)[self._form.model.b :]
                work = float(held @ turned)
                self._port_energy["torque"] -= work
                self._dissipated -= work
            if k == steps - 1:
                self._external = external
            self._acting = self._efforts()

    def _advance_in_cpp(self, steps: int, external: External) -> int:
        """Integrate steps in C++ and return their number, zero where it cannot be.

        A control with a law in C++ is not called meanwhile, any other one after every step. The
        loop ends before a step that fails, which is left to the schemes in Python.
        """
        control, stepper = self._control, self._stepper
        wrench = self._external.wrench_end_effector
        if (
            control is None
            or steps < 2
            or not isinstance(stepper, CompiledStepper)
            or self._held_friction is not None
            or self._gripped is not None
            or (self._stops is not None and self._stops.near(self._q, self._v, steps * self.dt))
            or self._external.wrench_tools
            or not (wrench is None or self._external.in_tool_axes)
        ):
            return 0
        if self._loop is None:
            self._loop = stepper.closed_loop()
        law = getattr(control, "in_cpp", None)
        found = None if law is None else law()
        if found is None:
            run = partial(self._loop.run_function, control)
        else:
            run = partial(self._loop.run, found[0], *found[1])
        outside = self._external
        b = self._form.model.b
        done = stepper.run_loop(
            run,
            self._solver_state,
            Ports(
                outside.torque,
                outside.wrench_base if b else None,
                wrench,
                friction=self._friction,
            ),
            self._command,
            (0.0, self.dt, self._steps, steps),
        )
        if done.steps == 0:
            return 0
        self._solver_state = done.result.solver_state
        self._q, self._v = stepper.motion(self._solver_state)
        self._steps += done.steps
        for name, energy in done.result.supplied.items():
            self._port_energy[name] += energy
        self._dissipated += done.result.dissipated
        if done.error is not None:
            raise done.error
        self._before = self._with_external(*done.before)
        if done.steps == steps:
            self._external = external
        self._acting = self._with_external(*done.now)
        return done.steps

    def sample(self) -> Sample:
        """Return the present motion, efforts and port energies.

        An effort that changes now is the mean of both sides; the force of a grip is its mean over
        the last step.
        """
        before, acting, model = self._before, self._acting, self._form.model
        wrenches = {
            name: 0.5 * (self._in_its_axes(before, name) + self._in_its_axes(acting, name))
            for name in (model.end_effector, *model.tools)
        }
        if self._gripped is not None:
            wrenches[model.end_effector] += self._gripped.wrench(self._q)
        return Sample(
            self.time,
            self._q,
            self._v,
            0.5 * (before.torque + acting.torque),
            0.5 * (before.wrench_base + acting.wrench_base),
            wrenches.pop(model.end_effector),
            dict(self._port_energy),
            self._dissipated,
            wrenches,
        )

    def acceleration(self) -> Array:
        """Return the acceleration (nv,) of the present motion under the efforts of its sample."""
        now, model = self.sample(), self._form.model
        ports = Ports(
            now.torque,
            now.wrench_base if model.b else None,
            now.wrench_end_effector,
            friction=self._friction,
            wrench_tools=now.wrench_tools or None,
        )
        acting = self._with_held_friction(ports)[1]
        held = acting(self.time, self._form.state(now.q, now.v)) if callable(acting) else acting
        d = model.evaluate(now.q, now.v)
        return np.linalg.solve(d.M, held.force(d) - d.C @ d.v)

    def is_finite(self) -> bool:
        """Return whether the state is finite and every step has succeeded, whole or in parts."""
        return not self.failure and isfinite(self._q.sum() + self._v.sum())

    def _efforts(self) -> Efforts:
        """Return the external efforts and those of the controller together."""
        model = self._form.model
        if self._control is None:
            return self._with_external(np.zeros(model.n), np.zeros(model.b))
        command = self._control(self._q, self._v, self.dt)
        return self._with_external(command.torque, command.wrench_base)

    def _with_external(self, torque: Array, base: Array) -> Efforts:
        """Return efforts of the controller and the external ones together."""
        outside, model = self._external, self._form.model
        self._command = np.array(torque), np.array(base)
        torque = self._command[0] if outside.torque is None else outside.torque + torque
        base = self._command[1] if outside.wrench_base is None else outside.wrench_base + base
        wrenches = {name: each for name, each in outside.wrench_tools.items() if each.value.any()}
        if outside.wrench_end_effector is not None and outside.wrench_end_effector.any():
            wrenches[model.end_effector] = ToolWrench(
                outside.wrench_end_effector, outside.in_tool_axes
            )
        return Efforts(torque, base, wrenches)

    def _ports(self, efforts: Efforts) -> Acting:
        base = efforts.wrench_base if self._form.model.b else None

        def acting(wrenches: dict[str, Array]) -> Ports:
            at_end = wrenches.pop(self._form.model.end_effector, None)
            return Ports(
                efforts.torque,
                base,
                at_end,
                friction=self._friction,
                wrench_tools=wrenches or None,
            )

        if all(wrench.in_tool_axes for wrench in efforts.wrenches.values()):
            return acting({name: wrench.value for name, wrench in efforts.wrenches.items()})

        def turned(t: float, x: PHState) -> Ports:
            model = self._form.model
            return acting({tool: w.at(model, x.q, tool) for tool, w in efforts.wrenches.items()})

        return turned

    def _step(self, ports: Acting) -> tuple[RetriedStep, Array | None]:
        """Return a step, and the torques of the joint stops that act in it, or None."""
        retried, stops = self._step_with(ports), self._stops
        if stops is None:
            return retried, None
        free: tuple[Array, Array] = self._stepper.motion(retried.result.solver_state)
        if not stops.passed(*free, self.dt):
            return retried, None
        pushing = stops.torque((self._q, self._v), free, self.dt)
        return self._step_with(with_torque(ports, pushing)), pushing

    def _step_with(self, ports: Acting) -> RetriedStep:
        def take(acting: Acting) -> RetriedStep:
            return step_with_retry(
                self._stepper, self._solver_state, acting, self.time, self.dt, _HALVINGS
            )

        def motion(step: RetriedStep) -> tuple[Array, Array]:
            found: tuple[Array, Array] = self._stepper.motion(step.result.solver_state)
            return found

        if self._gripped is None:
            return take(ports)
        return self._gripped.step(take, motion, (self._q, self._v), ports, self.dt)

    def _with_held_friction(self, ports: Acting) -> tuple[Array | None, Acting]:
        """Return the torques of held friction and the ports with them; None without it."""
        if self._held_friction is None:
            return None, ports
        start = self._form.state(self._q, self._v)
        gripped = ports if self._gripped is None else self._gripped.with_last_force(ports)
        now = gripped(self.time, start) if callable(gripped) else gripped
        braking = self._held_friction.torque(self._q, self._v, now, self.dt)
        return braking, with_torque(ports, braking)

    def _in_its_axes(self, efforts: Efforts, name: str) -> Array:
        wrench = efforts.wrenches.get(name)
        return np.zeros(6) if wrench is None else wrench.at(self._form.model, self._q, name)

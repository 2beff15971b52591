# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated robot: its engine, the effects on it, and a controller in its loop."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite

import numpy as np

from ..actuation.actuator_dynamics import ActuatorDynamics
from ..actuation.allocation import Actuators
from ..actuation.friction import Friction
from ..arrays import Array
from ..energy.audit import ExergyMap
from ..errors import ModelError, StateError
from ..forms import PHState, Ports, port_names
from ..integrators import IntegrationError
from ..integrators.stepper import Efforts, efforts_at
from .efforts import Actuation, Control, WorldFramePorts, add, wrenches_of
from .engine import Engine, FormEngine, Prediction
from .held_mechanism import HeldMechanism
from .joint_effects import STOP_HORIZON, JointStops, SimulatedForm, held_friction
from .mechanism import Mechanism
from .surroundings import WaterCurrent

_MAX_SPEED_CHANGE = 10.0  # of the speed of a joint by its torque in one step, rad/s


@dataclass(frozen=True)
class Sample:
    """The motion, the efforts and the port energies at one instant.

    Efforts that jump at this instant are given as the mean of both sides: the trapezoidal rule over
    samples then integrates them without error from the jumps.

    Attributes:
        time: simulated time, s.
        q: (nq,) configuration.
        v: (nv,) velocity.
        torque: (n,) total joint torques, N m or N.
        wrench_base: (b,) total wrench at the base in its own axes, N and N m.
        wrench_end_effector: (6,) wrench at the end effector in its own axes, N and N m.
        port_energy: supplied through each port since the last reset, J.
        dissipated: energy dissipated by friction and joint stops since then, J.
        wrench_tools: (6,) total wrench at each tool in its own axes, by name.
    """

    time: float
    q: Array
    v: Array
    torque: Array
    wrench_base: Array
    wrench_end_effector: Array
    port_energy: Mapping[str, float]
    dissipated: float
    wrench_tools: Mapping[str, Array] = field(default_factory=dict)

    @property
    def ports(self) -> Ports:
        """The efforts at all ports."""
        base = self.wrench_base if self.wrench_base.size else None
        tools = dict(self.wrench_tools) or None
        return Ports(self.torque, base, self.wrench_end_effector, wrench_tools=tools)


class Simulation:
    """Integrates a robot with its efforts held over each step, as digital controllers do.

    Engine and effects combine freely: friction and stops of the joints, actuators of the base, a
    mechanism in the grip, a current of the water, and inertias that change on the way.

    Attributes:
        form: of the robot.
        dt: integrator and control step, s.
        engine: takes the steps.
        actuation: the actuators of the base in time; None where the base has ideal ones.
        mechanism: mechanism in the grip of the end effector, or None.
        current: current of the water around the robot, or None.
        q, v: (nq,) and (nv,) present motion, as seen from the water.
        steps: number of steps since the last reset.
        resets: number of resets to the start.
        failures: number of failed steps since then, which were repeated in halves.
        failure: why the simulation cannot go on from its last state; empty while it can.
    """

    def __init__(
        self,
        form: SimulatedForm,
        q: Array,
        dt: float,
        control: Control | None = None,
        friction: bool | Friction = False,
        *,
        joint_stops: bool = False,
        actuators: Actuators | None = None,
        mechanism: Mechanism | None = None,
        current: WaterCurrent | None = None,
        start_velocity: Array | None = None,
        engine: Engine | None = None,
    ) -> None:
        """Start at rest, or with a velocity.

        Args:
            form: of the robot; one with velocity constraints runs in Python.
            q: (nq,) configuration at the start and after a reset.
            dt: integrator and control step, s.
            control: the controller in the loop; None for external efforts alone.
            friction: whether the joints' friction of the description acts, or other friction; it is
                held over each step where it is too stiff for the engine, see
                :func:`.held_friction`.
            joint_stops: whether the joints' limits are stops, see :class:`.JointStops`.
            actuators: of the base, to which its wrench is allocated: it acts with their lag, dead
                zone, limits and failures, and their energy is accounted for; None for ideal ones.
            mechanism: whose handle the end effector holds where it is at the start; the force of
                the grip is part of the port ``wrench_end_effector``.
            current: of the water; the motion is integrated in the frame of the water, and
                controller and samples have that over ground.
            start_velocity: (nv,) at the start and after a reset; at rest over ground when None.
            engine: takes the steps; the default scheme of the robot when None.

        Raises:
            OptionError: there is no such scheme, or the current is not one of this robot.
            ModelError: the engine does not cover this robot, or the actuators are for another base.
        """
        self.form, self.dt, self.current = form, dt, current
        self.engine = FormEngine() if engine is None else engine
        self._home, self._control = q, control
        self._joint_friction, self._has_stops = friction, joint_stops
        if current is not None:
            current.check(form.model)
        if start_velocity is None:
            start_velocity = np.zeros(form.model.nv)
            if current is not None:
                start_velocity = current.relative_velocity(form.model, q, start_velocity)
        self._start_velocity, self.q = start_velocity, q
        self._assemble(form)
        self.actuation: ActuatorDynamics | None = None
        if actuators is not None:
            self._check_actuators(actuators)
            self.actuation = ActuatorDynamics(actuators, dt)
        ground_velocity = None if current is None else -current.velocity
        self.mechanism = None if mechanism is None else HeldMechanism(mechanism, ground_velocity)
        self.resets = -1
        self.reset()

    def _check_actuators(self, actuators: Actuators) -> None:
        model = self.form.model
        if actuators.base != model.base:
            raise ModelError(
                f"the actuators are those of a {actuators.base} base; that of '{model.name}' "
                f"is {model.base}"
            )
        if self.engine.drives_base:
            raise ModelError(
                f"the engine {self.engine.name} drives the base by drives of its own; leave out "
                "the actuators"
            )

    def _assemble(self, form: SimulatedForm) -> None:
        self.form = form
        friction = self._joint_friction or None
        if friction is True:
            friction = Friction.from_model(form.model)
        effects = self.engine.assemble(form, self.q, self.dt, friction, self._has_stops)
        self._friction, self._held_friction = effects.friction, effects.held_friction
        joint_stops = JointStops(form)
        self._stops = joint_stops if effects.joint_stops and joint_stops.has_limits else None

    def change_robot(self, form: SimulatedForm, v: Array) -> None:
        """Go on with other inertias, as when the robot takes a body, from where it is.

        Args:
            form: of the robot, in the same coordinates.
            v: (nv,) velocity now.
        """
        self._assemble(form)
        self.engine.start(self.q, v, self.time)
        self.q, self.v = self.engine.motion()
        if self.mechanism is not None:
            self.mechanism.form = form

    def reset(self, form: SimulatedForm | None = None) -> None:
        """Return to the start, without external efforts; port energies begin at zero.

        Failures of actuators remain.

        Args:
            form: with other inertias in the same coordinates; as before when None.
        """
        if form is not None:
            self._assemble(form)
        model = self.form.model
        self._external: Efforts = Ports()
        self.engine.reset()
        self.engine.start(self._home, self._start_velocity, 0.0)
        self.q, self.v = self.engine.motion()
        self.steps, self.failures, self.failure = 0, 0, ""
        self._port_energy = dict.fromkeys((*port_names(model), *self.engine.ports), 0.0)
        self._dissipated = 0.0
        self.resets += 1
        if self.actuation is not None:
            self.actuation.reset()
            self.actuation.settle(model.evaluate(self._home, np.zeros(model.nv)).g[: model.b])
        if self.mechanism is not None:
            self.mechanism.reset(self.form, self.q, self.v)
        self._update_control()
        self._store_efforts()
        self._start_energy = self._mechanical_energy()
        self._start_stored_energy = sum(self._stored_energies().values())

    @property
    def time(self) -> float:
        """Simulated time since the last reset, s."""
        return self.steps * self.dt

    @property
    def twist(self) -> Array:
        """Twist of the base in its own axes, (b,)."""
        return self.v[: self.form.model.b]

    def apply(self, efforts: Efforts) -> None:
        """Apply external efforts from now on instead of from the next sample.

        Args:
            efforts: besides those of the controller; torque and base wrench are held over each
                step, and wrenches follow the motion where it is a function of time and state.
        """
        self._external = efforts
        self._apply_command(self._command)

    def advance(self, steps: int, efforts: Efforts | None = None) -> None:
        """Integrate a number of steps.

        A step that fails leaves the simulation at its last state, with the reason in ``failure``;
        it goes on after a :meth:`reset`.

        Args:
            steps: their number.
            efforts: efforts from their end on, at the next sample; as before when None.
        """
        if self._stops is not None:
            # The loop in C++ knows of no stops, and may not run longer than they can be foreseen.
            most_steps = max(1, int(STOP_HORIZON / self.dt))
            while steps > most_steps and not self.failure:
                self._advance(most_steps, None)
                steps -= most_steps
        self._advance(steps, efforts)

    def _advance(self, steps: int, efforts: Efforts | None) -> None:
        completed_steps = 0 if self.failure else self._advance_in_cpp(steps, efforts)
        for k in range(completed_steps, 0 if self.failure else steps):
            self._store_efforts()
            try:
                self._step()
            except (IntegrationError, StateError) as error:
                self.failure = f"{error}{self._light_joint_hint()}"
                return
            if k == steps - 1 and efforts is not None:
                self._external = efforts
            self._update_control()

    def _light_joint_hint(self) -> str:
        """Return which joint without a rotor is too light for its torque in a step, in words."""
        model = self.form.model
        torque = np.minimum(np.abs(self.sample().torque), model.joints.effort)
        mobility = np.diag(np.linalg.inv(model.evaluate(self.q, self.v).M))[model.b :]
        speed_change = np.where(model.armature, 0.0, torque * mobility * self.dt)
        if not model.n or not speed_change.max() > _MAX_SPEED_CHANGE:
            return ""
        k = int(np.argmax(speed_change))
        unit = "kg" if model.joints.prismatic[k] else "kg m^2"
        return (
            f"; '{model.joint_names[k]}' moves {1.0 / mobility[k]:.2g} {unit} and no rotor: state "
            'armature="..." of its motor in <dynamics>'
        )

    def _step(self) -> None:
        """Integrate one step under the efforts that are in force."""
        efforts, friction_torque, stop_torque = self._step_efforts(), None, None
        if self._held_friction is not None:
            friction_torque = self._friction_torque(efforts)
            efforts = add(efforts, Ports(friction_torque))
        step = self._predict(efforts)
        if self._stops is not None and self._stops.lacks_braking_distance(step.q, step.v, self.dt):
            stop_torque = self._stops.torque((self.q, self.v), (step.q, step.v), self.dt)
            step = self._predict(add(efforts, Ports(stop_torque)))
        self.engine.accept(step, self._applied_efforts, friction_torque, stop_torque)
        model = self.form.model
        if self.actuation is not None:
            work = step.supplied["wrench_base"]
            self.actuation.commit(work, self.twist, step.v[: model.b])
        if self.mechanism is not None:
            self.mechanism.commit()
        self._add_energies(step.supplied, step.dissipated)
        for torque in (friction_torque, stop_torque):
            if torque is not None:
                work = float(torque @ model.difference(self.q, step.q)[model.b :])
                self._add_energies({"torque": -work}, -work)
        self.q, self.v = step.q, step.v
        self.steps += 1
        self.failures += step.failures

    def _add_energies(self, supplied_energy: Mapping[str, float], dissipated_energy: float) -> None:
        for name, energy in supplied_energy.items():
            if name in self._port_energy:
                self._port_energy[name] += energy
        self._dissipated += dissipated_energy

    def _advance_in_cpp(self, steps: int, next_efforts: Efforts | None) -> int:
        """Take steps at once where nothing happens between them; return their number."""
        controller, external_ports = self._control, self._external
        if (
            controller is None
            or steps < 2
            or callable(external_ports)
            or self.actuation is not None
            or self.mechanism is not None
            or self.current is not None
            or self._held_friction is not None
            or (self._stops is not None and self._stops.is_near(self.q, self.v, steps * self.dt))
        ):
            return 0
        wrench_base = external_ports.wrench_base if self.form.model.b else None
        external_ports = replace(external_ports, wrench_base=wrench_base, friction=self._friction)
        step_range = (0.0, self.dt, self.steps, steps)
        loop_steps = self.engine.run_loop(controller, external_ports, self._command, step_range)
        if loop_steps is None or loop_steps.result.steps == 0:
            return 0
        self.q, self.v = self.engine.motion()
        self.steps += loop_steps.result.steps
        self._add_energies(loop_steps.result.supplied, loop_steps.result.dissipated)
        if loop_steps.control_error is not None:
            raise loop_steps.control_error
        self._apply_command(loop_steps.last_efforts)
        self._store_efforts()
        if loop_steps.result.steps == steps and next_efforts is not None:
            self._external = next_efforts
        self._apply_command(loop_steps.next_efforts)
        return loop_steps.result.steps

    def sample(self) -> Sample:
        """Return the present motion over ground, efforts and port energies.

        An effort that changes now is the mean of both sides; the force of a grip is its mean over
        the last step.
        """
        model = self.form.model
        wrenches = {name: np.zeros(6) for name in (model.end_effector, *model.tools)}
        for efforts in (self._previous_external, self._external):
            present_wrenches = wrenches_of(self._present_efforts(efforts), model.end_effector)
            for name, wrench in present_wrenches.items():
                wrenches[name] += 0.5 * wrench
        if self.mechanism is not None:
            wrenches[model.end_effector] += self.mechanism.wrench(self.q)
        efforts_twice = self._previous_efforts + self._applied_efforts
        assert efforts_twice.torque is not None  # commands have both
        assert efforts_twice.wrench_base is not None
        return Sample(
            self.time,
            *self._motion_over_ground(),
            0.5 * efforts_twice.torque,
            0.5 * efforts_twice.wrench_base,
            wrenches.pop(model.end_effector),
            dict(self._port_energy),
            self._dissipated,
            wrenches,
        )

    def acceleration(self) -> Array:
        """Return the acceleration (nv,) of the present motion under the efforts of its sample."""
        ports = replace(self.sample().ports, friction=self._friction)
        if self._held_friction is not None:
            ports += Ports(self._friction_torque(ports))
        d = self.form.model.evaluate(self.q, self.v)
        return np.linalg.solve(d.M, ports.force(d) - d.C @ d.v)

    def is_finite(self) -> bool:
        """Return whether the state is finite and every step has succeeded, whole or in parts."""
        return not self.failure and isfinite(self.q.sum() + self.v.sum())

    def unaccounted_energy(self) -> float:
        """Return the error of the energy balance of the robot's motion since the last reset, J."""
        stored_energy = self._mechanical_energy() - self._start_energy
        return stored_energy - sum(self._port_energy.values()) + self._dissipated

    def exergy_map(self) -> ExergyMap:
        """Return where exergy is now, and where it has gone since the last reset.

        The supply of actuators is a store that has lost what it gave. Without temperatures in the
        model, energy that is lost counts as exergy destroyed.
        """
        stored, destroyed = self._stored_energies(), self.engine.destroyed()
        supplied = dict(sorted(self._port_energy.items()))
        if destroyed is None:
            destroyed = {"joints_and_drag": self._dissipated}
        else:  # shafts and actuators are within what the engine accounts for
            del supplied["torque"], supplied["wrench_base"]
        if self.actuation is not None:
            supplied.pop("wrench_base", None)
            destroyed |= self.actuation.losses()
        residual = sum(stored.values()) - self._start_stored_energy - sum(supplied.values())
        residual += sum(destroyed.values())
        return ExergyMap(self.time, stored, destroyed, supplied, residual, *self.engine.electric())

    def diagnostics(self) -> dict[str, object]:
        """Return what actuators, mechanism and engine do, in words."""
        report: dict[str, object] = {}
        if self.mechanism is not None:
            report["angle of the mechanism (rad)"] = f"{self.mechanism.angle:.4g}"
        if self.actuation is not None:
            missing_wrench = float(np.abs(self.actuation.step_efforts.missing_wrench).max())
            report["energy from the supply (J)"] = f"{self.actuation.electric_energy:.4g}"
            report["wrench beyond the actuators (N, N m)"] = f"{missing_wrench:.3g}"
            if self.actuation.failed_inputs:
                report["failed actuators"] = ", ".join(self.actuation.failed_inputs)
        return report | self.engine.diagnostics()

    def _mechanical_energy(self) -> float:
        d = self.form.model.evaluate(self.q, self.v)
        return d.kinetic_energy + d.potential_energy

    def _stored_energies(self) -> dict[str, float]:
        d = self.form.model.evaluate(self.q, self.v)
        stored = {"kinetic": d.kinetic_energy, "potential": d.potential_energy}
        if self.actuation is not None:
            stored["spinning"] = self.actuation.kinetic_energy
            stored["supply"] = -self.actuation.electric_energy
        return stored | self.engine.stored_energies()

    def _motion_over_ground(self) -> tuple[Array, Array]:
        if self.current is None:
            return self.q, self.v
        return self.current.motion_over_ground(self.form.model, self.q, self.v, self.time)

    def _store_efforts(self) -> None:
        """Keep the efforts in force, for the sample at the end of the step."""
        self._previous_efforts, self._previous_external = self._applied_efforts, self._external

    def _update_control(self) -> None:
        """Call the controller, and put its efforts and the external ones in force."""
        model = self.form.model
        command: Actuation = Ports()
        if self._control is not None:
            command = self._control(*self._motion_over_ground(), self.dt)
        torque, base = command.torque, command.wrench_base
        torque = np.zeros(model.n) if torque is None else np.array(torque)
        self._apply_command(Ports(torque, np.zeros(model.b) if base is None else np.array(base)))

    def _apply_command(self, command: Ports) -> None:
        """Put efforts of the controller in force, as far as drives and actuators give them."""
        self._command = command
        external_efforts = self._external
        if isinstance(external_efforts, WorldFramePorts):  # only its wrenches follow the motion
            external_efforts = external_efforts.ports
        external_efforts = self._present_efforts(external_efforts)
        total_efforts = command + Ports(external_efforts.torque, external_efforts.wrench_base)
        applied_efforts = self.engine.limit(total_efforts, self.v)
        if self.actuation is not None:
            assert applied_efforts.wrench_base is not None  # the actuators' base has one
            efforts = self.actuation.allocate(applied_efforts.wrench_base, self.twist)
            has_momentum = self.actuation.has_momentum
            base_wrench = efforts.wrench_at(0.0, self.twist) if has_momentum else efforts.wrench
            applied_efforts = replace(applied_efforts, wrench_base=base_wrench)
        self._applied_efforts = applied_efforts

    def _present_efforts(self, efforts: Efforts) -> Ports:
        if not callable(efforts):  # the state takes as long as the rest of a sample
            return efforts
        return efforts(self.time, self.form.state(self.q, self.v))

    def _step_efforts(self) -> Efforts:
        """Return the efforts of a step, without held friction and joint stops."""
        external, applied_efforts, friction = self._external, self._applied_efforts, self._friction
        b, actuation, start_time = self.form.model.b, self.actuation, self.time

        def ports_of_step(ports: Ports, base_wrench: Array | None) -> Ports:
            wrench, tools = ports.wrench_end_effector, ports.wrench_tools
            if wrench is not None and not wrench.any():
                wrench = None
            if tools:
                tools = {name: w for name, w in tools.items() if w.any()}
            base_wrench = base_wrench if b else None
            torque, gravity, drag = applied_efforts.torque, ports.gravity, ports.drag
            return Ports(torque, base_wrench, wrench, gravity, friction, drag, tools or None)

        if actuation is None or not actuation.has_momentum or b == 3:
            if callable(external):
                return lambda t, x: ports_of_step(external(t, x), applied_efforts.wrench_base)
            return ports_of_step(external, applied_efforts.wrench_base)
        actuator_efforts = actuation.step_efforts

        def ports_with_spins(t: float, x: PHState) -> Ports:
            """Return efforts with the gyroscopic moment of spinning parts during the motion."""
            base = actuator_efforts.wrench_at(t - start_time, self.form.velocity(x)[:6])
            return ports_of_step(efforts_at(external, t, x), base)

        return ports_with_spins

    def _predict(self, efforts: Efforts) -> Prediction:
        def predict(efforts: Efforts) -> Prediction:
            return self.engine.predict(efforts, self.time, self.dt)

        if self.mechanism is None:
            return predict(efforts)
        return self.mechanism.predict(predict, (self.q, self.v), efforts, self.dt)

    def _friction_torque(self, efforts: Efforts) -> Array:
        """Return the torques of held friction for a step, (n,)."""
        assert self._held_friction is not None
        if self.mechanism is not None:
            efforts = self.mechanism.with_last_force(efforts)
        ports = self._present_efforts(efforts)
        friction = self.engine.present_friction(self._held_friction)
        return held_friction(self.form, friction, self.q, self.v, ports, self.dt)

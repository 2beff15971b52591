# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Simulation of a closed loop in one call."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vms_ph_controllers import Command, ControlEnergy, EnergyGuard, RobotState
from vms_ph_controllers.guard import PortGuard
from vms_ph_controllers.hosting.loop_control import GravityCompensatedLaw, Law, LoopControl, Sensor
from vms_ph_dynamics import Allocation, VMSModel
from vms_ph_dynamics.actuation import Actuators, Friction
from vms_ph_dynamics.arrays import frozen, vector
from vms_ph_dynamics.errors import OptionError, StateError, check_arguments
from vms_ph_dynamics.forms import Form, Ports, StandardForm, port_names
from vms_ph_dynamics.integrators.stepper import Efforts
from vms_ph_dynamics.nonholonomic import NonholonomicForm
from vms_ph_dynamics.simulation import (
    Engine,
    FormEngine,
    Mechanism,
    Payload,
    Sample,
    Simulation,
    WaterCurrent,
    in_world_axes,
)
from vms_ph_dynamics.simulation.efforts import add

from .. import drivers, robots
from ..descriptions.urdf import load_urdf
from ..settings.remedies import remedies
from ..tasks.payload_use import PayloadUse
from ..tasks.uncertainty import Uncertainty
from .trajectory import Energies, SimulationStopped, Trajectory

# Least rate of the steps of a simulated arm with a driver, Hz.
_DRIVER_RATE = 1000.0

_EFFECT_NAMES: dict[type, str] = {
    Actuators: "actuators",
    Friction: "friction",
    Mechanism: "mechanism",
    Payload: "payload",
    WaterCurrent: "current",
    Engine: "engine",
}
_EFFECTS = (
    '"friction", "joint_stops", "actuators" (those of a bundled robot), or an object: Actuators or '
    "Friction of vms_ph_dynamics.actuation; Engine, Mechanism, Payload or WaterCurrent of "
    "vms_ph_dynamics.simulation"
)


@dataclass(frozen=True, eq=False)
class Push:
    """An effort at a port for some time.

    Attributes:
        port: name of a power port: ``torque``, ``wrench_base``, ``wrench_end_effector`` or a tool.
        effort: torques (n,), wrench on the base (b,), or a wrench (6,), linear first, N and N m.
        start: s.
        duration: s; to the end of the run when None.
        axes: ``"own"`` for those of the frame, ``"world"`` for inertial axes, in which the wrench
            keeps its direction.

    Raises:
        OptionError: times or axes are not valid.

    Examples:
        >>> from vms_ph_io import simulate
        >>> push = Push("wrench_end_effector", [0, 0, -10, 0, 0, 0], duration=0.05, axes="world")
        >>> simulate("panda", None, 0.05, disturbances=[push], effects=["friction"])
        Trajectory(panda, 0.05 s, energy balance closed)
    """

    port: str
    effort: npt.ArrayLike
    start: float = 0.0
    duration: float | None = None
    axes: str = "own"

    def __post_init__(self) -> None:
        """Check times and axes."""
        if self.axes not in ("own", "world"):
            raise OptionError(f"axes of a Push are 'own' or 'world'; given: '{self.axes}'")
        if not self.start >= 0.0 or (self.duration is not None and not self.duration >= 0.0):
            raise OptionError(f"start and duration >= 0 s; given: {self.start}, {self.duration}")

    def ports(self, model: VMSModel) -> Efforts:
        """Return the push as efforts at the ports of a robot.

        Raises:
            OptionError: the robot has no such port, or the effort has another size.
        """
        names = port_names(model)
        if self.port not in names:
            raise OptionError(
                f"'{self.port}' is no port of '{model.name}'; its ports are {', '.join(names)}, of "
                f"which wrench_end_effector is at '{model.end_effector}'. A further frame becomes "
                "a port by model.with_tools([name])"
            )
        sizes = {"torque": model.n, "wrench_base": model.b}
        size = sizes.get(self.port, 6)
        try:
            effort = vector(self.effort, size, self.port)
        except StateError as error:
            hints = {0: "its base is fixed", 3: "force x, y, moment"}
            hint = hints.get(size, "force x, y, z, moment x, y, z")
            if self.port == "torque":
                hint = f"its joints are {', '.join(model.joint_names)}"
            raise OptionError(f"{error}; {hint}") from None
        is_tool = self.port not in (*sizes, "wrench_end_effector")
        effort_by_port: dict[str, Any] = {self.port: effort}
        ports = Ports(wrench_tools=effort_by_port) if is_tool else Ports(**effort_by_port)
        if self.axes == "own" or self.port in sizes:
            return ports
        frame = model.end_effector if self.port == "wrench_end_effector" else self.port
        return in_world_axes(model, ports, [frame])

    def acts_at(self, time: float) -> bool:
        """Return whether the push acts at a time, s."""
        return self.start - 1e-9 <= time < self.end - 1e-9

    @property
    def end(self) -> float:
        """When the push ends, s; infinite where it acts to the end of the run."""
        return np.inf if self.duration is None else self.start + self.duration


@check_arguments(remedies("simulate"))
def simulate(
    robot: str | Path | VMSModel | Form | NonholonomicForm,
    law: Law | None = None,
    seconds: float = 1.0,
    *,
    reference: Any = None,
    disturbances: Push | Iterable[Push] = (),
    guard: EnergyGuard | None = None,
    rate: float | None = None,
    q: npt.ArrayLike | None = None,
    v: npt.ArrayLike | None = None,
    effects: Iterable[Any] = (),
    scheme: str | None = None,
    native: bool | None = None,
    uncertainty: Uncertainty | None = None,
    seed: int | None = None,
    stride: int = 1,
    driver: str | drivers.Driver | None = None,
) -> Trajectory:
    """Return the motion of a robot under a law, with its energies at every port.

    Args:
        robot: name of a bundled robot, path of a description, model or form.
        law: a controller: its class, an object of the class or its name; a function
            ``(q, v, dt)`` that returns torques (n,), base wrench and torques (nv,), or a record
            with ``torque`` and ``wrench_base``; None for no efforts.
        seconds: duration, s.
        reference: of the law: a :class:`.Reference`, a position (3,) or pose (4,4), a function of
            time that returns one of these, or a trajectory whose joints are followed.
        disturbances: efforts at ports for some time, one or several.
        guard: limits the energy that the law gives, ``EnergyGuard(budget=1.0)``.
        rate: of law and integrator, Hz; that of the driver, or 1000, when None. With a driver the
            integrator takes steps of at most 1 ms.
        q: (nq,) configuration at the start; the home of the robot when None.
        v: (nv,) velocity at the start; at rest when None.
        effects: on the robot, one or several: ``"friction"``, ``"joint_stops"``, ``"actuators"``,
            or an :class:`.Actuators`, :class:`.Friction`, :class:`.Mechanism`, :class:`.Payload`,
            :class:`.WaterCurrent` or :class:`.Engine`. For wheels that do not slip, give their
            form as ``robot``. The friction of the description does not act where the driver
            compensates it; a :class:`.Friction` is what then remains.
        scheme: of the integrator, one of :data:`.integrators.SCHEMES`.
        native: whether the scheme runs in C++; where it can when None.
        uncertainty: what the law does not know of robot and start, and how it measures.
        seed: of the draws of the uncertainty.
        stride: number of steps between records.
        driver: of a real arm, by its name in ``drivers.names()``, with its rate and delay, the
            limits of its torques and of their rate, and its gravity compensation: the port
            ``driver_weight``. ``limited`` of the trajectory says what it limits.

    Raises:
        OptionError: an argument is not accepted; the message says what is.
        ControlFault: the law raised, or returned no efforts of the robot; the message names the
            law, the time and the cause.
        SimulationStopped: the motion cannot be integrated; it holds the trajectory up to there.

    Examples:
        >>> from vms_ph_controllers import CartesianImpedance
        >>> from vms_ph_io import Push
        >>> push = Push("wrench_end_effector", [0, 20, 0, 0, 0, 0], start=0.1, duration=0.1)
        >>> simulate("panda", CartesianImpedance, 0.3, disturbances=[push]).audit
        EnergyBalance(300 intervals: stored 0.01256 J, supplied 0.01256 J, dissipated 0 J, closed)
    """
    arm_driver = None if driver is None else drivers.get(driver)
    if rate is None:
        rate = 1000.0 if arm_driver is None else arm_driver.rate
    if not (0.0 < seconds < np.inf and 0.0 < rate < np.inf and round(seconds * rate) > 0):
        text = "seconds and rate must be above zero and give a step of 1/rate s or more; given: "
        text += f"seconds={seconds}, rate={rate} Hz"
        raise OptionError(text)
    if stride < 1:
        raise OptionError(f"stride must be at least 1; given: {stride}")
    pushes = tuple(_as_iterable(disturbances))
    if non_pushes := [push for push in pushes if not isinstance(push, Push)]:
        raise OptionError(
            "a disturbance is Push(port, effort, start=0.5, duration=0.3) with the name of a port; "
            f"given: {non_pushes[0]!r}"
        )
    form, allocation = _form_and_allocation(robot)
    options = dict(_effect_option(e, form.model) for e in _as_iterable(effects))
    if "actuators" in options:
        allocation, root = options["actuators"].allocation, form.model.link_names[0]
        if any(push.port == "wrench_base" for push in pushes):
            text = f"with actuators, wrench_base is what they give; push '{root}' as a tool: "
            raise OptionError(f"{text}model.with_tools(['{root}']) and Push('{root}', ...)")
    if arm_driver is not None and arm_driver.compensates_friction:
        options = {name: x for name, x in options.items() if (name, x) != ("friction", True)}
    control, substeps = None, 1
    if law is not None:
        wheel_form = form if isinstance(form, NonholonomicForm) else None
        law_model = form.model
        if arm_driver is not None:
            law_model, law = arm_driver.model(law_model), arm_driver.law(law, law_model)
        elif form.model.gravity.any() and _has_model_without_gravity(law):
            raise OptionError(
                "this law was made for a robot without gravity, such as driver.model(robot): this "
                "robot would fall; give driver='franka_fr3' or another that compensates gravity, "
                "or make the law for the robot itself"
            )
        for energy_guard in (guard, law):
            if isinstance(energy_guard, EnergyGuard):
                energy_guard.make_guard = PortGuard if arm_driver is None else arm_driver.guard
        control = LoopControl(law_model, law, guard, reference, allocation, wheel_form)
        if arm_driver is not None:
            torque, delay = arm_driver.torque or law_model.joints.effort, round(arm_driver.delay)
            substeps = ceil(_DRIVER_RATE / rate)
            control.act_through(np.array(torque), arm_driver.torque_rate, delay, substeps)
    elif guard is not None or arm_driver is not None:
        raise OptionError("guard and driver need a law; give law=, or leave them out")
    options.setdefault("engine", FormEngine(scheme, native))
    uncertainty = Uncertainty() if uncertainty is None else uncertainty
    if not isinstance(uncertainty, Uncertainty):
        text = "an uncertainty is Uncertainty(mass=..., noise=..., delay=...) of "
        raise OptionError(f"{text}vms_ph_io.tasks.uncertainty; given: {uncertainty!r}")
    if seed is not None:
        uncertainty = replace(uncertainty, seed=seed)
    if isinstance(form, NonholonomicForm) and "payload" in options:
        raise OptionError("a payload is for robots without wheels that do not slip")
    run = _Run(form, control, options, 1.0 / (rate * substeps), q, v, uncertainty, arm_driver)
    return run.trajectory(round(seconds * rate) * substeps, stride * substeps, pushes)


class _Run:
    """One run of a robot, with or without a law."""

    def __init__(
        self,
        form: Form | NonholonomicForm,
        control: LoopControl | None,
        options: dict[str, Any],
        dt: float,
        q: npt.ArrayLike | None,
        v: npt.ArrayLike | None,
        uncertainty: Uncertainty,
        driver: drivers.Driver | None = None,
    ) -> None:
        """Put the robot where it starts, with the options of its simulation."""
        self._control, self._dt, self._urdf, model = control, dt, form.model.urdf, form.model
        self._records: list[tuple[Sample, Energies, Command | None]] = []
        payload = options.pop("payload", None)
        q0 = model.home if q is None else model.checked_configuration(vector(q, model.nq, "q"))
        q0 = uncertainty.start_configuration(model, np.array(q0))
        v0 = None if v is None else vector(v, model.nv, "v")
        self._payload_use = None if payload is None else PayloadUse(payload, model, q0)
        if payload is not None and payload.in_model and control is not None:
            control.check_new_model()
        law: Callable[..., Any] | None = control
        if control is not None:
            control.reset(q0, np.zeros(model.nv) if v0 is None else v0)
            noise, delay = uncertainty.noise, uncertainty.delay
            if noise or delay:
                step = dt * control.substeps
                control.sensor = Sensor(model, step, noise, delay, uncertainty.seed)
        self._compensated_law: GravityCompensatedLaw | None = None
        if driver is not None and driver.compensates_weight:
            law = self._compensated_law = GravityCompensatedLaw(law, model)
        self._unloaded_plant = plant = uncertainty.plant(model)
        if plant is not model:
            if isinstance(form, NonholonomicForm):
                text = "an uncertainty of mass or inertia is for robots without wheels that do not "
                raise OptionError(f"{text}slip; give as robot the form of the changed model")
            form = StandardForm(plant)
        self._simulation = Simulation(form, q0, dt, law, start_velocity=v0, **options)

    def trajectory(self, steps: int, record_interval: int, pushes: Sequence[Push]) -> Trajectory:
        """Return the motion, recorded at an interval in steps."""
        simulation, dt = self._simulation, self._dt
        with np.errstate(over="ignore"):  # the integrator reports efforts that are too large
            efforts = {push: push.ports(simulation.form.model) for push in pushes}
        times = [time for push in pushes for time in (push.start, push.end)]
        payload_times = () if self._payload_use is None else self._payload_use.change_times
        payload_steps = {max(1, round(time / dt)) for time in payload_times}
        change_steps = payload_steps | {round(time / dt) for time in times if time < np.inf}
        simulation.apply(_total_efforts(efforts, 0.0))
        self._record()
        while simulation.steps < steps:
            step = simulation.steps
            record_step = step - step % record_interval + record_interval
            end_step = min([steps, record_step, *(k for k in change_steps if k > step)])
            simulation.advance(end_step - step, _total_efforts(efforts, end_step * dt))
            if simulation.failure or not simulation.is_finite():
                raise SimulationStopped(
                    f"the motion cannot be integrated beyond {simulation.time:.6g} s: "
                    f"{simulation.failure or 'the state is not finite'}; the error holds the "
                    "trajectory up to there",
                    self._recorded_run(),
                )
            if self._payload_use is not None and end_step in payload_steps:
                self._payload_use.change(simulation, self._unloaded_plant)
                if self._control is not None:
                    law_model = self._payload_use.law_model(self._control.model)
                    self._control.use_model(law_model, RobotState(simulation.q, simulation.v))
            if end_step % record_interval == 0 or end_step == steps:
                self._record()
        return self._recorded_run()

    def _record(self) -> None:
        """Record the present sample, its energies and powers, and the command of the law."""
        sample, command = self._sample(), None if self._control is None else self._control.command
        self._records.append((sample, self._energies_and_powers(sample), command))

    def _sample(self) -> Sample:
        """Return the present sample; the port of a payload supplies the energy of the payload."""
        sample, payload_use = self._simulation.sample(), self._payload_use
        port_energy, dissipated_energy = dict(sample.port_energy), sample.dissipated
        if self._compensated_law is not None:
            port_energy["driver_weight"] = self._compensated_law.driver_work
            port_energy["torque"] -= self._compensated_law.driver_work
        if payload_use is not None:
            port_energy["payload"] = payload_use.initial_energy - payload_use.final_energy
            dissipated_energy += sum(payload_use.losses.values())
        return replace(sample, port_energy=port_energy, dissipated=dissipated_energy)

    def _energies_and_powers(self, sample: Sample) -> Energies:
        """Return kinetic and potential energy, J, and the power at each port, W.

        In a current they are, as the energies of the integrator, those seen from the water.
        """
        d = self._simulation.form.model.evaluate(self._simulation.q, self._simulation.v)
        power = sample.ports.supplied(d)
        if self._compensated_law is not None:
            power["driver_weight"] = float(self._compensated_law.driver_torque @ d.v)
            power["torque"] -= power["driver_weight"]
        return d.kinetic_energy, d.potential_energy, power

    def _recorded_run(self) -> Trajectory:
        samples, energies, commands = (list(series) for series in zip(*self._records, strict=True))
        certificate = None if self._control is None else self._control.certificate
        model = self._simulation.form.model
        trajectory = Trajectory.from_samples(model, samples, energies, certificate, self._urdf)
        if self._payload_use is not None:
            trajectory = replace(trajectory, missed_payload=self._payload_use.miss_reason)
        if self._control is None:
            return trajectory
        names = [field.name for field in fields(ControlEnergy)]
        series = {name: [getattr(command.energy, name) for command in commands] for name in names}
        for name in ("status", "smallest_singular_value"):
            series[name] = [getattr(command, name) for command in commands]
        control_series = {name: frozen(np.array(values)) for name, values in series.items()}
        return replace(trajectory, limited=self._control.limited, control=control_series)


def _form_and_allocation(robot: Any) -> tuple[Form | NonholonomicForm, Allocation | None]:
    """Return the form of a robot, and how its base is actuated."""
    if isinstance(robot, Form | NonholonomicForm):
        return robot, None
    if isinstance(robot, VMSModel):
        return StandardForm(robot), None
    if isinstance(robot, str) and not ({".", "/"} & set(robot) or Path(robot).exists()):
        bundled_robot = robots.get(robot)
        return StandardForm(bundled_robot.load()), bundled_robot.allocation()
    if isinstance(robot, str | Path):
        return StandardForm(load_urdf(robot)), None
    raise OptionError(
        "a robot is the name of a bundled one, the path of a description, a VMSModel or a form; "
        f"given: {type(robot).__name__}. robots.names() lists the bundled ones"
    )


def _has_model_without_gravity(law: Any) -> bool:
    """Return whether a law has a model of its own, without gravity."""
    model = getattr(law, "model", None)
    return isinstance(model, VMSModel) and not model.gravity.any()


def _as_iterable(items: Any) -> Iterable[Any]:
    return items if isinstance(items, Iterable) and not isinstance(items, str) else [items]


def _effect_option(effect: Any, model: VMSModel) -> tuple[str, Any]:
    """Return the argument of :class:`.Simulation` for an effect, by name and value."""
    if effect in ("friction", "joint_stops"):
        return effect, True
    if effect == "actuators":
        return effect, robots.get(robots.known_as(model.name)).own_actuators()
    for kind, name in _EFFECT_NAMES.items():
        if isinstance(effect, kind):
            return name, effect
    raise OptionError(f"an effect is {_EFFECTS}; given: {effect!r}")


def _total_efforts(efforts_by_push: dict[Push, Efforts], time: float) -> Efforts:
    """Return the sum of the pushes that act at a time, s."""
    active_efforts = (efforts for push, efforts in efforts_by_push.items() if push.acts_at(time))
    no_effort: Efforts = Ports()
    return reduce(add, active_efforts, no_effort)

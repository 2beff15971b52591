# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated robot of bodies, joints, motors, a battery and heat."""

from dataclasses import replace

import numpy as np

from vms_ph_dynamics.actuation.friction import Friction
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.energy.exergy_map import ExergyMap
from vms_ph_dynamics.errors import StateError
from vms_ph_dynamics.forms import StandardForm
from vms_ph_dynamics.integrators import IntegrationError, RetriedStep
from vms_ph_dynamics.model import VMSModel
from vms_ph_dynamics.simulation import Control, Simulation
from vms_ph_dynamics.simulation.efforts import Acting, Efforts
from vms_ph_dynamics.simulation.held_friction import HeldFriction, must_be_held
from vms_ph_dynamics.simulation.joint_stops import JointStops

from .drives import Drives
from .mechanism import Mechanism
from .mechanism_stepper import MechanismStepper, Motion
from .powertrain import Powertrain, named


class EphsSimulation(Simulation):
    """Steps of a robot's bodies and joints with its motors, battery and heat.

    Mechanism and powertrain are systems of their own that meet at ports: the shafts of the motors,
    where the torque is held over a step and its work is what the powertrain gives, and the housings
    of the joints, whose heat by friction the powertrain conducts away. The temperatures of the
    housings reduce viscous friction, those of the windings raise their resistance, and the voltage
    of the bus limits the torques, which are reduced to what it allows.

    Args:
        model: the robot.
        q: (nq,) configuration at the start and after a reset.
        dt: integrator and control step, s.
        control: the controller in the loop; None for external efforts alone.
        drives: what drives the robot.
        friction: whether the joints' friction acts; where it is too fast for the step its force is
            held, see :class:`.HeldFriction`.
        scheme: of the mechanism: projected_rk4, rk4 or discrete_gradient.
        native: whether the mechanism runs in C++.
        joint_stops: whether the joints' limits are stops.

    Raises:
        ModelError: bodies and joints cannot represent the robot, or the drives are those of
            another number of joints.
        OptionError: there is no such scheme.
    """

    def __init__(
        self,
        model: VMSModel,
        q: Array,
        dt: float,
        control: Control | None,
        drives: Drives,
        friction: bool = False,
        scheme: str | None = None,
        native: bool | None = None,
        joint_stops: bool = False,
    ) -> None:
        self._form, self._home, self.dt = StandardForm(model), q, dt
        self._control, self._drives = control, drives
        self._rubbing = Friction.of(model) if friction else None
        if self._rubbing is not None and must_be_held(self._form, self._rubbing, q, dt):
            self._held_friction = HeldFriction(self._form, self._rubbing)
        else:
            self._held_friction = None
        self._friction = None
        housings = drives.motors.housing_capacity
        self._mechanism = Mechanism(
            model,
            housings,
            drives.theta_0,
            friction and self._held_friction is None,
            drives.softening,
            native,
        )
        self._stepper = MechanismStepper(self._mechanism, self._form, scheme or "projected_rk4")
        self.powertrain = Powertrain(model.joint_names, drives, dt, model.fluid is not None)
        stops = JointStops(self._form)
        self._stops = stops if joint_stops and stops.exist else None
        self._loop = None
        self.resets = -1
        self.reset()

    def reset(self) -> None:
        """Return to the start: at rest, everything at theta_0, the battery at its level."""
        self.powertrain.reset()
        self._braking: Array | None = None
        self._owed = np.zeros(self._form.model.n)
        super().reset()
        self._at_start = sum(self._stored().values())

    def exergy_map(self) -> ExergyMap:
        """Return where exergy is now, and where it has gone since the last reset."""
        train = self.powertrain
        stored = self._stored()
        destroyed = named(train.destroyed, train.names)
        # Shafts and actuators of the base are between the two systems.
        outside = set(self._port_energy) - {"torque", "wrench_base"}
        supplied = {name: self._port_energy[name] for name in sorted(outside)}
        residual = (
            sum(stored.values()) - self._at_start - sum(supplied.values()) + sum(destroyed.values())
        )
        return ExergyMap(
            self.time,
            stored,
            destroyed,
            supplied,
            residual,
            train.temperatures(),
            train.voltage,
            train.current,
            train.level,
        )

    def diagnostics(self) -> dict[str, object]:
        """Return battery and temperatures in words."""
        train = self.powertrain
        found = train.temperatures()
        warmest = max(found, key=lambda name: found[name])
        return {
            "battery (V)": f"{train.voltage:.2f}",
            "battery (A)": f"{train.current:.2f}",
            "battery (%)": f"{100.0 * train.level:.2f}",
            "warmest": f"{warmest}, {found[warmest] - 273.15:.1f} °C",
        }

    def _stored(self) -> dict[str, float]:
        d = self._form.model.evaluate(self._q, self._v)
        return {
            "kinetic": d.kinetic_energy,
            "potential": d.potential_energy,
            **self.powertrain.stored(),
        }

    def _with_external(self, torque: Array, base: Array) -> Efforts:
        """Return the efforts, reduced to what battery and drives allow."""
        efforts = super()._with_external(torque, base)
        train, b = self.powertrain, self._form.model.b
        rates, twist = self._v[b:], self._v[:b]
        limits = train.limits(rates, efforts.wrench_base)
        allowed = np.clip(efforts.torque, limits.lower, limits.upper)
        wrench = limits.base * efforts.wrench_base
        share = train.share_of_power(allowed, rates, wrench, twist)
        return replace(efforts, torque=share * allowed, wrench_base=share * wrench)

    def _with_held_friction(self, ports: Acting) -> tuple[Array | None, Acting]:
        if self._held_friction is not None:
            assert self._rubbing is not None  # what is held
            warmer = self.powertrain.housings - self._drives.theta_0
            soft = np.exp(-self._drives.softening * warmer)
            self._held_friction = HeldFriction(
                self._form, replace(self._rubbing, viscous=soft * self._rubbing.viscous)
            )
        self._braking, ports = super()._with_held_friction(ports)
        return self._braking, ports

    def _step(self, ports: Acting) -> tuple[RetriedStep, Array | None]:
        """Return a step of the mechanism, after which the powertrain has taken its own."""
        before: Motion = self._solver_state
        retried, pushing = super()._step(ports)
        after: Motion = retried.result.solver_state
        model, train, theta_0 = self._form.model, self.powertrain, self._drives.theta_0
        turned = model.difference(self._q, after.q)[model.b :]
        work = after.work - before.work
        warm = self._mechanism.warm
        housings = train.housings.copy()
        capacities = self._drives.motors.housing_capacity
        if warm.size:
            housings[warm] = self._mechanism.temperatures(after.inner.x)
            train.destroyed["friction"][warm] += after.destroyed - before.destroyed
        if model.fluid is not None:
            train.destroyed["fluid_drag"] += after.drag - before.drag
        for name, torque in (("friction", self._braking), ("joint_stops", pushing)):
            if torque is None:
                continue
            work = work - torque * turned
            heat = self._owed - torque * turned
            # A joint that turns back within a step owes what little its friction gave.
            self._owed = np.minimum(heat, 0.0)
            heated = housings + np.maximum(heat, 0.0) / capacities
            train.destroyed[name] += theta_0 * capacities * np.log(heated / housings)
            housings = heated
        train.housings = housings
        base_work = retried.result.supplied.get("wrench_base", 0.0) if model.b else 0.0
        acting = self._before
        try:
            housings = train.step(acting.torque, work, acting.wrench_base, base_work)
        except StateError as error:
            raise IntegrationError(str(error)) from error
        if warm.size:
            inner = after.inner
            x = self._mechanism.with_temperatures(inner.x, housings[warm])
            after = after._replace(inner=inner._replace(x=x))
        result = retried.result._replace(solver_state=after)
        return retried._replace(result=result), pushing

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""An engine of bodies, joints, motors, a battery and heat."""

from dataclasses import replace

import numpy as np

from vms_ph_dynamics import Array, Form, Friction, IntegrationError, ModelError, Ports, StateError
from vms_ph_dynamics.integrators import step_with_retry
from vms_ph_dynamics.integrators.stepper import Efforts
from vms_ph_dynamics.simulation.engine import HALVINGS, Engine, PlantEffects, Prediction
from vms_ph_dynamics.simulation.joint_effects import SimulatedForm, is_too_stiff

from .drives import Drives
from .mechanism import Mechanism, MechanismState, MechanismStepper
from .powertrain import Powertrain, destruction_by_part


class EphsEngine(Engine):
    """Steps of a robot's bodies and joints with its motors, battery and heat.

    Mechanism and powertrain are systems of their own that meet at ports: the shafts of the motors,
    where the torque is held over a step and its work is what the powertrain gives, and the housings
    of the joints, whose heat by friction the powertrain conducts away. The temperatures of the
    housings reduce viscous friction, those of the windings raise their resistance, and the voltage
    of the bus limits the torques, which are reduced to what it allows.

    Args:
        drives: what drives the robot.
        scheme: of the mechanism: projected_rk4, rk4 or discrete_gradient.
        native: whether the mechanism runs in C++.

    Attributes:
        powertrain: the battery, the motors and the heat paths.
    """

    name = "ephs"
    powertrain: Powertrain

    def __init__(
        self, drives: Drives, scheme: str | None = None, native: bool | None = None
    ) -> None:
        self._drives, self._scheme, self._native = drives, scheme or "projected_rk4", native
        self._mechanism: Mechanism | None = None

    def assemble(
        self, form: SimulatedForm, q: Array, dt: float, friction: Friction | None, has_stops: bool
    ) -> PlantEffects:
        """Assemble the mechanism, and once the powertrain.

        Raises:
            ModelError: bodies and joints cannot represent the robot, or the drives are those of
                another number of joints.
            OptionError: there is no such scheme.
        """
        model, drives = form.model, self._drives
        if not isinstance(form, Form):
            raise ModelError(
                f"'{model.name}' has wheels that do not slip, which only the engine vms_ph has"
            )
        is_stiff = friction is not None and is_too_stiff(form, friction, q, dt)
        is_first = self._mechanism is None
        self._mechanism = Mechanism(
            model,
            drives.motors.housing_capacity,
            drives.theta_0,
            friction is not None and not is_stiff,
            drives.softening,
            self._native,
        )
        self._form, self._stepper = form, MechanismStepper(self._mechanism, form, self._scheme)
        self.drives_base = model.b > 0
        if is_first:
            in_fluid = model.fluid is not None
            self.powertrain = Powertrain(model.joint_names, drives, dt, in_fluid)
        return PlantEffects(None, friction if is_stiff else None, has_stops)

    def reset(self) -> None:
        """Return to the start: everything at theta_0, the battery at its level."""
        self.powertrain.reset()
        # Friction that gave energy, as of a joint turned back within a step, J.
        self._friction_debt = np.zeros(self._form.model.n)

    def start(self, q: Array, v: Array, t: float) -> None:
        """Set the motion; temperatures stay those of the powertrain."""
        assert self._mechanism is not None
        motion = self._stepper.begin(self._form.state(q, v), t)
        self._state = self._with_housing_temperatures(motion, self.powertrain.housing_temperatures)

    def motion(self) -> tuple[Array, Array]:
        """Return the motion of the mechanism."""
        return self._state.q, self._state.v

    def predict(self, efforts: Efforts, t: float, dt: float) -> Prediction:
        """Return a step of the mechanism."""
        step, failures = step_with_retry(self._stepper, self._state, efforts, t, dt, HALVINGS)
        end_state: MechanismState = step.solver_state
        q, v = end_state.q, end_state.v
        return Prediction(q, v, step.supplied, step.dissipated, len(failures), end_state)

    def accept(
        self, step: Prediction, applied: Ports, friction: Array | None, stop_torque: Array | None
    ) -> None:
        """Go to the end of a step of the mechanism, and take that of the powertrain.

        Raises:
            IntegrationError: the battery cannot give the energy.
        """
        assert self._mechanism is not None
        assert applied.torque is not None  # commands have both
        assert applied.wrench_base is not None
        mechanism, powertrain, drives = self._mechanism, self.powertrain, self._drives
        start_state, end_state, model = self._state, step.state, self._form.model
        displacement = model.difference(start_state.q, end_state.q)[model.b :]
        work = end_state.work - start_state.work
        joints, theta = mechanism.frictional_joints, powertrain.housing_temperatures.copy()
        capacities = drives.motors.housing_capacity
        if joints.size:
            theta[joints] = mechanism.temperatures(end_state.inner.x)
            powertrain.destroyed["friction"][joints] += end_state.destroyed - start_state.destroyed
        if model.fluid is not None:
            powertrain.destroyed["fluid_drag"] += end_state.drag_heat - start_state.drag_heat
        for name, torque in (("friction", friction), ("joint_stops", stop_torque)):
            if torque is None:
                continue
            work = work - torque * displacement
            heat = self._friction_debt - torque * displacement
            self._friction_debt = np.minimum(heat, 0.0)
            new_theta = theta + np.maximum(heat, 0.0) / capacities
            powertrain.destroyed[name] += drives.theta_0 * capacities * np.log(new_theta / theta)
            theta = new_theta
        powertrain.housing_temperatures = theta
        base_work = step.supplied.get("wrench_base", 0.0) if model.b else 0.0
        try:
            theta = powertrain.step(applied.torque, work, applied.wrench_base, base_work)
        except StateError as error:
            raise IntegrationError(str(error)) from error
        self._state = self._with_housing_temperatures(end_state, theta)

    def limit(self, ports: Ports, v: Array) -> Ports:
        """Return the efforts, reduced to what battery and drives allow."""
        assert ports.torque is not None  # commands have both
        assert ports.wrench_base is not None
        powertrain, b = self.powertrain, self._form.model.b
        rates, twist = v[b:], v[:b]
        limits = powertrain.limits(rates, ports.wrench_base)
        allowed_torque = np.clip(ports.torque, limits.lower, limits.upper)
        wrench = limits.wrench_share * ports.wrench_base
        power_share = powertrain.power_share(allowed_torque, rates, wrench, twist)
        return replace(ports, torque=power_share * allowed_torque, wrench_base=power_share * wrench)

    def present_friction(self, friction: Friction) -> Friction:
        """Return the friction of the joints at the temperatures of their housings."""
        temperature_rise = self.powertrain.housing_temperatures - self._drives.theta_0
        softening_factor = np.exp(-self._drives.softening * temperature_rise)
        return replace(friction, viscous=softening_factor * friction.viscous)

    def stored_energies(self) -> dict[str, float]:
        """Return the exergy in the battery and as heat, J."""
        return self.powertrain.stored_energies()

    def destroyed(self) -> dict[str, float]:
        """Return the exergy that every part has destroyed, J."""
        return dict(destruction_by_part(self.powertrain.destroyed, self.powertrain.names))

    def electric(self) -> tuple[dict[str, float], float, float, float]:
        """Return temperatures (K), bus voltage (V), battery current (A) and charge level."""
        powertrain = self.powertrain
        return powertrain.temperatures(), powertrain.voltage, powertrain.current, powertrain.level

    def diagnostics(self) -> dict[str, object]:
        """Return battery and temperatures in words."""
        powertrain = self.powertrain
        temperatures = powertrain.temperatures()
        warmest = max(temperatures, key=lambda name: temperatures[name])
        return {
            "battery (V)": f"{powertrain.voltage:.2f}",
            "battery (A)": f"{powertrain.current:.2f}",
            "battery (%)": f"{100.0 * powertrain.level:.2f}",
            "warmest": f"{warmest}, {temperatures[warmest] - 273.15:.1f} °C",
        }

    def _with_housing_temperatures(
        self, solver_state: MechanismState, theta: Array
    ) -> MechanismState:
        assert self._mechanism is not None
        joints = self._mechanism.frictional_joints
        if not joints.size:
            return solver_state
        x = self._mechanism.with_temperatures(solver_state.inner.x, theta[joints])
        return solver_state._replace(inner=solver_state.inner._replace(x=x))

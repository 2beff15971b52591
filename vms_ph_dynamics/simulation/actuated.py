# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A simulated robot whose base moves by its actuators."""

from dataclasses import replace

import numpy as np

from ..actuation.actuator_dynamics import ActuatorDynamics, HeldEfforts
from ..actuation.actuators import Actuators
from ..arrays import Array
from ..energy.exergy_map import ExergyMap
from ..errors import ModelError
from ..forms import Form, PHState, Ports
from ..integrators import RetriedStep
from .efforts import Acting, Control, Efforts, External
from .reduced import SimulatedForm
from .simulation import Simulation


class ActuatedSimulation(Simulation):
    """Integrates a form whose base wrench is that of actuators.

    The wrench that controller and others command is allocated to the actuators within their limits;
    what acts on the base is what they do, with lag, dead zone, limits and failures. Their energy is
    accounted for: what the supply gave is the work on the base, what spins store, and what fluid,
    bearings and windings took.

    Attributes:
        actuation: the actuators in time.
    """

    def __init__(
        self,
        form: Form,
        q: Array,
        dt: float,
        control: Control | None,
        actuators: Actuators,
        friction: bool = False,
        scheme: str | None = None,
        native: bool | None = None,
        joint_stops: bool = False,
        start_velocity: Array | None = None,
    ) -> None:
        """Start at rest, or with a velocity; rotors turn as they do to hold the robot.

        Args:
            form: of the robot.
            q: (nq,) configuration at the start and after a reset.
            dt: integrator and control step, s.
            control: the controller in the loop; None for external efforts alone.
            actuators: of the base.
            friction: whether the joints' friction acts, see :class:`.Simulation`.
            scheme: of :data:`.integrators.SCHEMES`; the default of the robot when None.
            native: whether it runs in C++, see :func:`.integrators.integrate`.
            joint_stops: whether the joints' limits are stops, see :class:`.JointStops`.
            start_velocity: (nv,) at the start and after a reset; zero when None.

        Raises:
            OptionError: there is no such scheme.
            ModelError: the scheme does not cover this robot, or the actuators are for another base.
        """
        if actuators.base != form.model.base:
            raise ModelError(
                f"the actuators are those of a {actuators.base} base; that of '{form.model.name}' "
                f"is {form.model.base}"
            )
        self.actuation = ActuatorDynamics(actuators, dt)
        super().__init__(
            form, q, dt, control, friction, scheme, native, joint_stops, start_velocity
        )

    def reset(self) -> None:
        """Return to the start; failures of actuators remain."""
        model = self._form.model
        self.actuation.reset()
        rest = model.evaluate(self._home, np.zeros(model.nv))
        self.actuation.settle(rest.g[: model.b])
        super().reset()
        self._at_start = self._robot_energy() + self.actuation.stored

    @property
    def twist(self) -> Array:
        """Twist of the base in its own axes, (b,)."""
        return self._v[: self._form.model.b]

    def exergy_map(self) -> ExergyMap:
        """Return where energy is now, and where it has gone since the last reset.

        The supply is a store that has lost what it gave. Without temperatures in the model, energy
        that is lost counts as exergy destroyed.
        """
        actuation = self.actuation
        d = self._form.model.evaluate(self._q, self._v)
        stored = {
            "kinetic": d.kinetic_energy,
            "potential": d.potential_energy,
            "spinning": actuation.stored,
            "supply": -actuation.electric,
        }
        lost = {"joints_and_drag": self._dissipated, **actuation.losses()}
        supplied = {k: e for k, e in sorted(self._port_energy.items()) if k != "wrench_base"}
        residual = (
            sum(stored.values()) - self._at_start - sum(supplied.values()) + sum(lost.values())
        )
        return ExergyMap(self.time, stored, lost, supplied, residual, {}, 0.0, 0.0, 0.0)

    def diagnostics(self) -> dict[str, object]:
        """Return what the actuators do, in words."""
        actuation = self.actuation
        missing = float(np.abs(actuation.held.missing).max())
        found: dict[str, object] = {
            "energy from the supply (J)": f"{actuation.electric:.4g}",
            "wrench beyond the actuators (N, N m)": f"{missing:.3g}",
        }
        if actuation.failed:
            found["failed actuators"] = ", ".join(actuation.failed)
        return found

    def _robot_energy(self) -> float:
        d = self._form.model.evaluate(self._q, self._v)
        return d.kinetic_energy + d.potential_energy

    def _advance_in_cpp(self, steps: int, external: External) -> int:
        """Return zero: the actuators act between all steps."""
        return 0

    def _with_external(self, torque: Array, base: Array) -> Efforts:
        """Return the efforts, with the wrench that the actuators make of the commanded one."""
        efforts = super()._with_external(torque, base)
        twist = self._v[: self._form.model.b]
        held = self.actuation.hold(efforts.wrench_base, twist)
        wrench = held.wrench_at(0.0, twist) if self.actuation.spins else held.wrench
        return replace(efforts, wrench_base=wrench)

    def _ports(self, efforts: Efforts) -> Acting:
        found = super()._ports(efforts)
        if not self.actuation.spins or self._form.model.b == 3:
            return found
        return _turning(self._form, found, self.actuation.held, self.time)

    def _step(self, ports: Acting) -> tuple[RetriedStep, Array | None]:
        """Return a step of the robot, after which the actuators have taken theirs."""
        retried, pushing = super()._step(ports)
        b = self._form.model.b
        after = self._stepper.motion(retried.result.solver_state)[1]
        self.actuation.commit(retried.result.supplied["wrench_base"], self._v[:b], after[:b])
        return retried, pushing


def _turning(form: SimulatedForm, ports: Acting, held: HeldEfforts, start: float) -> Acting:
    """Return efforts with the gyroscopic moment of what spins, which follows the motion."""

    def acting(t: float, x: PHState) -> Ports:
        now = ports(t, x) if callable(ports) else ports
        return replace(now, wrench_base=held.wrench_at(t - start, form.velocity(x)[:6]))

    return acting

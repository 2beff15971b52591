# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What takes the steps of a simulated robot: a scheme on its form, or another engine."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from ..actuation.friction import Friction
from ..arrays import Array
from ..errors import ModelError
from ..forms import Ports
from ..integrators import default_scheme, make_stepper, step_with_retry
from ..integrators.compiled import CompiledStepper, LoopSteps
from ..integrators.stepper import Efforts, system_stepper
from ..nonholonomic import NonholonomicForm, NonholonomicRK4
from .efforts import Control
from .joint_effects import SimulatedForm, is_too_stiff

# Largest number of times that a step is halved: beyond it, a step costs more than it is worth.
HALVINGS = 4


class PlantEffects(NamedTuple):
    """The effects in the joints that the simulation has to add to the steps of an engine.

    Attributes:
        friction: that acts at the ports during a step, or None.
        held_friction: friction that is too fast for the engine's steps, or None.
        joint_stops: whether the joints need stops.
    """

    friction: Friction | None = None
    held_friction: Friction | None = None
    joint_stops: bool = False


class Prediction(NamedTuple):
    """A step that an engine has computed, and not accepted yet.

    Attributes:
        q, v: (nq,) and (nv,) motion at its end.
        supplied: energy into the robot by port, J.
        dissipated: energy dissipated by friction and drag, J.
        failures: attempts that failed; the step was divided then.
        state: state of the engine at the end of the step.
    """

    q: Array
    v: Array
    supplied: Mapping[str, float]
    dissipated: float
    failures: int
    state: Any


class Engine(ABC):
    """Takes the steps of one simulated robot.

    Attributes:
        name: in messages.
        ports: names of the power ports that it has besides those of the robot.
        drives_base: whether it has actuators of the base itself.
    """

    name = "vms_ph"
    ports: tuple[str, ...] = ()
    drives_base = False

    @abstractmethod
    def assemble(
        self, form: SimulatedForm, q: Array, dt: float, friction: Friction | None, has_stops: bool
    ) -> PlantEffects:
        """Prepare steps of ``dt`` (s) of a robot; return what is left to the simulation.

        Called again when the robot has other inertias; the state goes on with :meth:`start`.

        Args:
            form: of the robot.
            q: (nq,) configuration at which the stiffness of friction is judged.
            dt: length of the steps, s.
            friction: in the joints; None for none.
            has_stops: whether the joints' limits are stops.

        Raises:
            ModelError: the engine does not cover this robot.
        """

    def reset(self) -> None:  # noqa: B027 - most engines have nothing else
        """Return everything besides the robot to its start."""

    @abstractmethod
    def start(self, q: Array, v: Array, t: float) -> None:
        """Set configuration (nq,) and velocity (nv,) at time ``t`` (s)."""

    @abstractmethod
    def motion(self) -> tuple[Array, Array]:
        """Return the present configuration (nq,) and velocity (nv,)."""

    @abstractmethod
    def predict(self, efforts: Efforts, t: float, dt: float) -> Prediction:
        """Return a step from the present state; the state does not change.

        Raises:
            IntegrationError: the step fails.
        """

    @abstractmethod
    def accept(
        self, step: Prediction, applied: Ports, friction: Array | None, stop_torque: Array | None
    ) -> None:
        """Go to the end of a predicted step.

        Args:
            step: step that was predicted last.
            applied: torque and base wrench during it.
            friction: (n,) torques of held friction, N m or N; None without it.
            stop_torque: (n,) torques of joint stops, likewise.

        Raises:
            IntegrationError: a part besides the robot cannot follow; the state does not change.
        """

    def limit(self, ports: Ports, v: Array) -> Ports:
        """Return torque and base wrench as far as the drives can give them at a velocity (nv,)."""
        return ports

    def present_friction(self, friction: Friction) -> Friction:
        """Return the friction of the joints as it is now."""
        return friction

    def run_loop(
        self, control: Control, external: Ports, command: Ports, span: tuple[float, float, int, int]
    ) -> LoopSteps | None:
        """Return steps with a controller in the loop, taken at once; None: they are taken singly.

        Args:
            control: the controller.
            external: efforts besides those of the control, held over all steps.
            command: torque and base wrench of the control over the first step.
            span: time at step zero, time step, index of the first step, and number of steps.
        """
        return None

    def stored_energies(self) -> dict[str, float]:
        """Return the energy stored outside of the robot's motion, J, by store."""
        return {}

    def destroyed(self) -> dict[str, float] | None:
        """Return the exergy destroyed, J, by destroyer; None where only the total is known."""
        return None

    def electric(self) -> tuple[dict[str, float], float, float, float]:
        """Return the electric state: temperatures (K), bus voltage (V), current (A) and charge."""
        return {}, 0.0, 0.0, 0.0

    def diagnostics(self) -> dict[str, object]:
        """Return what the diagnostics report about it."""
        return {}


class FormEngine(Engine):
    """A scheme of :mod:`.integrators` on a form of the robot.

    Args:
        scheme: of :data:`.integrators.SCHEMES`; the default of the robot when None.
        native: whether it runs in C++, see :func:`.integrators.integrate`.
    """

    def __init__(self, scheme: str | None = None, native: bool | None = None) -> None:
        self.scheme, self.native = scheme, native
        self.stepper: Any = None

    def assemble(
        self, form: SimulatedForm, q: Array, dt: float, friction: Friction | None, has_stops: bool
    ) -> PlantEffects:
        """Make the scheme; see :meth:`Engine.assemble`.

        Raises:
            OptionError: there is no such scheme.
            ModelError: the scheme does not cover the robot, or does not exist in C++ with
                ``native=True``.
        """
        self._form = form
        self._loop: Any = None
        if not isinstance(form, NonholonomicForm):
            scheme = self.scheme or default_scheme(form.model)
            self.stepper = make_stepper(scheme, form, native=self.native)
        elif self.native:
            raise ModelError(
                "robots on wheels that do not slip have no scheme in C++; leave native"
            )
        else:
            self.stepper = system_stepper(form, self.scheme or NonholonomicRK4.name)
        if friction is not None and is_too_stiff(form, friction, q, dt):
            return PlantEffects(None, friction, has_stops)
        return PlantEffects(friction, None, has_stops)

    def start(self, q: Array, v: Array, t: float) -> None:
        """Begin the scheme at a motion."""
        self.state = self.stepper.begin(self._form.state(q, v), t)

    def motion(self) -> tuple[Array, Array]:
        """Return the motion of the scheme."""
        return self.stepper.motion(self.state)

    def predict(self, efforts: Efforts, t: float, dt: float) -> Prediction:
        """Return a step of the scheme, in parts where it fails as a whole."""
        step, failures = step_with_retry(self.stepper, self.state, efforts, t, dt, HALVINGS)
        q, v = self.stepper.motion(step.solver_state)
        return Prediction(q, v, step.supplied, step.dissipated, len(failures), step.solver_state)

    def accept(
        self, step: Prediction, applied: Ports, friction: Array | None, stop_torque: Array | None
    ) -> None:
        """Go to the end of a step."""
        self.state = step.state

    def run_loop(
        self, control: Control, external: Ports, command: Ports, span: tuple[float, float, int, int]
    ) -> LoopSteps | None:
        """Take steps in C++ where scheme and efforts are there; see :meth:`Engine.run_loop`.

        A control with a law in C++ is not called meanwhile, any other one after every step. The
        loop ends before a step that fails, which is left to the schemes in Python.
        """
        if not isinstance(self.stepper, CompiledStepper) or external.wrench_tools:
            return None
        if self._loop is None:
            self._loop = self.stepper.closed_loop()
        law = getattr(control, "cpp_law", None)
        native_law = None if law is None else law()
        if native_law is None:
            run = partial(self._loop.run_function, control)
        else:
            run = partial(self._loop.run, native_law[0], *native_law[1])
        steps = self.stepper.run_loop(run, self.state, external, command, span)
        if steps.result.steps:
            self.state = steps.result.solver_state
        return steps

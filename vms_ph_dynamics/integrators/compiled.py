# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The compiled schemes, behind the interface of the schemes in Python."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Array
from ..energy.audit import CompensatedSum
from ..errors import StateError
from ..forms import PORTS, Form, PHState, Ports
from ..forms.rates import friction_arguments
from ..model import VMSModel
from ..native import native_module, native_part
from ..robot.algorithms import native_robot
from ..robot.joints import BASE_POSITION_SIZE
from .centroidal import CentroidalState, Fall
from .discrete_gradient import MidpointState, PastSteps
from .retry import BALANCE_TOLERANCE
from .robot_stepper import RobotStepper
from .stepper import Efforts, SolverState, StepFailure, StepResult

COMPILED = ("projected_rk4", "projected_midpoint", "discrete_gradient")
"""Names of the schemes that exist in C++."""

# Steps between two checks for an interrupt by the user: about a tenth of a second.
_STEPS_PER_CALL = 10_000


def prefer_compiled(name: str, python_stepper: RobotStepper, native: bool | None) -> RobotStepper:
    """Return the compiled counterpart of a scheme, or the scheme itself if there is none.

    Args:
        name: of the scheme.
        python_stepper: the scheme in Python.
        native: True requires the compiled one, False excludes it, None uses it where it exists.

    Raises:
        ModelError: ``native=True``, but there is no compiled one.
    """
    compiled = native_part(
        native,
        _unsupported_reason(name, python_stepper.model),
        lambda module: CompiledStepper(name, python_stepper, module),
        "the scheme in Python is used",
    )
    return python_stepper if compiled is None else compiled


def _unsupported_reason(name: str, model: VMSModel) -> str | None:
    if name not in COMPILED:
        return f"there is no compiled '{name}', only {', '.join(COMPILED)}"
    if name == "discrete_gradient" and not model.n:
        return f"'{model.name}' has no joints, which '{name}' in C++ needs"
    if model.fluid is not None:
        return f"'{model.name}' is in a fluid, which C++ does not cover"
    return None


class LoopSteps(NamedTuple):
    """Steps of a closed loop; fewer than asked for where the next one fails.

    Attributes:
        result: result of all steps together, with their number.
        last_efforts: efforts of the control over the last step.
        next_efforts: the same after it; not of this time where the control has failed.
        control_error: error that the control has raised after the last step, or None.
    """

    result: StepResult
    last_efforts: Ports
    next_efforts: Ports
    control_error: BaseException | None


class CompiledStepper(RobotStepper):
    """A scheme that runs in C++ for held efforts, and in Python for efforts as a function.

    Both have the same solver state, so that one run may alternate between them.
    """

    def __init__(self, name: str, python_stepper: RobotStepper, module: Any) -> None:
        """Wrap a scheme in Python, by its name."""
        super().__init__(python_stepper.form, python_stepper.gravity)
        self.order = python_stepper.order
        self.closes_balance = python_stepper.closes_balance
        self._python_stepper, self._module, self._name = python_stepper, module, name
        self._robot = native_robot(module, self.model.tree, self.model.end_effector)
        self._native_scheme = module.Scheme(self._robot, name, python_stepper.gravity)
        self._no_efforts = module.Ports(self._robot)
        self._uses_past_steps = name == "discrete_gradient"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the scheme in Python, which is compiled again where the core is installed."""
        return prefer_compiled, (self._name, self._python_stepper, None), {"name": self.name}

    def begin(self, state: PHState, t: float) -> SolverState:
        """Return the solver state in C++."""
        return self._native_scheme.begin(state.q, self.form.velocity(state), t)

    def motion(self, solver_state: SolverState) -> tuple[Array, Array]:
        """Return configuration and velocity in the inertial frame."""
        return self._native_scheme.motion(solver_state)

    def step(self, solver_state: SolverState, ports: Efforts, t: float, dt: float) -> StepResult:
        """Return the state after ``dt``; see :meth:`Stepper.step`."""
        if not isinstance(ports, Ports) or ports.wrench_tools:
            result = self._python_stepper.step(self._to_python(solver_state), ports, t, dt)
            return result._replace(solver_state=self._to_native(result.solver_state, solver_state))
        end_state, result = self._native_scheme.step(solver_state, self._native_ports(ports), t, dt)
        if result.failed:
            raise StepFailure(result.reason)
        return _step_result(end_state, result)

    def multi_step(
        self,
        solver_state: SolverState,
        ports: Efforts,
        t0: float,
        dt: float,
        first: int,
        steps: int,
    ) -> StepResult:
        """Return the result of many steps; see :meth:`Stepper.multi_step`."""
        if not isinstance(ports, Ports) or ports.wrench_tools:
            return super().multi_step(solver_state, ports, t0, dt, first, steps)
        end_state, result, count = self._native_scheme.run(
            solver_state, self._native_ports(ports), t0, dt, first, min(steps, _STEPS_PER_CALL)
        )
        if count == 0:
            # The first step fails; a single step gives the reason.
            return super().multi_step(solver_state, ports, t0, dt, first, steps)
        return _step_result(end_state, result)._replace(steps=count)

    def run_batch(
        self,
        Q: Array,
        V: Array,
        ports: Sequence[Ports],
        span: tuple[float, float, int, int],
        threads: int,
    ) -> dict[str, Any]:
        """Return N runs under held efforts, on several threads; see ``vms_ph_native.run_batch``.

        Args:
            Q: (N,nq) configurations.
            V: (N,nv) velocities.
            ports: the efforts of each run.
            span: time at the start, time step, number of steps, and of steps between records.
            threads: number of threads.
        """
        is_shared = all(run_ports is ports[0] for run_ports in ports)
        efforts = [self._native_ports(run) for run in (ports[:1] if is_shared else ports)]
        return self._module.run_batch(
            self._robot, self._name, self.gravity, Q, V, efforts, *span, threads
        )

    def closed_loop(self) -> Any:
        """Return a new ``vms_ph_native.ClosedLoop`` of this scheme."""
        return self._module.ClosedLoop(self._native_scheme, self._slack)

    def run_loop(
        self,
        run: Callable[..., Any],
        solver_state: SolverState,
        external: Ports,
        command: Ports,
        span: tuple[float, float, int, int],
    ) -> LoopSteps:
        """Return the result of steps with an update of a control after each.

        Args:
            run: ``run`` or ``run_function`` of a loop, with what describes the control.
            solver_state: at the start.
            external: efforts besides those of the control, held over all steps.
            command: torque and base wrench over the first step.
            span: time at step zero, time step, index of the first step, and number of steps.
        """
        end, result, steps, *efforts, error = run(
            solver_state, self._native_ports(external), command.torque, command.wrench_base, *span
        )
        last, next_efforts = Ports(*efforts[:2]), Ports(*efforts[2:])
        return LoopSteps(_step_result(end, result)._replace(steps=steps), last, next_efforts, error)

    def balanced_runs(
        self, energy: Array, supplied: Array, dissipated: Array, steps_per_record: int
    ) -> npt.NDArray[np.bool_]:
        """Return which runs (N,) close their energy balances; see :func:`.check_balance`.

        Args:
            energy: (N,K) J.
            supplied: (3,N,K-1) J.
            dissipated: (N,K-1) J.
            steps_per_record: between two records.
        """
        if not self.closes_balance:
            return np.ones(len(energy), dtype=bool)
        net_supply = supplied.sum(axis=0) - dissipated
        energy_scale = np.abs(supplied).sum(axis=0) + np.abs(dissipated)
        energy_scale = energy_scale + np.abs(energy[:, 1:]) + np.abs(energy[:, :-1])
        tolerance = steps_per_record * (BALANCE_TOLERANCE * energy_scale + 2.0 * self._slack)
        return np.all(np.abs(np.diff(energy, axis=1) - net_supply) <= tolerance, axis=1)

    def _native_ports(self, ports: Ports) -> Any:
        self.checked(ports)
        if ports.is_free:
            return self._no_efforts
        try:
            return self._module.Ports(
                self._robot,
                ports.torque,
                ports.wrench_base,
                ports.wrench_end_effector,
                *friction_arguments(ports),
            )
        except ValueError as error:
            raise StateError(str(error)) from None

    def _to_python(self, x: SolverState) -> CentroidalState | MidpointState:
        b, k = self.model.b, BASE_POSITION_SIZE[self.model.base]
        centre, linear_momentum = x.fall.centre_of_mass[:k], x.fall.linear_momentum[:k]
        fall = Fall(x.fall.start_time, centre, linear_momentum, x.fall.mass, x.fall.gravity[:k])
        angular, energy = x.angular_momentum[3 + k - b :], CompensatedSum(*x.compensated_energy)
        if not self._uses_past_steps:
            return CentroidalState(x.q, x.v, fall, angular, energy, x.t)
        times, unknowns = zip(*x.past_steps, strict=True) if x.past_steps else ((), ())
        return MidpointState(x.q, fall, angular, x.pi, energy, x.t, PastSteps(times, unknowns))

    def _to_native(self, x: CentroidalState | MidpointState, template: SolverState) -> SolverState:
        b, k = self.model.b, BASE_POSITION_SIZE[self.model.base]
        native_state = copy(template)
        native_state.q, native_state.t = x.q, x.t
        native_state.compensated_energy = tuple(x.energy)
        native_state.fall.start_time = x.fall.start_time
        native_state.fall.centre_of_mass = [*x.fall.centre, *[0.0] * (3 - k)]
        native_state.fall.linear_momentum = [*x.fall.linear_momentum, *[0.0] * (3 - k)]
        native_state.angular_momentum = [*[0.0] * (3 + k - b), *x.angular]
        if isinstance(x, CentroidalState):
            native_state.v = x.v
        else:
            native_state.pi = x.pi
            native_state.past_steps = list(zip(x.past.times, x.past.unknowns, strict=True))
        return native_state


def _step_result(end_state: SolverState, result: Any) -> StepResult:
    supplied = dict(zip(PORTS, result.supplied_energy, strict=True))
    return StepResult(end_state, supplied, result.dissipated_energy, result.iterations)


def has_compiled(name: str, form: Form) -> bool:
    """Return whether a scheme is installed in C++ and covers this robot."""
    return _unsupported_reason(name, form.model) is None and native_module() is not None

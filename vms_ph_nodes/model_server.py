# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Services of the robot model: properties, dynamics, Jacobians, energies and structure checks.

The srv files define the layout of the arrays in the responses.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from vms_ph.msg import RobotState
from vms_ph.srv import (
    CheckStructure,
    GetDynamics,
    GetDynamicsBatch,
    GetEnergies,
    GetJacobian,
    GetModelInfo,
)

from vms_ph_dynamics import Evaluation, StateError, VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import VmsPhError
from vms_ph_dynamics.forms.checks import structure_checks
from vms_ph_dynamics.robot.kinematic_tree import Axes
from vms_ph_dynamics.tasks import PositionTask

from .messages.conversions import from_joint_state, from_pose_and_twist, require_finite, to_pose
from .messages.energy_messages import to_energy, to_momentum
from .messages.frames import Frames
from .node.health import OK, WARN
from .node.process import ReportingNode, run
from .node.robot_parameters import NO_DESCRIPTION, RobotParameters

LARGEST_BATCH = 10_000

# Fields of responses, and the terms of an evaluation that they hold.
_TERMS = {
    "mass_matrix": "M",
    "coriolis_matrix": "C",
    "gravity": "g",
    "momentum": "momentum",
    "jacobian": "J_end_effector",
}
_BATCH_TERMS = (*_TERMS.values(), "kinetic_energy", "potential_energy")

T = TypeVar("T")

_AXES: dict[int, Axes] = {GetJacobian.Request.LOCAL: "own", GetJacobian.Request.ALIGNED: "world"}


class ModelAnswers:
    """Fills the responses of one model; invalid requests raise VmsPhError with the reason."""

    def __init__(self, model: VMSModel) -> None:
        self._model = model
        self._task, self._frames = PositionTask(model), Frames.from_model(model)

    def fill_info(self, request: GetModelInfo.Request, response: GetModelInfo.Response) -> None:
        """Set the properties of the model."""
        for name in ("name", "base", "nq", "nv", "end_effector", "total_mass", "gravity"):
            setattr(response, name, getattr(self._model, name))
        response.joint_names = list(self._model.joint_names)

    def fill_dynamics(self, request: GetDynamics.Request, response: GetDynamics.Response) -> None:
        """Set the terms of the equations of motion at one state."""
        d = self._evaluate(request)
        self._set_terms(response, d)
        response.kinetic_energy, response.potential_energy = d.kinetic_energy, d.potential_energy

    def fill_batch(
        self, request: GetDynamicsBatch.Request, response: GetDynamicsBatch.Response
    ) -> None:
        """Set the terms of the equations of motion at many states."""
        q_and_v = self._map_states(request.states, self._q_and_v)
        configurations, velocities = zip(*q_and_v, strict=True)
        d = self._model.evaluate_batch(configurations, velocities, terms=_BATCH_TERMS)
        response.nv = self._model.nv
        self._set_terms(response, d)
        response.kinetic_energy = d.kinetic_energy.tolist()
        response.potential_energy = d.potential_energy.tolist()

    def _set_terms(self, response: Any, d: Any) -> None:
        """Set the terms of one state or of many in a response."""
        response.joint_names = list(self._model.joint_names)
        for name, term in _TERMS.items():
            setattr(response, name, getattr(d, term).ravel().tolist())

    def fill_energies(self, request: GetEnergies.Request, response: GetEnergies.Response) -> None:
        """Set energies and momenta at states."""
        energies, momenta = [], []
        evaluations = self._map_states(request.states, self._evaluate)
        for state, d in zip(request.states, evaluations, strict=True):
            header = self._frames.header(self._frames.inertial, state.joint_state.header.stamp)
            energies.append(to_energy(header, d, self._task))
            momenta.append(to_momentum(header, self._frames.root, d))
        response.energies, response.momenta = energies, momenta

    def fill_jacobian(self, request: GetJacobian.Request, response: GetJacobian.Response) -> None:
        """Set poses and Jacobians of frames."""
        if request.axes not in _AXES:
            raise StateError(f"axes must be 0 (LOCAL) or 1 (ALIGNED); given: {request.axes}")
        axes = _AXES[request.axes]
        names = list(request.frames) or [self._model.end_effector]
        d = self._evaluate(request.state)
        response.nv, response.frames = self._model.nv, names
        response.jacobian = np.ravel([d.jacobian(name, axes) for name in names]).tolist()
        response.jacobian_rate = np.ravel([d.jacobian_rate(name, axes) for name in names]).tolist()
        response.poses = [to_pose(d.placement(name)) for name in names]

    def fill_checks(
        self, request: CheckStructure.Request, response: CheckStructure.Response
    ) -> None:
        """Set the structure checks at a state."""
        checks = structure_checks(self._evaluate(request.state))
        response.checks = [check.name for check in checks]
        response.values = [check.value for check in checks]
        response.limits = [check.limit for check in checks]
        response.passed = all(check.value <= check.limit for check in checks)

    @staticmethod
    def _map_states(states: list[RobotState], convert: Callable[[RobotState], T]) -> list[T]:
        """Return what ``convert`` gives for each state; an error names the index of its state."""
        if not 1 <= len(states) <= LARGEST_BATCH:
            raise StateError(f"a batch has from 1 to {LARGEST_BATCH} states; given: {len(states)}")
        answers = []
        for i, state in enumerate(states):
            try:
                answers.append(convert(state))
            except StateError as error:
                raise StateError(f"state {i}: {error}") from None
        return answers

    def _evaluate(self, state: Any) -> Evaluation:
        return self._model.evaluate(*self._q_and_v(state))

    def _q_and_v(self, state: Any) -> tuple[Array, Array]:
        """Return q and v of a state, or of a request with the same fields."""
        model = self._model
        base = from_pose_and_twist(model, state.base_pose, state.base_twist) if model.b else None
        q, v, _ = from_joint_state(model, state.joint_state, base)
        for name in state.joint_state.name:
            # A locked joint, such as that of a gripper, is a frame of the model; its position is
            # ignored. Any other unknown name is an error.
            if not model.tree.has_frame(name):
                model.joint_index(name)
        return q, v


class ModelServer(ReportingNode):
    """Offers the services in srv/ that evaluate the model."""

    def __init__(self) -> None:
        super().__init__("model_server")
        self._answers: ModelAnswers | None = None
        robot = RobotParameters(self)
        for service_type, name, fill in (
            (GetModelInfo, "get_model_info", ModelAnswers.fill_info),
            (GetDynamics, "get_dynamics", ModelAnswers.fill_dynamics),
            (GetDynamicsBatch, "get_dynamics_batch", ModelAnswers.fill_batch),
            (GetEnergies, "get_energies", ModelAnswers.fill_energies),
            (GetJacobian, "get_jacobian", ModelAnswers.fill_jacobian),
            (CheckStructure, "check_structure", ModelAnswers.fill_checks),
        ):
            self.create_service(service_type, f"~/{name}", self._service_callback(fill))
        self._health.report(WARN, NO_DESCRIPTION)
        robot.when_known(self._serve, takes_others=True)

    def _serve(self, model: VMSModel) -> None:
        self._answers = ModelAnswers(model)
        self._health.declare_robot(model)
        self._health.report(OK, f"serving the model of {model.name}")

    def _service_callback(self, fill: Callable[..., None]) -> Callable[[Any, Any], Any]:
        """Return a service callback that reports an error as success=false with its message."""

        def callback(request: Any, response: Any) -> Any:
            if self._answers is None or self._health.disagreement:
                response.message = self._health.disagreement or NO_DESCRIPTION
                return response
            try:
                # Far beyond any robot the terms overflow, which the answer says.
                with np.errstate(all="ignore"):
                    fill(self._answers, request, response)
                require_finite(response)
            except VmsPhError as error:
                return type(response)(message=str(error))
            response.success = True
            return response

        return callback


def main() -> None:
    """Run the node."""
    run(ModelServer)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Services of the robot model: properties, dynamics, Jacobians, energies and structure checks."""

from collections.abc import Callable
from typing import Any

import numpy as np
from vms_ph.srv import (
    CheckStructure,
    GetDynamics,
    GetDynamicsBatch,
    GetEnergies,
    GetJacobian,
    GetModelInfo,
)

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.errors import VmsPhError

from .messages.finite import require_finite
from .model_service.model_answers import ModelAnswers
from .node.health import OK, WARN, Health
from .node.process import ReportingNode, run
from .node.robot_parameters import RobotParameters

_WAITING = "no robot description yet: waiting for the topic robot_description"


class ModelServer(ReportingNode):
    """Offers the services in srv/ that evaluate the model."""

    def __init__(self) -> None:
        super().__init__("model_server")
        self._answers: ModelAnswers | None = None
        robot = RobotParameters(self)
        for kind, name, answer in (
            (GetModelInfo, "get_model_info", ModelAnswers.info),
            (GetDynamics, "get_dynamics", ModelAnswers.dynamics),
            (GetDynamicsBatch, "get_dynamics_batch", ModelAnswers.batch),
            (GetEnergies, "get_energies", ModelAnswers.energies),
            (GetJacobian, "get_jacobian", ModelAnswers.jacobian),
            (CheckStructure, "check_structure", ModelAnswers.structure),
        ):
            self.create_service(kind, f"~/{name}", self._service_callback(answer))
        self._health = Health(self)
        self._health.report(WARN, _WAITING)
        robot.when_known(self._take)

    def _take(self, model: VMSModel) -> None:
        self._answers = ModelAnswers(model)
        self._health.declare_robot(model)
        self._health.report(OK, f"serving the model of {model.name}")

    def _service_callback(self, answer: Callable[..., None]) -> Callable[[Any, Any], Any]:
        """Return a service callback that reports an error as success=false with its message."""

        def callback(request: Any, response: Any) -> Any:
            if self._answers is None or self._health.disagreement:
                response.message = self._health.disagreement or _WAITING
                return response
            try:
                # Far beyond any robot the terms overflow, which is told in the answer.
                with np.errstate(all="ignore"):
                    answer(self._answers, request, response)
                require_finite(response)
            except VmsPhError as error:
                response = type(response)()
                response.message = str(error)
                return response
            response.success = True
            return response

        return callback


def main() -> None:
    """Run the node."""
    run(ModelServer)


if __name__ == "__main__":
    main()

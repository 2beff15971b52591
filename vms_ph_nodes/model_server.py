"""Answers questions about the model: what it is, and its dynamics terms at a state."""

from rclpy.node import Node
from vms_ph.srv import GetDynamics, GetModelInfo

from vms_ph_dynamics import StateError, VMSModel

from .conversions import from_joint_state
from .health import Health
from .process import run
from .robot_parameters import RobotParameters

_NOT_YET = "no robot yet: waiting for the robot_description topic"


class ModelServer(Node):
    """Offers ~/get_model_info and ~/get_dynamics."""

    def __init__(self) -> None:
        super().__init__("model_server")
        self._model: VMSModel | None = None
        robot = RobotParameters(self)
        self.create_service(GetModelInfo, "~/get_model_info", self._info)
        self.create_service(GetDynamics, "~/get_dynamics", self._dynamics)
        self._health = Health(self)
        robot.when_known(self._take)

    def destroy_node(self) -> None:
        """End, telling the other nodes."""
        self._health.farewell()
        super().destroy_node()

    def _take(self, model: VMSModel) -> None:
        self._model = model

    def _info(
        self, request: GetModelInfo.Request, response: GetModelInfo.Response
    ) -> GetModelInfo.Response:
        model = self._model
        if model is None:
            response.message = _NOT_YET
            return response
        response.success = True
        response.name, response.base = model.name, model.base
        response.nq, response.nv = model.nq, model.nv
        response.joint_names = list(model.joint_names)
        response.total_mass = model.total_mass
        response.end_effector = model.end_effector
        response.gravity = model.gravity
        return response

    def _dynamics(
        self, request: GetDynamics.Request, response: GetDynamics.Response
    ) -> GetDynamics.Response:
        model = self._model
        if model is None:
            response.message = _NOT_YET
            return response
        try:
            q, v, _ = from_joint_state(model, request.joint_state, all_joints=False)
        except StateError as error:
            response.message = str(error)
            return response
        d = model.evaluate(q, v)
        response.success = True
        response.joint_names = list(model.joint_names)
        response.mass_matrix = d.M.ravel().tolist()
        response.coriolis_matrix = d.C.ravel().tolist()
        response.gravity = d.g.tolist()
        response.momentum = d.momentum.tolist()
        response.jacobian = d.J_end_effector.ravel().tolist()
        response.kinetic_energy = d.kinetic_energy
        response.potential_energy = d.potential_energy
        return response


def main() -> None:
    """Run the node."""
    run(ModelServer)


if __name__ == "__main__":
    main()

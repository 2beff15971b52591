# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The responses of the model server."""

import numpy as np
import pytest
import rclpy
from vms_ph.msg import RobotState
from vms_ph.srv import CheckStructure, GetDynamics, GetDynamicsBatch, GetEnergies, GetJacobian

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_io import robots
from vms_ph_nodes.model_server import ModelAnswers

from .conftest import Start
from .model_states import robot_state


def _state(model: VMSModel, q: np.ndarray, v: np.ndarray) -> RobotState:
    joints = dict(zip(model.joint_names, model.joint_positions(q), strict=True))
    rates = dict(zip(model.joint_names, v[model.b :], strict=True))
    pose, twist = None, None
    if model.base == "floating":
        pose, twist = q[:7], v[:6]
    elif model.base == "planar":
        half = 0.5 * np.arctan2(q[3], q[2])
        pose = [q[0], q[1], 0, 0, 0, np.sin(half), np.cos(half)]
        twist = [v[0], v[1], 0, 0, 0, v[2]]
    return robot_state(joints, rates, pose, twist)


@pytest.fixture(params=robots.names())
def known(request: pytest.FixtureRequest) -> tuple[VMSModel, np.ndarray, np.ndarray]:
    model, rng = robots.load(request.param), np.random.default_rng(3)
    return model, model.random_configuration(rng), rng.normal(size=model.nv)


def test_the_terms_at_a_state_are_those_of_the_model(
    known: tuple[VMSModel, np.ndarray, np.ndarray],
) -> None:
    model, q, v = known
    d, state = model.evaluate(q, v), _state(model, q, v)
    response = GetDynamics.Response()
    request = GetDynamics.Request(
        joint_state=state.joint_state, base_pose=state.base_pose, base_twist=state.base_twist
    )
    ModelAnswers(model).fill_dynamics(request, response)
    # The half angle of a planar base adds a rounding error.
    close = {"rtol": 1e-12, "atol": 1e-12 * model.total_mass}
    np.testing.assert_allclose(np.reshape(response.mass_matrix, d.M.shape), d.M, **close)
    np.testing.assert_allclose(np.reshape(response.coriolis_matrix, d.C.shape), d.C, **close)
    np.testing.assert_allclose(response.momentum, d.momentum, **close)
    assert response.potential_energy == pytest.approx(d.potential_energy)


def test_jacobians_give_the_twists_of_frames(
    known: tuple[VMSModel, np.ndarray, np.ndarray],
) -> None:
    model, q, v = known
    names, h = [model.link_names[0], model.end_effector], 1e-6
    request = GetJacobian.Request(state=_state(model, q, v), frames=names, axes=1)
    response = GetJacobian.Response()
    ModelAnswers(model).fill_jacobian(request, response)
    jacobian = np.reshape(response.jacobian, (2, 6, model.nv))
    for k, name in enumerate(names):
        ahead, behind = (
            model.evaluate(model.integrate(q, s * h * v), v).placement(name) for s in (1, -1)
        )
        # Central differences of step 1e-6.
        np.testing.assert_allclose(
            jacobian[k, :3] @ v, (ahead - behind)[:3, 3] / (2 * h), atol=1e-7
        )
        place = response.poses[k].position
        np.testing.assert_allclose(
            [place.x, place.y, place.z], model.evaluate(q, v).placement(name)[:3, 3], atol=1e-12
        )


def test_every_bundled_robot_passes_the_structure_checks(
    known: tuple[VMSModel, np.ndarray, np.ndarray],
) -> None:
    model, q, v = known
    response = CheckStructure.Response()
    ModelAnswers(model).fill_checks(CheckStructure.Request(state=_state(model, q, v)), response)
    assert response.passed
    assert len(response.checks) == len(response.values) == len(response.limits) >= 8


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (robot_state({"panda_jont1": 1.0}), "'panda_jont1' is no joint of 'panda'; its joints are"),
        (robot_state({"panda_joint1": float("nan")}), "position must be finite"),
    ],
)
def test_an_invalid_state_is_rejected_with_the_reason(
    panda: VMSModel, state: RobotState, said: str
) -> None:
    answers = ModelAnswers(panda)
    with pytest.raises(StateError, match=said):
        answers.fill_energies(GetEnergies.Request(states=[state]), GetEnergies.Response())


def test_other_invalid_requests_are_rejected(panda: VMSModel) -> None:
    answers = ModelAnswers(panda)
    with pytest.raises(StateError, match="from 1 to 10000 states; given: 0"):
        answers.fill_energies(GetEnergies.Request(), GetEnergies.Response())
    with pytest.raises(ModelError, match="'hand' is not a frame of 'panda'; its links are"):
        answers.fill_jacobian(GetJacobian.Request(frames=["hand"]), GetJacobian.Response())
    with pytest.raises(StateError, match=r"axes must be 0 \(LOCAL\) or 1"):
        answers.fill_jacobian(GetJacobian.Request(axes=7), GetJacobian.Response())
    good = robot_state({})
    bad = robot_state({"x": 1.0})
    with pytest.raises(StateError, match="state 1: 'x' is no joint"):
        answers.fill_energies(GetEnergies.Request(states=[good, bad]), GetEnergies.Response())


def test_locked_joints_may_be_in_a_request(panda: VMSModel) -> None:
    state = robot_state({"panda_finger_joint1": 0.02, "panda_joint2": 0.1})
    response = GetEnergies.Response()
    ModelAnswers(panda).fill_energies(GetEnergies.Request(states=[state]), response)
    assert response.energies[0].kinetic == 0.0


@pytest.mark.wire
def test_another_process_is_asked(
    start: Start, domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start("run", "model_server", "--ros-args", "-p", "robot:=hextilt")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    model, rng = robots.load("hextilt"), np.random.default_rng(1)
    motions = [(model.random_configuration(rng), rng.normal(size=model.nv)) for _ in range(5)]
    states = [_state(model, q, v) for q, v in motions]
    rclpy.init(args=[])
    node = rclpy.create_node("asking")
    client = node.create_client(GetDynamicsBatch, "model_server/get_dynamics_batch")

    def ask(states: list[RobotState]) -> GetDynamicsBatch.Response:
        future = client.call_async(GetDynamicsBatch.Request(states=states))
        rclpy.spin_until_future_complete(node, future, timeout_sec=20.0)
        return future.result()

    try:
        assert client.wait_for_service(timeout_sec=20.0)
        found = ask(states)
        terms = [model.evaluate(q, v) for q, v in motions]
        for values, expected in (
            (found.mass_matrix, [d.M for d in terms]),
            (found.jacobian, [d.J_end_effector for d in terms]),
        ):
            np.testing.assert_allclose(values, np.ravel(expected), atol=1e-12)
        refused = ask([robot_state({"elbow": 1.0})])
        assert not refused.success
        assert refused.message.startswith("state 0: 'elbow' is no joint")
    finally:
        node.destroy_node()
        rclpy.shutdown()
    assert server.interrupt() == 0

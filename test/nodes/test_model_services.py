# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The responses of the model server, and its client."""

from pathlib import Path

import numpy as np
import pytest
import rclpy
from vms_ph.msg import Energy, RobotState
from vms_ph.srv import CheckStructure, GetDynamics, GetEnergies, GetJacobian

from vms_ph_dynamics import ModelError, StateError, VMSModel
from vms_ph_dynamics.errors import VmsPhError
from vms_ph_dynamics.forms.checks import structure_checks
from vms_ph_io import robots
from vms_ph_nodes.messages.finite import require_finite
from vms_ph_nodes.model_service.model_answers import ModelAnswers
from vms_ph_nodes.model_service.model_client import ModelClient, robot_state

from .conftest import Start


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
    ModelAnswers(model).dynamics(request, response)
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
    ModelAnswers(model).jacobian(request, response)
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
    ModelAnswers(model).structure(CheckStructure.Request(state=_state(model, q, v)), response)
    assert response.passed
    assert len(response.checks) == len(response.values) == len(response.limits) >= 8


def test_a_robot_at_rest_passes_the_structure_checks(panda: VMSModel) -> None:
    found = structure_checks(panda.evaluate(panda.neutral_configuration(), np.zeros(7)))
    assert all(check.value <= check.limit for check in found)


def test_a_wrong_coriolis_matrix_fails_the_structure_checks(
    panda: VMSModel, rng: np.random.Generator
) -> None:
    d = panda.evaluate(panda.random_configuration(rng), rng.normal(size=7))
    broken = d.C + 0.01
    d.__dict__["C"] = broken
    failed = [check.name for check in structure_checks(d) if check.value > check.limit]
    assert "the rate of the mass matrix is not C + C^T" in failed


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
        answers.energies(GetEnergies.Request(states=[state]), GetEnergies.Response())


def test_other_invalid_requests_are_rejected(panda: VMSModel) -> None:
    answers = ModelAnswers(panda)
    with pytest.raises(StateError, match="from 1 to 10000 states; given: 0"):
        answers.energies(GetEnergies.Request(), GetEnergies.Response())
    with pytest.raises(ModelError, match="'hand' is not a frame of 'panda'; its links are"):
        answers.jacobian(GetJacobian.Request(frames=["hand"]), GetJacobian.Response())
    with pytest.raises(StateError, match=r"axes must be 0 \(LOCAL\) or 1"):
        answers.jacobian(GetJacobian.Request(axes=7), GetJacobian.Response())
    good = robot_state({})
    bad = robot_state({"x": 1.0})
    with pytest.raises(StateError, match="state 1: 'x' is no joint"):
        answers.energies(GetEnergies.Request(states=[good, bad]), GetEnergies.Response())


def test_locked_joints_may_be_in_a_request(panda: VMSModel) -> None:
    state = robot_state({"panda_finger_joint1": 0.02, "panda_joint2": 0.1})
    response = GetEnergies.Response()
    ModelAnswers(panda).energies(GetEnergies.Request(states=[state]), response)
    assert response.energies[0].kinetic == 0.0


@pytest.mark.wire
def test_the_client_calls_another_process(
    start: Start, domain: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = start("run", "model_server", "--ros-args", "-p", "robot:=hextilt")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    model, rng = robots.load("hextilt"), np.random.default_rng(1)
    motions = [(model.random_configuration(rng), rng.normal(size=model.nv)) for _ in range(5)]
    states = [_state(model, q, v) for q, v in motions]
    rclpy.init(args=[])
    node = rclpy.create_node("asking")
    try:
        client = ModelClient(node, patience=20.0)
        info = client.info()
        assert (info.name, info.base, info.nv) == (model.name, "floating", 11)
        found = client.dynamics(*states)
        for k, (q, v) in enumerate(motions):
            d = model.evaluate(q, v)
            np.testing.assert_allclose(found.M[k], d.M, atol=1e-12)
            np.testing.assert_allclose(found.J_end_effector[k], d.J_end_effector, atol=1e-12)
        energy, momentum = client.energies(states[0])[0]
        assert energy.kinetic == pytest.approx(energy.kinetic_base + energy.kinetic_shape)
        assert momentum.header.frame_id == "odom"
        assert all(c.value <= c.limit for c in client.check_structure(states[1]))
        assert client.jacobians(states[0]).J.shape == (1, 6, 11)
        with pytest.raises(VmsPhError, match="get_energies refused: state 0: 'elbow' is no joint"):
            client.energies(robot_state({"elbow": 1.0}))
        with pytest.raises(VmsPhError, match="no node offers the service nobody/get_model_info"):
            ModelClient(node, server="nobody", patience=0.3).info()
    finally:
        node.destroy_node()
        rclpy.shutdown()
    assert server.interrupt() == 0


def test_the_layout_of_every_array_of_a_service_is_documented() -> None:
    share = Path(__file__).parents[2] / "srv"
    for file in sorted(share.glob("*.srv")):
        lines = file.read_text().splitlines()
        assert lines[0].startswith("#")
        for line in lines:
            if line.startswith("float64[]"):
                assert "#" in line, f"{file.name}: {line}"


@pytest.mark.parametrize("size", [1e10, 1e155, 1e308, float("inf"), float("nan")])
@pytest.mark.parametrize(
    "kind", [GetDynamics, GetEnergies, GetJacobian, CheckStructure], ids=lambda kind: kind.__name__
)
def test_a_state_that_no_robot_can_have_is_refused_by_every_service(
    kind: type, size: float
) -> None:
    answers = ModelAnswers(robots.load("satellite_panda"))
    for far in (
        robot_state({"panda_joint1": size}),
        robot_state({}, {"panda_joint1": size}),
        robot_state({}, None, [size, 0, 0, 0, 0, 0, 1], None),
        robot_state({}, None, None, [0, size, 0, 0, 0, 0]),
    ):
        request = kind.Request()
        if kind is GetDynamics:
            request.joint_state, request.base_pose = far.joint_state, far.base_pose
            request.base_twist = far.base_twist
        elif kind is GetEnergies:
            request.states = [far]
        else:
            request.state = far
        answer = {
            GetDynamics: answers.dynamics,
            GetEnergies: answers.energies,
            GetJacobian: answers.jacobian,
            CheckStructure: answers.structure,
        }[kind]
        with pytest.raises(StateError, match="must be finite and at most"):
            answer(request, kind.Response())


def test_an_answer_with_a_number_that_is_not_finite_is_never_sent() -> None:
    response = GetEnergies.Response(energies=[Energy(total=1.0), Energy(total=float("inf"))])
    with pytest.raises(StateError, match=r"not finite \(energies.total\)"):
        require_finite(response)
    require_finite(response, undefined=("total",))
    require_finite(GetDynamics.Response(mass_matrix=[1.0, 2.0]))
    with pytest.raises(StateError, match=r"\(mass_matrix\)"):
        require_finite(GetDynamics.Response(mass_matrix=[1.0, float("nan")]))

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""GuardedRobot in the loops of the real LeRobot: recording, dataset and policy."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lerobot", reason="the package lerobot is not installed")

import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.datasets.lerobot_dataset import LeRobotDataset
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.processor import make_default_processors
from lerobot.robots import Robot, RobotConfig
from lerobot.scripts.lerobot_record import record_loop
from lerobot.teleoperators import Teleoperator, TeleoperatorConfig
from lerobot.utils.constants import ACTION, OBS_STR
from lerobot.utils.feature_utils import hw_to_dataset_features

from vms_ph_controllers.guard import PositionGuard
from vms_ph_dynamics import VMSModel
from vms_ph_io import GuardedRobot, load_urdf, robots

FPS = 30
STEP = 1e-3  # s


@dataclass
class ArmConfig(RobotConfig):
    """No settings of its own."""


class SimulatedArm(Robot):
    """An arm with servos of position, in degrees, whose whole torque is limited."""

    config_class, name = ArmConfig, "simulated_arm"

    def __init__(self, folder: Path, model: VMSModel, stiffness: np.ndarray, home: Any) -> None:
        super().__init__(ArmConfig(id="arm", calibration_dir=folder))
        self.model, self.stiffness, self.damping = model, stiffness, 0.05 * stiffness
        self.q, self.v, self.time = np.array(home, float), np.zeros(model.nv), 0.0
        self.cameras: dict[str, Any] = {}
        self._is_connected = False
        self.given = self.largest_given = 0.0  # by the servos, J

    @property
    def action_features(self) -> dict[str, type]:
        return {f"{name}.pos": float for name in self.model.joint_names}

    observation_features = action_features
    is_connected = property(lambda self: self._is_connected)
    is_calibrated = property(lambda self: True)

    def connect(self, calibrate: bool = True) -> None:
        self._is_connected = True

    def calibrate(self) -> None: ...

    def configure(self) -> None: ...

    def disconnect(self) -> None:
        self._is_connected = False

    def get_observation(self) -> dict[str, float]:
        return dict(zip(self.action_features, np.degrees(self.q).tolist(), strict=True))

    def send_action(self, action: dict[str, float]) -> dict[str, float]:
        command = np.radians([action[key] for key in self.action_features])
        limit = self.model.joints.effort
        for _ in range(round(1.0 / FPS / STEP)):
            d = self.model.evaluate(self.q, self.v)
            force = self.stiffness * (command - self.q) - self.damping * self.v
            force = np.clip(force, -limit, limit)
            inertia = d.M + STEP * np.diag(self.damping)  # damping at the end of the step
            self.v = self.v + STEP * np.linalg.solve(inertia, force - d.C @ self.v)
            self.q = self.model.integrate(self.q, STEP * self.v)
            self.given += STEP * float(force @ self.v)
            self.largest_given = max(self.largest_given, self.given)
            self.time += STEP
        return action


class FaultyLeader(Teleoperator):
    """Commands of chunks that jump, stall, repeat or are no numbers."""

    config_class, name = TeleoperatorConfig, "faulty_leader"

    def __init__(self, folder: Path, arm: SimulatedArm) -> None:
        self.arm, self.calls, self.calibration_dir = arm, 0, folder

    action_features = property(lambda self: self.arm.action_features)
    feedback_features = property(lambda self: {})
    is_connected = property(lambda self: True)
    is_calibrated = property(lambda self: True)

    def connect(self, calibrate: bool = True) -> None: ...

    def calibrate(self) -> None: ...

    def configure(self) -> None: ...

    def send_feedback(self, feedback: dict[str, Any]) -> None: ...

    def disconnect(self) -> None: ...

    def get_action(self) -> dict[str, float]:
        self.calls += 1
        shift = [2.0, 80.0, 80.0, math.nan, 0.0][self.calls % 5]
        return {key: value + shift for key, value in self.arm.get_observation().items()}


def so101() -> tuple[VMSModel, np.ndarray, np.ndarray]:
    file = "package://example-robot-data/robots/so_arm_description/urdf/so101.urdf"
    model = load_urdf(file, base="fixed", locked_joints=["gripper"]).without_gravity()
    return model, np.full(model.n, 17.8), np.zeros(model.nq)


def panda() -> tuple[VMSModel, np.ndarray, np.ndarray]:
    model = robots.load("panda").without_gravity()
    return model, np.array([600.0, 600, 600, 600, 250, 150, 50]), model.home


@pytest.fixture(params=[so101, panda], ids=["so101", "panda"])
def arm(request: pytest.FixtureRequest, tmp_path: Path) -> SimulatedArm:
    return SimulatedArm(tmp_path / "calibration", *request.param())


def guarded(arm: SimulatedArm, budget: float) -> GuardedRobot:
    guard = PositionGuard(arm.model, arm.stiffness, arm.damping, budget=budget)
    return GuardedRobot(arm, guard, arm.model, unit=math.radians(1.0), clock=lambda: arm.time)


def test_the_recording_loop_writes_a_dataset_with_the_certificate(
    arm: SimulatedArm, tmp_path: Path
) -> None:
    robot = guarded(arm, 0.2)
    features = {
        **hw_to_dataset_features(robot.action_features, ACTION),
        **hw_to_dataset_features(robot.observation_features, OBS_STR),
    }
    root = tmp_path / "dataset"
    dataset = LeRobotDataset.create(
        "someone/guarded", FPS, features, root=root, robot_type=robot.name, use_videos=False
    )
    with robot:
        assert robot.is_connected
        record_loop(
            robot,
            {"exit_early": False},
            FPS,
            *make_default_processors(),
            dataset=dataset,
            teleop=FaultyLeader(tmp_path, arm),
            control_time_s=0.5,
            single_task="push",
        )
        dataset.save_episode()
        certificate = robot.certificate.document()
    assert not robot.is_connected
    dataset.finalize()
    file = root / "meta" / "certificates.jsonl"
    file.write_text(json.dumps({"episode_index": 0, **certificate}) + "\n", "utf-8")

    assert certificate["verdict"] == "kept"
    assert certificate["scaled"] > 0
    assert certificate["reflexes"] > 0
    assert 0.01 < arm.largest_given <= 0.2
    again = LeRobotDataset("someone/guarded", root=root)
    assert again.meta.info.codebase_version == "v3.0"
    assert again.num_frames == certificate["samples"]
    assert again[0]["observation.state"].shape == (arm.model.n,)
    assert json.loads(file.read_text("utf-8"))["largest_given"] <= 0.2


def test_an_act_that_knows_nothing_stays_within_the_budget(arm: SimulatedArm) -> None:
    torch.manual_seed(0)
    n = arm.model.n
    config = ACTConfig(
        input_features={
            "observation.state": PolicyFeature(FeatureType.STATE, (n,)),
            "observation.environment_state": PolicyFeature(FeatureType.ENV, (1,)),
        },
        output_features={"action": PolicyFeature(FeatureType.ACTION, (n,))},
        device="cpu",
        chunk_size=8,
        n_action_steps=4,
        dim_model=32,
        n_heads=2,
        dim_feedforward=64,
        n_encoder_layers=1,
        use_vae=False,
    )
    policy = ACTPolicy(config).eval()
    robot = guarded(arm, 0.1)
    robot.connect()
    for _ in range(12):
        state = torch.tensor(list(robot.get_observation().values()), dtype=torch.float32)
        batch = {"observation.state": torch.deg2rad(state)[None]}
        batch["observation.environment_state"] = torch.zeros(1, 1)
        with torch.no_grad():
            action = policy.select_action(batch)[0]
        wanted = (60.0 * action).tolist()  # degrees
        sent = robot.send_action(dict(zip(robot.action_features, wanted, strict=True)))
        assert all(math.isfinite(value) for value in sent.values())
    assert robot.certificate.verdict == "kept"
    assert robot.certificate.document()["scaled"] > 0
    assert arm.largest_given <= 0.1

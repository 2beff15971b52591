# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A robot in a scene as an MJCF with a motor at every joint, for other hosts of MuJoCo."""

from collections.abc import Sequence

from ...actuation.friction import Friction
from ...arrays import Array
from ...errors import ModelError
from ...model import VMSModel
from .coordinates import Coordinates
from .mujoco_robot import RobotShape, build, import_mujoco, specify
from .scene import Scene


def mjcf_text(
    robot: VMSModel,
    home: Array,
    dt: float,
    scene: Scene,
    friction: bool = True,
    shapes: Sequence[RobotShape] = (),
) -> str:
    """Return an MJCF with the joints' names on its motors, and the keyframe ``home``.

    Args:
        robot: on a fixed base.
        home: (nq,) configuration of the keyframe.
        dt: step, s.
        scene: what surrounds it.
        friction: whether the joints' friction acts.
        shapes: of the robot.

    Raises:
        MissingExtraError: MuJoCo is not installed.
        ModelError: MuJoCo cannot represent the robot, or its base moves.
    """
    mujoco = import_mujoco()
    if robot.b:
        raise ModelError(
            f"'{robot.name}' has a {robot.base} base, which motors of joints cannot move; simulate "
            "it with engine:=mujoco"
        )
    acting = Friction.of(robot) if friction else None
    placed = build(robot, scene, dt, acting, True, shapes)
    data = mujoco.MjData(placed.model)
    Coordinates(robot, placed).put(data, home, home[: robot.nv] * 0.0)
    spec = specify(robot, scene, dt, acting, True, shapes)
    for name in robot.joint_names:
        motor = spec.add_actuator(name=name, target=name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.set_to_motor()
    spec.add_key(name="home", qpos=data.qpos)
    spec.compile()
    return str(spec.to_xml())

# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""A robot in a scene as an MJCF with a motor at every joint, for other hosts of MuJoCo."""

from collections.abc import Sequence

from ..arrays import Array
from ..effects.friction import Friction
from ..errors import ModelError
from ..model import VMSModel
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
    found = build(robot, scene, dt, acting, True, shapes)
    data = mujoco.MjData(found.model)
    Coordinates(robot, found).put(data, home, home[: robot.nv] * 0.0)
    spec = specify(robot, scene, dt, acting, True, shapes)
    for name in robot.joint_names:
        motor = spec.add_actuator(name=name, target=name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
        motor.set_to_motor()
    spec.add_key(name="home", qpos=data.qpos)
    spec.compile()
    return str(spec.to_xml())

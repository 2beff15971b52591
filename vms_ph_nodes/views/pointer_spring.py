# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A spring between a point of a link and the pointer of a user, who drags the link."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
import viser

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.energy.legend import LEGEND

from .commands import Commands, PullEfforts
from .robot_scene import RobotScene
from .viewpoint import WorldView

# Stiffness of the spring, N/m, for every kilogram of the robot.
_STIFFNESS_PER_KG = 4.0


@dataclass(frozen=True)
class DraggedPoint:
    """What is dragged.

    Attributes:
        link: its name.
        point: (3,) where it is held, in its axes, m.
        pointer: (3,) where the pointer is, in the inertial frame, m.
    """

    link: str
    point: Array
    pointer: Array


class PointerSpring:
    """Lets a user drag links with the pointer; the spring acts until it is let go."""

    def __init__(
        self,
        server: viser.ViserServer,
        model: VMSModel,
        scene: RobotScene,
        commands: Commands,
        world_view: WorldView,
    ) -> None:
        """Add it to the links of a robot.

        Args:
            server: of the page.
            model: the robot.
            scene: scene in which the robot is drawn.
            commands: commands that the page sends to the node.
            world_view: view in whose world frame the spring is drawn.
        """
        self._server, self._model, self._scene = server, model, scene
        self._commands, self._world_view = commands, world_view
        self.stiffness = float(f"{_STIFFNESS_PER_KG * model.total_mass:.2g}")
        self._dragged: DraggedPoint | None = None
        self._line: Any = None
        for link, meshes in scene.meshes.items():
            for mesh in meshes:
                mesh.on_drag("left", modifier="shift")(self._drag_handler(link))

    def remove(self) -> None:
        """Let go, and take the spring from the scene."""
        self.release()
        self.draw()

    def draw(self) -> None:
        """Draw the spring; called in every frame."""
        point = self._dragged
        if point is None:
            if self._line is not None:
                self._line.remove()
                self._line = None
            return
        end_points = np.array([[self._world_point(point), point.pointer]], dtype=np.float32)
        if self._line is None:
            self._line = self._server.scene.add_line_segments(
                "/world/spring", points=end_points, colors=LEGEND["pushes"].rgb, line_width=4.0
            )
        else:
            self._line.points = end_points

    def _drag_handler(self, link: str) -> Callable[[Any], Any]:
        async def on_drag(event: Any) -> None:  # a coroutine: its calls keep their order
            if event.phase == "end":
                self.release()
                return
            shift = self._world_view.shift
            if event.phase == "start":
                self.grip(link, np.array(event.start_position) - shift)
            self.move(np.array(event.end_position) - shift)

        return on_drag

    def grip(self, link: str, point: Array) -> None:
        """Take hold of a link at a point (3,) in the inertial frame, m."""
        self._dragged = DraggedPoint(link, self._scene.world_pose(link).actInv(point), point)
        self._commands.pull(self._efforts)

    def move(self, pointer: Array) -> None:
        """Move the other end of the spring to a point (3,) in the inertial frame, m."""
        if self._dragged is not None:
            self._dragged = DraggedPoint(self._dragged.link, self._dragged.point, pointer)

    def release(self) -> None:
        """Let go."""
        self._dragged = None
        self._commands.pull(None)

    def _world_point(self, dragged_point: DraggedPoint) -> Array:
        return self._scene.world_pose(dragged_point.link).act(dragged_point.point)

    def _efforts(self) -> PullEfforts | None:
        dragged_point = self._dragged
        if dragged_point is None:
            return None
        point = self._world_point(dragged_point)
        force = self.stiffness * (dragged_point.pointer - point)
        return point_efforts(self._model, self._scene, dragged_point.link, point, force)


def point_efforts(
    model: VMSModel, scene: RobotScene, link: str, point: Array, force: Array
) -> PullEfforts:
    """Return the efforts that act on a robot like a force at a point of a link, ``J^T f``.

    Args:
        model: the robot.
        scene: scene of the robot, with the poses of its links.
        link: its name.
        point: (3,) in the inertial frame, m.
        force: (3,) in the axes of the inertial frame, N.
    """
    robot = model.tree.pinocchio
    data = robot.createData()
    pin.computeJointJacobians(robot, data, pin.neutral(robot))
    wrench = pin.Force(force, np.cross(point, force))  # about the origin of the inertial frame
    torques: dict[str, float] = {}
    joint = robot.frames[robot.getFrameId(link)].parentJoint
    while joint:
        name = robot.names[joint]
        if name in model.joint_names:
            axis = pin.getJointJacobian(robot, data, joint, pin.LOCAL)[:, robot.idx_vs[joint]]
            torques[name] = float(axis @ scene.joint_pose(joint).actInv(wrench).vector)
        joint = robot.parents[joint]
    base_wrench = scene.world_pose(scene.root).actInv(wrench).vector if model.b else None
    return PullEfforts(torques, base_wrench)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Where on the page a robot ought to be: its shapes, projected by a camera as the page has it."""

from itertools import product

import numpy as np
from PIL import Image, ImageDraw

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.robot.kinematic_tree import LinkTree
from vms_ph_io.descriptions.urdf.visuals import visuals
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_nodes.views.robot_scene import _to_mesh
from vms_ph_nodes.views.viewpoint import viewpoint

_TAN = np.tan(np.radians(75.0 / 2.0))  # of half the vertical angle of viser's camera


class SeenRobot:
    """A robot before the camera with which the page begins.

    Attributes:
        model: of the robot.
        canvas: left, top, width and height of the scene, pixels.
        end_effector: (4,4) its pose.
        box: (4,) left, top, right and bottom of its shapes in the picture, pixels.
    """

    def __init__(
        self,
        name: str,
        canvas: tuple[float, float, float, float],
        q: Array | None = None,
        begin: Array | None = None,
    ) -> None:
        """Place the robot.

        Args:
            name: of a bundled robot.
            canvas: left, top, width and height of the scene, pixels.
            q: (nq,) configuration; the initial one by default.
            begin: (nq,) configuration with which the page begins; by default, ``q``.
        """
        settings = RobotSettings(name)
        description = settings.description()
        self.model: VMSModel = settings.model(description)
        if q is None:
            q = settings.initial_configuration(self.model)
        self.canvas = canvas
        self._meshes = [(each.link, each.pose, _to_mesh(each)) for each in visuals(description)]
        tree = LinkTree(self.model.tree)
        self._links = [tree.root, *(edge.child for edge in tree.edges)]
        self.end_effector = self._placement(q, self.model.end_effector)
        around = self._around(q if begin is None else begin)
        view = viewpoint(self.model, np.array([around.min(axis=0), around.max(axis=0)]))
        forward = view.look_at - view.position
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, view.up)
        right = right / np.linalg.norm(right)
        self._position, self._axes = view.position, (right, np.cross(right, forward), forward)
        self._triangles: list[Array] = []
        for link, pose, mesh in self._meshes:
            if link in self._links:  # others carry the joint of the base
                at = self._placement(q, link) @ pose
                drawn = self.pixels(mesh.vertices @ at[:3, :3].T + at[:3, 3])
                self._triangles.append(drawn[mesh.faces])
        ends = np.vstack([each.reshape(-1, 2) for each in self._triangles])
        self.box = np.concatenate([ends.min(axis=0), ends.max(axis=0)])

    def silhouette(self, height: int, width: int) -> np.ndarray:
        """Return which pixels (height, width) of the picture its shapes cover."""
        image = Image.new("1", (width, height))
        draw = ImageDraw.Draw(image)
        for each in np.vstack(self._triangles).round().astype(int).reshape(-1, 6):
            draw.polygon(each.tolist(), fill=1, outline=1)
        return np.asarray(image)

    def _placement(self, q: Array, frame: str) -> Array:
        return self.model.evaluate(q, np.zeros(self.model.nv)).placement(frame)

    def _around(self, q: Array) -> Array:
        """Return points (k,3) of the box that the page takes for the robot."""
        points = [self._placement(q, link)[:3, 3][None] for link in self._links]
        for link, pose, mesh in self._meshes:
            if link in self._links:
                at = self._placement(q, link) @ pose
                # The page takes the boxes of shapes in their own axes.
                points.append(np.array([*product(*mesh.bounds.T)]) @ at[:3, :3].T + at[:3, 3])
        return np.vstack(points)

    def pixels(self, points: Array) -> Array:
        """Return where points (k,3) of the inertial frame are in the picture, (k,2) pixels."""
        left, top, width, height = self.canvas
        right, up, forward = np.array(self._axes) @ (np.asarray(points) - self._position).T
        scale = 0.5 * height / _TAN
        x = left + 0.5 * width + scale * right / forward
        y = top + 0.5 * height - scale * up / forward
        return np.column_stack([x, y])

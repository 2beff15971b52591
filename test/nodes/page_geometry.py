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

"""Where on the page a robot ought to be: its shapes, projected by a camera as the page has it."""

from itertools import product

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.robot.links import LinkTree
from vms_ph_io.robot_settings import RobotSettings
from vms_ph_io.urdf.visuals import visuals
from vms_ph_nodes.views.robot_scene import _to_mesh
from vms_ph_nodes.views.viewpoint import viewpoint

_TAN = np.tan(np.radians(75.0 / 2.0))  # of half the vertical angle of viser's camera


class SeenRobot:
    """A robot in its initial configuration, before the camera with which the page begins.

    Attributes:
        model: of the robot.
        end_effector: (4,4) its pose.
        box: (4,) left, top, right and bottom of its shapes in the picture, pixels.
    """

    def __init__(self, name: str, canvas: tuple[float, float, float, float]) -> None:
        """``canvas`` is left, top, width and height of the scene, pixels."""
        settings = RobotSettings(name)
        description = settings.description()
        self.model: VMSModel = settings.model(description)
        q = settings.initial_configuration(self.model, description)
        self._canvas = canvas
        d = self.model.evaluate(q, np.zeros(self.model.nv))
        self.end_effector = d.placement(self.model.end_effector)
        tree, points = LinkTree(self.model.tree), []
        corners = []
        links = [tree.root, *(edge.child for edge in tree.edges)]
        corners += [d.placement(link)[:3, 3][None] for link in links]
        for visual in visuals(description):
            if visual.link not in links:  # it carries the joint of the base
                continue
            pose, mesh = d.placement(visual.link) @ visual.pose, _to_mesh(visual)
            points.append(mesh.vertices @ pose[:3, :3].T + pose[:3, 3])
            # The page takes the boxes of shapes in their own axes.
            corners.append(np.array([*product(*mesh.bounds.T)]) @ pose[:3, :3].T + pose[:3, 3])
        shapes, around = np.vstack(points), np.vstack(corners)
        view = viewpoint(self.model, np.array([around.min(axis=0), around.max(axis=0)]))
        forward = view.look_at - view.position
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, view.up)
        right = right / np.linalg.norm(right)
        self._position, self._axes = view.position, (right, np.cross(right, forward), forward)
        drawn = self.pixels(shapes)
        self.box = np.concatenate([drawn.min(axis=0), drawn.max(axis=0)])

    def pixels(self, points: Array) -> Array:
        """Return where points (k,3) of the inertial frame are in the picture, (k,2) pixels."""
        left, top, width, height = self._canvas
        right, up, forward = np.array(self._axes) @ (np.asarray(points) - self._position).T
        scale = 0.5 * height / _TAN
        x = left + 0.5 * width + scale * right / forward
        y = top + 0.5 * height - scale * up / forward
        return np.column_stack([x, y])

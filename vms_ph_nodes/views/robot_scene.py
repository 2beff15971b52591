# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The robot in the 3D scene of the web page."""

import itertools
import os
from typing import Any

import numpy as np
import pinocchio as pin
import trimesh
import viser

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.robot.kinematic_tree import LinkTree
from vms_ph_io.descriptions.mesh_files import check_mesh
from vms_ph_io.descriptions.packages import resolve
from vms_ph_io.descriptions.urdf.visuals import Visual, visuals

Pose = tuple[Array, Array] | tuple[tuple[float, ...], tuple[float, ...]]
"""Position (m) and quaternion w x y z."""


class RobotScene:
    """Draws the links of a robot at poses that are set by link name.

    Attributes:
        root: the root link.
        end_effector: the frame of the end effector.
        model: the robot.
        missing_meshes: meshes that cannot be drawn, with the reasons.
        meshes: meshes drawn of every link.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        model: VMSModel,
        description: str,
        scene_path: str = "/world/robot",
        ghost: tuple[int, int, int] | None = None,
    ) -> None:
        """Add the robot to the scene.

        Args:
            server: of the page.
            model: the robot.
            description: its URDF.
            scene_path: name of the robot in the scene.
            ghost: colour (red, green, blue) in which it is drawn transparent; None: its own.
        """
        self._root_frame = server.scene.add_frame(scene_path, show_axes=False)
        tree = self._tree = LinkTree(model.tree)
        self.root, self.end_effector = tree.root, model.end_effector
        # A name of a link may be part of another one, with a slash in it: paths have numbers.
        paths = {tree.root: f"{scene_path}/root"}
        root_frame = server.scene.add_frame(paths[tree.root], show_axes=False)
        self._frames: dict[str, Any] = {tree.root: root_frame}
        for k, edge in enumerate(tree.edges):
            paths[edge.child] = f"{paths[edge.parent]}/link_{k}"
            self._frames[edge.child] = server.scene.add_frame(paths[edge.child], show_axes=False)
        self.missing_meshes: list[str] = []
        self.meshes: dict[str, list[Any]] = {}
        corners: dict[str, list[Array]] = {}
        for i, visual in enumerate(visuals(description)):
            if visual.link not in paths:  # it carries the joint of the base
                continue
            try:
                mesh = _to_mesh(visual)
            except Exception as error:  # readers of meshes raise anything for a damaged file
                self.missing_meshes.append(f"{visual.mesh or visual.shape}: {error}")
                continue
            if mesh.bounds is not None:  # None for a mesh without a triangle
                mesh_corners = np.array([*itertools.product(*mesh.bounds.T)])
                corners.setdefault(visual.link, []).append(_transform(visual.pose, mesh_corners))
            name = f"{paths[visual.link]}/visual_{i}"
            pose = {"position": visual.pose[:3, 3], "wxyz": _wxyz(visual.pose[:3, :3])}
            if ghost is None:
                handle = server.scene.add_mesh_trimesh(name, mesh, **pose)
                self.meshes.setdefault(visual.link, []).append(handle)
            else:
                vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
                server.scene.add_mesh_simple(
                    name, vertices, faces, color=ghost, opacity=0.4, cast_shadow=False, **pose
                )

        self.model, self._corners, self._paths = model, corners, paths
        self._parents = {edge.child: edge.parent for edge in tree.edges}

    def remove(self) -> None:
        """Take the robot from the scene."""
        self._root_frame.remove()

    def show(self, is_visible: bool) -> None:
        """Show or hide the robot."""
        self._root_frame.visible = is_visible

    def path(self, link: str, default: str) -> str:
        """Return the name of a link in the scene, or another one where there is no such link."""
        return self._paths.get(link, default)

    def configure(self, q: Array) -> None:
        """Place all links as in a configuration (nq,)."""
        root_pose = self.model.placement(self.root, q)
        self.set_link_pose(self.root, (root_pose[:3, 3], _wxyz(root_pose[:3, :3])))
        for edge, pose in zip(self._tree.edges, self._tree.relative_poses(q), strict=True):
            self.set_link_pose(edge.child, (pose[:3], np.roll(pose[3:], 1)))

    def root_position(self, q: Array) -> Array:
        """Return the position of the root link at a configuration, (3,) m."""
        return self.model.placement(self.root, q)[:3, 3]

    def box(self, q: Array) -> Array:
        """Return the smallest and largest coordinates in the inertial frame, (2,3) m.

        Args:
            q: (nq,) configuration. Links without a drawn shape count with their origins.
        """
        d = self.model.evaluate(q, np.zeros(self.model.nv))
        origin = np.zeros((1, 3))
        points = [
            _transform(d.placement(link), np.vstack([origin, *self._corners.get(link, ())]))
            for link in self._frames
        ]
        all_points = np.vstack(points)
        return np.array([all_points.min(axis=0), all_points.max(axis=0)])

    def pose(self, frame: str) -> tuple[Array, Array]:
        """Return position (3,), m, and quaternion wxyz (4,) of a frame as it is drawn."""
        tree = self.model.tree
        target_frame = tree.pinocchio.frames[tree.frame_id(frame)]
        pose = self.joint_pose(target_frame.parentJoint) * target_frame.placement
        return pose.translation, _wxyz(pose.rotation)

    def joint_pose(self, joint: int) -> pin.SE3:
        """Return the pose of a joint of Pinocchio's in the inertial frame as it is drawn."""
        tree = self.model.tree
        links = (tree.pinocchio.frames[tree.frame_id(name)] for name in self.links)
        link = next(link for link in links if link.parentJoint == joint)
        return self.world_pose(link.name) * link.placement.inverse()

    @property
    def links(self) -> tuple[str, ...]:
        """Names of the links."""
        return tuple(self._frames)

    def world_pose(self, link: str) -> pin.SE3:
        """Return the pose of a link in the inertial frame as it is drawn."""
        pose, parent = pin.SE3.Identity(), link
        while parent:
            handle = self._frames[parent]
            rotation = pin.Quaternion(*handle.wxyz.tolist()).matrix()
            pose = pin.SE3(rotation, np.array(handle.position)) * pose
            parent = self._parents.get(parent, "")
        return pose

    def set_link_pose(self, link: str, pose: Pose) -> None:
        """Set the pose of a link in its parent frame; of the root link, in the inertial frame."""
        if (frame := self._frames.get(link)) is not None:
            frame.position, frame.wxyz = pose


def _wxyz(rotation: Array) -> Array:
    """Return the quaternion of a rotation (3,3), the real part first."""
    return np.roll(pin.Quaternion(rotation).coeffs(), 1)


def _transform(pose: Array, points: Array) -> Array:
    """Return points (k,3) at a pose (4,4)."""
    return points @ pose[:3, :3].T + pose[:3, 3]


def _to_mesh(visual: Visual) -> trimesh.Trimesh:
    if visual.shape == "mesh":
        path = resolve(visual.mesh)
        if path is None or not os.path.isfile(path):
            raise OSError("no such file")
        check_mesh(path)
        mesh = trimesh.load_scene(path).to_mesh()
        mesh.apply_scale(visual.size)
        is_coloured = visual.has_colour
    else:
        mesh, is_coloured = _PRIMITIVES[visual.shape](*visual.size), True
    if is_coloured:
        colour = [round(255 * component) for component in visual.colour]
        mesh.visual = trimesh.visual.ColorVisuals(mesh, face_colors=colour)
    return mesh


_PRIMITIVES = {
    "box": lambda x, y, z: trimesh.creation.box((x, y, z)),
    "sphere": lambda radius: trimesh.creation.icosphere(radius=radius),
    "cylinder": lambda radius, length: trimesh.creation.cylinder(radius, length),
    "capsule": lambda radius, length: trimesh.creation.capsule(length, radius),
}

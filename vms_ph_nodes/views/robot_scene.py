"""The robot in the 3D scene of the web page."""

import os
from typing import Any

import numpy as np
import pinocchio as pin
import trimesh
import viser

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.robot.links import LinkTree
from vms_ph_io.packages import resolve
from vms_ph_io.urdf.visuals import Visual, visuals

Pose = tuple[tuple[float, float, float], tuple[float, float, float, float]]
"""Position (m) and quaternion w x y z."""


class RobotScene:
    """Draws the links of a robot at poses that are set by link name."""

    def __init__(self, server: viser.ViserServer, model: VMSModel, description: str) -> None:
        tree = LinkTree(model.tree)
        paths = {tree.root: f"/robot/{tree.root}"}
        base = server.scene.add_frame(paths[tree.root], show_axes=False)
        self._frames: dict[str, Any] = {tree.root: base}
        for edge in tree.edges:
            paths[edge.child] = f"{paths[edge.parent]}/{edge.child}"
            self._frames[edge.child] = server.scene.add_frame(paths[edge.child], show_axes=False)
        self.missing: list[str] = []
        for i, visual in enumerate(visuals(description)):
            try:
                mesh = _to_mesh(visual)
            except Exception as error:  # readers of meshes raise anything for a damaged file
                self.missing.append(f"{visual.mesh or visual.shape}: {error}")
                continue
            quaternion = pin.Quaternion(visual.pose[:3, :3]).coeffs()
            server.scene.add_mesh_trimesh(
                f"{paths[visual.link]}/visual_{i}",
                mesh,
                position=visual.pose[:3, 3],
                wxyz=np.roll(quaternion, 1),
            )

    def place(self, link: str, pose: Pose) -> None:
        """Set the pose of a link in its parent frame; of the root link, in the inertial frame."""
        frame = self._frames.get(link)
        if frame is not None:
            frame.position, frame.wxyz = pose


def _to_mesh(visual: Visual) -> trimesh.Trimesh:
    if visual.shape == "mesh":
        path = resolve(visual.mesh)
        if path is None or not os.path.isfile(path):
            raise OSError("no such file")
        mesh = trimesh.load_scene(path).to_mesh()
        mesh.apply_scale(visual.size)
        coloured = visual.coloured
    else:
        mesh, coloured = _PRIMITIVES[visual.shape](*visual.size), True
    if coloured:
        mesh.visual = trimesh.visual.ColorVisuals(
            mesh, face_colors=[round(255 * c) for c in visual.colour]
        )
    return mesh


_PRIMITIVES = {
    "box": lambda x, y, z: trimesh.creation.box((x, y, z)),
    "sphere": lambda radius: trimesh.creation.icosphere(radius=radius),
    "cylinder": lambda radius, length: trimesh.creation.cylinder(radius, length),
    "capsule": lambda radius, length: trimesh.creation.capsule(length, radius),
}

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The pose and twist of a moving base from odometry, transforms or poses."""

import numpy as np

from vms_ph_dynamics import Array, VMSModel
from vms_ph_dynamics.energy.samples import smoothed_velocity, white_noise
from vms_ph_dynamics.robot.joints import BASE_COMPONENTS
from vms_ph_dynamics.robot.kinematic_tree import LinkTree

from .joint_signals import AlignedSeries
from .recording import LARGEST_NUMBER, POSE, Recording, RecordingError
from .signal_checks import STANDSTILL

_MAX_ROWS = 20_000  # poses with which the twist is compared
_MIN_ROWS = 64  # poses from which that is possible
_MISFIT_RATIO = 0.25  # share of the misfit below which other axes fit clearly better
_TWIST_PARTS = {"linear": slice(0, 3), "angular": slice(3, 6)}  # of a twist


class BaseStates:
    """Base parts of configurations and velocities at the stamps of samples.

    Args:
        recording: the recording.
        model: the robot; nothing is read for a fixed base.
        stamps: (N,) ns.
        topic: topic of the base, or empty.

    Raises:
        RecordingError: the base moves, and no motion of it is recorded.
    """

    def __init__(
        self, recording: Recording, model: VMSModel, stamps: Array, topic: str = ""
    ) -> None:
        self.model = model
        self.notes: list[str] = []
        self.used_series: list[AlignedSeries] = []
        """The series that are used."""
        self._pose: AlignedSeries | None = None
        self._twist: AlignedSeries | None = None
        if not model.b:
            return
        root = LinkTree(model.tree).root
        candidates = [base for base in recording.bases if not topic or base.name == topic]
        matches = [s for s in candidates if s.child.rpartition("/")[2] in ("", root)] or candidates
        pose_series = [s for s in matches if s.table.has(0)]
        if not pose_series:
            names = ", ".join(s.name for s in recording.bases) or "none"
            raise RecordingError(
                f"the {model.base} base of '{model.name}' needs its pose: odometry, a transform or "
                f"a pose; recorded are {names}. If it stood still, choose --base fixed"
            )
        # Odometry has a twist, which is more exact than a difference of poses.
        pose = max(pose_series, key=lambda s: (s.table.has(len(POSE)), len(s.table)))
        self._pose = AlignedSeries(pose, stamps)
        if pose.table.has(len(POSE)):
            self._twist = self._pose
        elif twist_series := [s for s in matches if s.table.has(len(POSE))]:
            self._twist = AlignedSeries(max(twist_series, key=lambda s: len(s.table)), stamps)
        else:
            self.notes.append(f"the twist of the base is estimated from the poses on {pose.name}")
        self.used_series += {id(c): c for c in (self._pose, self._twist) if c is not None}.values()
        used_names = list(dict.fromkeys(aligned.series.name for aligned in self.used_series))
        self.notes += [
            f"{name} has the pose of the base too and is not used; used is "
            f"{' and '.join(used_names)} (choose with --topic base={name})"
            for name in dict.fromkeys(s.name for s in pose_series)
            if name not in used_names
        ]
        self._axes = self._twist_axes() if self._twist is not None else {}

    def states(self, begin: int, end: int, t: Array) -> tuple[Array, Array]:
        """Return base parts of configurations (N, nq_base) and velocities (N, b)."""
        count, model = end - begin, self.model
        if self._pose is None:
            return np.zeros((count, 0)), np.zeros((count, 0))
        pose = _with_continuous_signs(self._pose.values(begin, end)[:, : len(POSE)])
        position, quaternion = pose[:, :3], pose[:, 3:]
        quaternion = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True).clip(1e-12)
        if self._twist is not None:
            twist = self._twist.values(begin, end)[:, len(POSE) :]
            twist = np.where(np.abs(twist) <= LARGEST_NUMBER, twist, 0.0)
            for name, axes in self._axes.items():
                part = _TWIST_PARTS[name]
                if axes == "world":
                    twist[:, part] = in_base_axes(quaternion, twist[:, part])
                elif axes == "none":
                    twist[:, part] = _twist_of(t, position, quaternion)[:, part]
        else:
            twist = _twist_of(t, position, quaternion)
        if model.base == "planar":
            angle = 2.0 * np.arctan2(quaternion[:, 2], quaternion[:, 3])
            q = np.column_stack([position[:, :2], np.cos(angle), np.sin(angle)])
            return q, twist[:, BASE_COMPONENTS[model.b]]
        return np.hstack([position, quaternion]), twist

    def _twist_axes(self) -> dict[str, str]:
        """Return which axes the recorded twist has, by the poses: body, world, or none of both."""
        assert self._pose is not None
        assert self._twist is not None
        times = self._pose.series.table.times
        rows = min(len(times), _MAX_ROWS)
        if rows < _MIN_ROWS:
            return {}
        pose, twist = (
            AlignedSeries(c.series, times[:rows]).values(0, rows) for c in (self._pose, self._twist)
        )
        pose, twist = _with_continuous_signs(pose[:, : len(POSE)]), twist[:, len(POSE) :]
        t = (times[:rows] - times[0]) * 1e-9
        if not bool(np.all(np.diff(t) > 0.0)):
            return {}
        pose_twist = _twist_of(t, pose[:, :3], pose[:, 3:])
        axes: dict[str, str] = {}
        topic, frame = self._twist.series.name, self._twist.series.frame or "the world"
        for name, part in _TWIST_PARTS.items():
            if float((pose_twist[:, part] ** 2).sum()) < rows * STANDSTILL**2:
                continue  # at rest, nothing tells
            candidates = twist[:, part], in_base_axes(pose[:, 3:], twist[:, part])
            as_body, as_world = (_misfit(c, pose_twist[:, part]) for c in candidates)
            # The order of numbers of Eigen's constructor, MuJoCo and others.
            reordered = _twist_of(t, pose[:, :3], pose[:, [4, 5, 6, 3]])[:, part]
            if name == "angular" and _misfit(twist[:, part], reordered) < 0.1 * min(as_body, 1.0):
                raise RecordingError(
                    f"the angular twist on {topic} follows the quaternions as w, x, y, z, and not "
                    "as x, y, z, w: record them so, or name their columns so in a column map"
                )
            if as_world < _MISFIT_RATIO * as_body:
                axes[name] = "world"
                self.notes.append(
                    f"the {name} twist on {topic} is in the axes of {frame}, not of the base, as "
                    "the poses show; it is turned"
                )
            elif as_body > 0.5:  # else, also where it is NaN, nothing tells
                axes[name] = "none"
                text = f"the {name} twist on {topic} does not follow the poses (misfit "
                text += f"{100 * as_body:.0f} %); it is estimated from them"
                self.notes.append(text)
        return axes

    def noise(self, q: Array) -> Array:
        """Return the noise of the base's configuration in tangent coordinates, (b,)."""
        if not self.model.b:
            return np.zeros(0)
        noise = white_noise(q[:, : self.model.nq_base])
        if self.model.base == "planar":
            return np.array([noise[0], noise[1], float(np.hypot(noise[2], noise[3]))])
        return np.concatenate([noise[:3], 2.0 * noise[3:6]])


def moving_root(recording: Recording, model: VMSModel) -> str:
    """Return the root link of a robot if its pose is recorded and changes, or an empty text."""
    root = LinkTree(model.tree).root
    for series in recording.bases:
        if series.child.rpartition("/")[2] == root and series.table.has(0):
            pose = series.table.rows(0, 100_000)[:, 1 : 1 + len(POSE)]
            pose = pose[np.isfinite(pose).all(axis=1)]
            if (pose != pose[:1]).any():
                return root
    return ""


def _misfit(twist: Array, pose_twist: Array) -> float:
    return float(((twist - pose_twist) ** 2).sum() / max((pose_twist**2).sum(), 1e-300))


def _with_continuous_signs(pose: Array) -> Array:
    """Return poses whose quaternions do not jump to the opposite, and without gaps of NaN."""
    pose = np.where(np.abs(pose) <= LARGEST_NUMBER, pose, 0.0)
    is_flip = np.einsum("ij,ij->i", pose[1:, 3:], pose[:-1, 3:]) < 0.0
    signs = np.concatenate([[1.0], np.where(np.cumsum(is_flip) % 2, -1.0, 1.0)])
    return np.hstack([pose[:, :3], pose[:, 3:] * signs[:, None]])


def _twist_of(t: Array, position: Array, quaternion: Array) -> Array:
    """Return body twists from the slopes of positions and quaternions, (N, 6)."""
    slope = smoothed_velocity(t, np.hstack([position, quaternion]))[0]
    x, y, z, w = quaternion.T
    dx, dy, dz, dw = slope[:, 3:].T
    # Twice the vector part of conj(q) dq/dt.
    angular_velocity = 2.0 * np.column_stack(
        [
            w * dx - x * dw - y * dz + z * dy,
            w * dy - y * dw - z * dx + x * dz,
            w * dz - z * dw - x * dy + y * dx,
        ]
    )
    return np.hstack([in_base_axes(quaternion, slope[:, :3]), angular_velocity])


def in_world_axes(quaternion: Array, vector: Array) -> Array:
    """Return vectors (N, 3) in axes of the base in those of the inertial frame."""
    return in_base_axes(quaternion * np.array([-1.0, -1.0, -1.0, 1.0]), vector)


def in_base_axes(quaternion: Array, vector: Array) -> Array:
    """Return vectors of the inertial frame in the axes of the base."""
    axis, w = -quaternion[:, :3], quaternion[:, 3:]
    cross = 2.0 * np.cross(axis, vector)
    return np.asarray(vector + w * cross + np.cross(axis, cross))

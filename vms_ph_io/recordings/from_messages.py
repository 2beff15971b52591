# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings from the messages of bags; topics are found by their types."""

import math
from array import array
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics.errors import did_you_mean
from vms_ph_dynamics.forms import PORTS

from ..bag import BagMessage
from ..progress import Progress, no_progress
from ..settings.bounded_files import check_decompressed
from .messages import Messages, decode
from .recording import POSE, TWIST, WRENCH, Recording, RecordingError, Series

_MAX_SERIES = 32  # of joints, up to which those of a topic are joined

_NAN = float("nan")
_NO_POSE, _NO_TWIST = (_NAN,) * 7, (_NAN,) * 6


def _pose_getter(path: str, position: str = "position", orientation: str = "orientation") -> Any:
    """Return a function from a message to the numbers of the pose in one of its fields."""
    axes = [*(f"{position}.{x}" for x in "xyz"), *(f"{orientation}.{x}" for x in "xyzw")]
    return attrgetter(*(f"{path}.{axis}" for axis in axes))


def _twist_getter(path: str, linear: str = "linear", angular: str = "angular") -> Any:
    """Return a function from a message to the numbers of the twist in one of its fields."""
    return attrgetter(*(f"{path}.{part}.{x}" for part in (linear, angular) for x in "xyz"))


_TRANSFORM_GETTERS = (_pose_getter("transform", "translation", "rotation"), None)
_MOTION_GETTERS: Mapping[str, tuple[Any, Any]] = {
    "nav_msgs/msg/Odometry": (_pose_getter("pose.pose"), _twist_getter("twist.twist")),
    "geometry_msgs/msg/PoseStamped": (_pose_getter("pose"), None),
    "geometry_msgs/msg/PoseWithCovarianceStamped": (_pose_getter("pose.pose"), None),
    "geometry_msgs/msg/TwistStamped": (None, _twist_getter("twist")),
    "geometry_msgs/msg/TwistWithCovarianceStamped": (None, _twist_getter("twist.twist")),
    "tf2_msgs/msg/TFMessage": _TRANSFORM_GETTERS,
    "tf/msg/tfMessage": _TRANSFORM_GETTERS,
}
"""What gives pose and twist of a base in a message, by its type."""

_WRENCH_GETTER = _twist_getter("wrench", "force", "torque")

# Frames whose transform to a base is the pose of the base (REP-105).
_INERTIAL_FRAMES = ("odom", "map", "world", "earth")

ROLES = ("joints", "base", "wrench")
"""What a topic can be chosen for, see ``topics`` of :func:`read_messages`."""


class _SeriesCollector:
    """Sorts messages into series."""

    def __init__(self, path: Path, kind: str, chosen_topics: Mapping[str, str]) -> None:
        self.recording, self._topics = Recording(path, kind), chosen_topics
        self._series: dict[tuple[Any, ...], Series] = {}
        self._undecoded_counts: dict[str, int] = {}
        self._descriptions: dict[str, str] = {}
        self._unstamped: dict[int, tuple[Series, array[int], array[int]]] = {}
        self.size = 0
        """Of the messages that were taken."""
        self._handlers: dict[str, tuple[str, Callable[[BagMessage, Any], None]]] = {
            "sensor_msgs/msg/JointState": ("joints", self._joint_state),
            **dict.fromkeys(_MOTION_GETTERS, ("base", self._motion)),
            "tf2_msgs/msg/TFMessage": ("base", self._transforms),
            "tf/msg/tfMessage": ("base", self._transforms),
            "geometry_msgs/msg/WrenchStamped": ("wrench", self._wrench),
            "vms_ph/msg/PortEnergy": ("", self._port_energy),
            "std_msgs/msg/String": ("", self._description),
        }
        """What a type is used for, see :data:`ROLES`, and what reads it."""

    def add(self, message: BagMessage) -> None:
        role, handler = self._handlers.get(message.type, ("", None))
        if handler is None or not self._is_chosen(message.topic, role):
            return
        self.size += len(message.data)
        content = decode(message)
        # Its definition in the bag may have other fields than the type of that name.
        with suppress(AttributeError, TypeError, ValueError, OverflowError):
            if content is not None:
                handler(message, content)
                return
        self._undecoded_counts[message.topic] = self._undecoded_counts.get(message.topic, 0) + 1

    def finish(self) -> Recording:
        self.recording.notes += [
            f"{count} messages on {topic} could not be decoded"
            for topic, count in self._undecoded_counts.items()
        ]
        # Time zero is that of a simulation at its start, unless most stamps of a topic are zero.
        for series, rows, log_times in self._unstamped.values():
            if 2 * len(rows) > len(series.table):
                for row, time in zip(rows, log_times, strict=True):
                    series.table.set_time(row, time)
        if len(self.recording.joints) <= _MAX_SERIES:
            self._join_joints()
        self._choose_description()
        return self.recording

    def _join_joints(self) -> None:
        """Make one series of those of a topic that follow each other, such as with more joints."""
        result: list[Series] = []
        for series in sorted(self.recording.joints, key=lambda s: int(s.table.times[0])):
            peers = [s for s in result if s.name == series.name and {*s.names} & {*series.names}]
            for predecessor in [s for s in peers if s.table.times[-1] < series.table.times[0]][:1]:
                result.remove(predecessor)
                series = predecessor.followed_by(series)
            result.append(series)
        self.recording.joints = result

    def _choose_description(self) -> None:
        """Take the description in the namespace of the joint states, if there are several."""
        joints = max(self.recording.joints, key=lambda s: len(s.table), default=None)
        namespace = "" if joints is None else joints.name.rpartition("/")[0]

        def rank(topic: str) -> tuple[bool, int]:
            prefix = topic.rpartition("/")[0]
            return f"{namespace}/".startswith(f"{prefix}/"), len(prefix)

        if self._descriptions:
            self.recording.description = self._descriptions[max(self._descriptions, key=rank)]

    def _is_chosen(self, topic: str, role: str) -> bool:
        """Return whether no other topic was chosen for what a topic is used for."""
        topics = [name for key, name in self._topics.items() if key.partition(".")[0] == role]
        return not topics or topic in topics

    def _joint_state(self, message: BagMessage, content: Any) -> None:
        names = tuple(content.name)
        signals = [content.position, content.velocity, content.effort]
        if not names or all(len(signal) != len(names) for signal in signals):
            return
        # A driver that starts again may change the order.
        series = self._series_of("joints", message.topic, (*sorted(names),), (), names=names)
        row_order = [names.index(name) for name in series.names] if series.names != names else ...
        nans = np.full(len(names), _NAN)
        values = [signal[row_order] if len(signal) == len(names) else nans for signal in signals]
        self._append(series, message, content, np.concatenate(values).tolist())

    def _motion(self, message: BagMessage, content: Any) -> None:
        pose_of, twist_of = _MOTION_GETTERS[message.type]
        pose = pose_of(content) if pose_of else _NO_POSE
        if not all(map(math.isfinite, pose)):
            pose = _NO_POSE
        frame, child = content.header.frame_id, getattr(content, "child_frame_id", "")
        series = self._series_of(
            "bases", message.topic, (frame, child), (*POSE, *TWIST), frame=frame, child=child
        )
        row = (*pose, *(twist_of(content) if twist_of else _NO_TWIST))
        self._append(series, message, content, row)

    def _transforms(self, message: BagMessage, content: Any) -> None:
        for transform in content.transforms:
            if transform.header.frame_id.rpartition("/")[2] in _INERTIAL_FRAMES:
                self._motion(message, transform)

    def _wrench(self, message: BagMessage, content: Any) -> None:
        frame = content.header.frame_id
        series = self._series_of("wrenches", message.topic, (), WRENCH, frame=frame)
        self._append(series, message, content, _WRENCH_GETTER(content))

    def _port_energy(self, message: BagMessage, content: Any) -> None:
        tools = tuple(content.tool_names)
        columns = (*PORTS, *tools, "dissipated", "resets")
        series = self._series_of("port_energies", message.topic, tools, columns)
        row = [*(getattr(content, port) for port in PORTS), *content.tool_energy]
        row += [content.dissipated, content.resets]
        self._append(series, message, content, row)
        self.recording.port_energies = series

    def _description(self, message: BagMessage, content: Any) -> None:
        if message.topic.endswith("robot_description") and "<robot" in content.data:
            self._descriptions[message.topic] = content.data

    def _series_of(
        self, kind: str, topic: str, key: Any, columns: Iterable[str], **options: Any
    ) -> Series:
        """Return the series of a topic, which is made at its first message."""
        series_key = (kind, topic, key)
        if series_key not in self._series:
            series = self._series[series_key] = Series.make(topic, columns, **options)
            collection = getattr(self.recording, kind)
            if isinstance(collection, list):
                collection.append(series)
        return self._series[series_key]

    def _append(self, series: Series, message: BagMessage, content: Any, row: Any) -> None:
        stamp = content.header.stamp
        time = int(stamp.sec * 1_000_000_000 + stamp.nanosec)
        if not time:
            unstamped = self._unstamped.setdefault(id(series), (series, array("q"), array("q")))
            unstamped[1].append(len(series.table))
            unstamped[2].append(message.log_time)
        series.table.append(time, ((message.log_time - time) * 1e-9 if time else 0.0, *row))


def read_messages(
    path: Path, topics: Mapping[str, str] | None = None, progress: Progress = no_progress
) -> Recording:
    """Return the recording in a bag of ROS 2 or ROS 1.

    Args:
        path: of the bag.
        topics: topics that are chosen, by role: ``joints``, ``base``, ``wrench.<frame>``. Topics
            of the types of a role are all read where none is chosen for it.
        progress: called while messages are read.

    Raises:
        RecordingError: there is no bag, or it has no joint states.
    """
    topic_of = dict(topics or {})
    for role in topic_of:
        if role.partition(".")[0] not in ROLES:
            text = f"'{role}' is nothing that a topic can be chosen for; accepted are joints, base "
            text += "and wrench.FRAME"
            raise RecordingError(text)
    messages = Messages(path, progress)
    reader = _SeriesCollector(path, "ROS 1 bag" if path.suffix == ".bag" else "rosbag2", topic_of)
    types_by_topic: dict[str, str] = {}
    for message in messages:
        check_decompressed(path.name, messages.size, reader.size, "`ros2 bag convert` unpacks it")
        types_by_topic.setdefault(message.topic, message.type)
        reader.add(message)
    recording = reader.finish()
    recording.notes = messages.notes + recording.notes
    if absent := [t for t in topic_of.values() if t not in types_by_topic]:
        hint = did_you_mean(absent[0], types_by_topic)
        raise RecordingError(
            f"{path} has no topic {absent[0]}{hint}; its topics are {_topic_list(types_by_topic)}"
        )
    if not recording.joints and not recording.bases:
        text = f"{path} contains no joint states (sensor_msgs/msg/JointState); its topics are "
        text += f"{_topic_list(types_by_topic) or 'none'}"
        raise RecordingError("; ".join([text, *recording.notes]))
    return recording


def _topic_list(types_by_topic: Mapping[str, str]) -> str:
    return ", ".join(f"{topic} [{kind}]" for topic, kind in sorted(types_by_topic.items()))

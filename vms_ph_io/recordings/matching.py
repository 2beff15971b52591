# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Which recorded joint is which joint of the model; joints are matched by name, never by index."""

import difflib
import re
from collections.abc import Mapping
from typing import NamedTuple

from vms_ph_dynamics import VMSModel

from .. import robots
from .recording import Recording, RecordingError, Series

_COMMANDS = re.compile(r"command|cmd|desired|target|reference|goal|setpoint", re.IGNORECASE)
"""Topics of what joints should do, which are taken where nothing else has a joint."""


class Column(NamedTuple):
    """A column of a series, LOG not counted."""

    series: Series
    place: int


class JointSource(NamedTuple):
    """Where position, velocity and effort of one joint of the model are recorded."""

    position: Column
    velocity: Column
    effort: Column


def sources(
    model: VMSModel, recording: Recording, renamed: Mapping[str, str] | None = None
) -> list[JointSource]:
    """Return the source of every joint of the model, in its order.

    Of several series with a joint, the one with most joints of the model and positions is taken;
    velocities and efforts that it lacks are those of another one.

    Args:
        model: the robot.
        recording: the recording.
        renamed: recorded names by names of the model, where they differ.

    Raises:
        RecordingError: a joint was not recorded; the message has both lists of joints, and what is
            nearest.
    """
    names = {joint: (renamed or {}).get(joint, joint) for joint in model.joint_names}
    for joint in renamed or {}:
        if joint not in names:
            raise RecordingError(
                f"'{joint}' is no joint of '{model.name}'; its joints are "
                f"{', '.join(model.joint_names)}"
            )

    def size(series: Series) -> tuple[bool, bool, int, int]:
        common = set(names.values()) & set(series.names)
        is_command = bool(_COMMANDS.search(series.name))
        has_positions = any(series.table.has(series.names.index(name)) for name in common)
        return has_positions, not is_command, len(common), len(series.table)

    ranked = sorted(recording.joints, key=size, reverse=True)
    matches = []
    for name in names.values():
        series = [s for s in ranked if name in s.names]
        if not series:
            raise _mismatch(model, recording, names)
        columns = []
        for quantity in range(3):
            found = [Column(s, quantity * len(s.names) + s.names.index(name)) for s in series]
            columns.append(next((c for c in found if c.series.table.has(c.place)), found[0]))
        matches.append(JointSource(*columns))
    return matches


def unused(matches: list[JointSource], recording: Recording) -> list[str]:
    """Return sentences about other topics that have joints of the robot, and are not used."""
    used = {id(column.series): column.series for source in matches for column in source}
    names = {c.series.names[c.place % len(c.series.names)] for s in matches for c in s}
    sentences = []
    for series in recording.joints:
        if id(series) not in used and (common := names & set(series.names)):
            taken = ", ".join(dict.fromkeys(s.name for s in used.values()))
            sentences.append(
                f"{series.name} has {len(common)} of the joints too and is not used; used is "
                f"{taken} (choose with --topic joints={series.name})"
            )
    for source in matches:
        for quantity, column in zip(("velocity", "effort"), source[1:], strict=True):
            if column.series is not source.position.series:
                joint = source.position.series.names[source.position.place]
                sentences.append(f"the {quantity} of {joint} is that on {column.series.name}")
    return sentences


def _mismatch(model: VMSModel, recording: Recording, names: Mapping[str, str]) -> RecordingError:
    recorded = recording.joint_names
    missing = [joint for joint, name in names.items() if name not in recorded]
    free = [name for name in recorded if name not in names.values()]
    lines = [
        f"the recording does not have the joints of '{model.name}'",
        f"  joints of the model:     {', '.join(model.joint_names)}",
        f"  joints of the recording: {', '.join(recorded) or 'none'}",
        f"  not in the recording:    {', '.join(missing)}",
    ]
    pairs = _nearest(missing, free)
    if pairs:
        pairing = " ".join(f"--joint {joint}={name}" for joint, name in pairs.items())
        lines.append(f"  nearest match:           {pairing}")
    if len(missing) < model.n:
        locked = ",".join(joint for joint in missing if joint not in pairs) or ",".join(missing)
        lines.append(f"  joints that stood still:  --locked-joints {locked}")
    if alike := _robot_like(recorded, model.joint_names):
        lines.append(f"  a bundled robot that has the recorded joints: {alike}")
    return RecordingError("\n".join(lines))


def _nearest(missing: list[str], free: list[str]) -> dict[str, str]:
    """Return the recorded joint whose name is nearest, by joint of the model; each once."""
    scores = sorted(
        (
            (difflib.SequenceMatcher(None, joint.lower(), name.lower()).ratio(), joint, name)
            for joint in missing
            for name in free
        ),
        key=lambda s: (-s[0], missing.index(s[1]), free.index(s[2])),
    )
    pairs: dict[str, str] = {}
    for score, joint, name in scores:
        if score > 0.6 and joint not in pairs and name not in pairs.values():
            pairs[joint] = name
    return {joint: pairs[joint] for joint in missing if joint in pairs}


def _robot_like(recorded: tuple[str, ...], model_joints: tuple[str, ...]) -> str:
    """Return the bundled robot all of whose joints were recorded, or an empty text."""
    best, most = "", 0
    for name in robots.names():
        try:
            joints = robots.load(name).joint_names
        except Exception:  # a robot whose data package is not installed is none to propose
            continue
        if set(joints) <= set(recorded) and set(joints) != set(model_joints) and len(joints) > most:
            best, most = name, len(joints)
    return best

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Which recorded joint is which joint of the model; joints are matched by name, never by index."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from vms_ph_dynamics import VMSModel

from .. import robots
from .recording import Recording, RecordingError, Series


@dataclass(frozen=True)
class JointSource:
    """Where the samples of one joint of the model stand: a series, and its index in it."""

    series: Series
    index: int


def sources(
    model: VMSModel, recording: Recording, renamed: Mapping[str, str] | None = None
) -> list[JointSource]:
    """Return the source of every joint of the model, in its order.

    Of several series with a joint the one with most joints of the model is taken.

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

    def size(series: Series) -> tuple[int, int]:
        return len(set(names.values()) & set(series.names)), len(series.table)

    ranked = sorted(recording.joints, key=size, reverse=True)
    matches = []
    for name in names.values():
        series = next((s for s in ranked if name in s.names), None)
        if series is None:
            raise _mismatch(model, recording, names)
        matches.append(JointSource(series, series.names.index(name)))
    return matches


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

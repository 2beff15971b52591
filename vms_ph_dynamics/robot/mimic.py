# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Joints that mimic others: the full model projected on the independent joints.

Pinocchio's own mimic joints cannot be used: its aba rejects them and its Coriolis matrix is wrong
for them. With joint positions ``q_full = S y + c`` the terms of the full model are projected
instead: ``M = P^T M_full P``, ``C = P^T C_full P``, with P the block-diagonal matrix of the
identity on the base and S.
"""

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Array, frozen
from ..errors import ModelError
from .joints import JointTable, joint_table


@dataclass(frozen=True)
class Mimic:
    """A joint that follows another: ``position = multiplier * position of the other + offset``.

    Attributes:
        leader: name of the joint that it follows.
        multiplier: of its position; m/rad or rad/m between joints of different kinds.
        offset: rad or m.
    """

    leader: str
    multiplier: float = 1.0
    offset: float = 0.0


def read_mimics(description: ET.Element) -> dict[str, Mimic]:
    """Return the mimic tags of a URDF, but for those of no joint, by the joint that follows."""
    mimics, joint_names = {}, {joint.get("name") for joint in description.findall("joint")}
    for joint in description.findall("joint"):
        tag = joint.find("mimic")
        if tag is not None and joint.get("type") != "fixed" and tag.get("joint") in joint_names:
            mimics[str(joint.get("name"))] = Mimic(
                str(tag.get("joint")),
                float(tag.get("multiplier", 1.0)),
                float(tag.get("offset", 0.0)),
            )
    return mimics


def resolve_mimics(
    mimics: Mapping[str, Mimic], locked: Mapping[str, float]
) -> tuple[dict[str, Mimic], dict[str, float]]:
    """Resolve chains of mimics to independent joints, and lock followers of locked joints.

    Returns:
        The remaining mimics, each of an independent joint, and all joints to lock with positions.

    Raises:
        ModelError: joints mimic each other in a circle.
    """
    remaining_mimics, positions = {}, dict(locked)
    for name in mimics:
        if name in locked:
            continue
        multiplier, offset, leader, path = 1.0, 0.0, name, [name]
        while leader in mimics and leader not in locked:
            mimic = mimics[leader]
            offset += multiplier * mimic.offset
            multiplier *= mimic.multiplier
            leader = mimic.leader
            if leader in path:
                raise ModelError(f"the joints {', '.join(path)} mimic each other in a circle")
            path.append(leader)
        if leader in locked:
            positions[name] = multiplier * locked[leader] + offset
        else:
            remaining_mimics[name] = Mimic(leader, multiplier, offset)
    return remaining_mimics, positions


class Projection:
    """The map from independent to all joints of a Pinocchio model.

    Attributes:
        matrix: P (nv_full,nv), velocities.
        nq: number of entries of an independent configuration.
    """

    def __init__(self, model: Any, mimics: Mapping[str, Mimic]) -> None:
        """Build the map for resolved mimics.

        Raises:
            ModelError: a joint is unknown, or a joint with several positions mimics or is mimicked.
        """
        joints = [model.joints[i] for i in range(1, model.njoints) if model.names[i] not in mimics]
        if not joints:
            raise ModelError(f"every joint of the robot '{model.name}' mimics another one")
        self._nq_full, self._mimics = model.nq, dict(mimics)
        self._entries = [k for joint in joints for k in range(joint.idx_q, joint.idx_q + joint.nq)]
        self._followers: list[tuple[int, int, float, float]] = []
        self.nq = len(self._entries)
        velocity_ids = [k for joint in joints for k in range(joint.idx_v, joint.idx_v + joint.nv)]
        matrix = np.eye(model.nv)[:, velocity_ids]
        for name, mimic in mimics.items():
            self._add_mimic(model, name, mimic, matrix)
        self.matrix: Array = frozen(matrix)

    def configuration(self, q: Array) -> Array:
        """Return the full configuration of an independent one, or of each of several (...,nq)."""
        q_full = np.empty((*q.shape[:-1], self._nq_full))
        q_full[..., self._entries] = q
        for follower, leader, multiplier, offset in self._followers:
            q_full[..., follower] = multiplier * q_full[..., leader] + offset
        return q_full

    def within_followers(self, model: Any, joints: JointTable) -> JointTable:
        """Return the joints with limits that keep those that mimic them within theirs.

        Raises:
            ModelError: limits cannot be satisfied together.
        """
        table = joint_table(model, [model.getJointId(name) for name in self._mimics])
        lower, upper = joints.lower.copy(), joints.upper.copy()
        max_rate = joints.velocity.copy()
        for k, (name, mimic) in enumerate(self._mimics.items()):
            if mimic.multiplier == 0.0:
                continue
            i = joints.names.index(mimic.leader)
            limits = (np.array([table.lower[k], table.upper[k]]) - mimic.offset) / mimic.multiplier
            lower[i], upper[i] = max(lower[i], np.min(limits)), min(upper[i], np.max(limits))
            max_rate[i] = min(max_rate[i], table.velocity[k] / abs(mimic.multiplier))
            if lower[i] > upper[i]:
                raise ModelError(
                    f"the limits of joint '{name}' cannot be met: it mimics '{mimic.leader}', "
                    f"whose own limits are {joints.lower[i]:g} and {joints.upper[i]:g}"
                )
        return replace(joints, lower=frozen(lower), upper=frozen(upper), velocity=frozen(max_rate))

    def without_mimics(self, q_full: Array) -> Array:
        """Return the independent part of a full configuration."""
        return q_full[self._entries]

    def _add_mimic(self, model: Any, name: str, mimic: Mimic, matrix: Array) -> None:
        joints = []
        for joint_name in (name, mimic.leader):
            if not model.existJointName(joint_name):
                raise ModelError(
                    f"joint '{name}' mimics '{mimic.leader}': no moving joint '{joint_name}'"
                )
            joint = model.joints[model.getJointId(joint_name)]
            if joint.nq != 1:
                raise ModelError(
                    f"joint '{name}' mimics '{mimic.leader}': '{joint_name}' has no single position"
                    "; take the <mimic> out"
                )
            joints.append(joint)
        follower, leader = joints
        matrix[follower.idx_v] = mimic.multiplier * matrix[leader.idx_v]
        self._followers.append((follower.idx_q, leader.idx_q, mimic.multiplier, mimic.offset))

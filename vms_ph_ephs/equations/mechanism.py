# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The bodies, joints and heat that a system consists of, as numbers for the C++ core.

The core solves them along their tree, at a cost in proportion to the number of bodies. It covers a
system only if parameters fully determine every component; then it calls no Python function.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from ..systems import System
from .constraints import reduce_rows
from .layout import Layout

_NATIVE_PAIRS = ("about_z", "cylindrical", "planar", "spherical")
_NO_FRICTION, _CONSTANT, _COULOMB = range(3)
_COEFFICIENTS = ("viscous", "dry", "slip", "softening", "reference")
_GROUND = -1


class NotCovered(Exception):
    """A system with a part that the core does not know, which the message names."""


def native_mechanism(system: System, layout: Layout, theta_0: float, module: ModuleType) -> Any:
    """Return the ``vms_ph_native.Mechanism`` of a flat system.

    Raises:
        ValueError: the core does not cover the system; the message says why.
    """
    if not hasattr(module, "Mechanism"):
        raise ValueError("the C++ core was built from earlier sources; run ./vms native")
    try:
        core_arguments = _MechanismReader(system, layout, theta_0).core_arguments()
    except NotCovered as reason:
        raise ValueError(str(reason)) from None
    return module.Mechanism(**core_arguments)


class _MechanismReader:
    """Finds bodies, joints and heat; boxes are taken off a list, so that none is left unnoticed."""

    def __init__(self, system: System, layout: Layout, theta_0: float) -> None:
        self._system, self._layout, self._theta_0 = system, layout, theta_0
        self._descriptions: dict[str, Mapping[str, Any]] = {}
        self._boxes_at: dict[str, list[str]] = {}
        for box, component in self._layout.components.items():
            description = component.to_parameters()
            if description is None:
                raise NotCovered(f"box '{box}' is not one of the bodies, joints and heat it knows")
            self._descriptions[box] = description
            for port in component.interface:
                self._boxes_at.setdefault(self._layout.junctions[f"{box}.{port}"], []).append(box)
        self._unread_boxes = set(self._descriptions)

    def core_arguments(self) -> dict[str, Any]:
        """Return the arguments of ``vms_ph_native.Mechanism``."""
        layout = self._layout
        self._check_outer()
        body_at: dict[str, tuple[int, Any]] = {}
        bodies = [self._body(box, k, body_at) for k, box in enumerate(self._boxes("lie_poisson"))]
        if not bodies:
            raise NotCovered("the system has no bodies")
        for box in self._boxes("ground"):
            body_at[self._junction(box, "p")] = (_GROUND, self._descriptions[box]["pose"])
            self._unread_boxes.discard(box)
        thermal_storages: list[tuple[int, float, float]] = []
        heat_at: dict[str, int] = {}
        for box in (*self._boxes("environment"), *self._boxes("heat_capacity")):
            entry = layout.states[self._junction(box, next(iter(layout.components[box].interface)))]
            heat_at[entry.junction] = len(thermal_storages)
            heat = self._descriptions[box]
            capacity, theta = heat.get("capacity", 0.0), heat.get("theta_1", heat.get("theta_0"))
            thermal_storages.append((entry.tangent.start, capacity, theta))
            self._unread_boxes.discard(box)
        joints = [self._joint(box, body_at, heat_at) for box in self._boxes("joint_constraint")]
        conductions = []
        for box in self._boxes("conduction"):
            storage_indices = (heat_at.get(self._junction(box, port)) for port in ("a", "b"))
            conductions.append((*storage_indices, self._descriptions[box]["conductance"]))
            self._unread_boxes.discard(box)
        if self._unread_boxes or any(index is None for row in conductions for index in row):
            raise NotCovered(
                f"box '{min(self._unread_boxes, default='')}' is not one of the bodies, joints and "
                "heat it knows, or is connected in another way"
            )
        return {
            "state_size": layout.size,
            "rate_size": layout.stored_size,
            "effort_size": layout.total_size,
            "theta_0": self._theta_0,
            "bodies": bodies,
            "joints": joints,
            "heats": thermal_storages,
            "conductions": conductions,
        }

    def _boxes(self, kind: str) -> list[str]:
        return [
            box for box, description in self._descriptions.items() if description["kind"] == kind
        ]

    def _junction(self, box: str, port: str) -> str:
        return self._layout.junctions[f"{box}.{port}"]

    def _check_outer(self) -> None:
        accepted = {"momentum", "entropy"}
        pattern = self._system.pattern
        for name, port in pattern.outer.items():
            if port.kind == "power" and port.quantity.name not in accepted:
                raise NotCovered(f"the outer port '{name}' is one of {port.quantity}")

    def _unique_box(self, junction: str, kind: str, box: str) -> str:
        """Return the box of a kind at a junction, which must be there once."""
        matches = [
            name for name in self._boxes_at[junction] if self._descriptions[name]["kind"] == kind
        ]
        if len(matches) != 1:
            raise NotCovered(f"box '{box}' is connected with {len(matches)} boxes of kind {kind}")
        self._unread_boxes.discard(matches[0])
        return matches[0]

    def _body(self, box: str, index: int, body_at: dict[str, tuple[int, Any]]) -> dict[str, Any]:
        junction = self._junction(box, "p")
        self._unread_boxes.discard(box)
        inverse = self._descriptions[self._unique_box(junction, "quadratic", box)]["matrix"]
        coupling = self._unique_box(junction, "coupling", box)
        pose_junction = self._junction(coupling, self._descriptions[coupling]["pose"])
        gravity = self._descriptions[self._unique_box(pose_junction, "gravity", box)]
        if inverse.shape != (6, 6) or len(self._boxes_at[pose_junction]) != 2:
            raise NotCovered(f"box '{box}' is not part of a plain rigid body")
        mass = 1.0 / inverse[0, 0]
        block_diagonal = np.zeros((6, 6))
        block_diagonal[:3, :3], block_diagonal[3:, 3:] = np.eye(3) / mass, inverse[3:, 3:]
        if not np.allclose(inverse, block_diagonal, rtol=0.0, atol=1e-15 * np.abs(inverse).max()):
            raise NotCovered(f"box '{box}' is a body whose frame is not at its centre of mass")
        states = self._layout.states
        body_at[junction] = (index, None)
        return {
            "momentum": states[junction].tangent.start,
            "pose": states[pose_junction].indices.start,
            "pose_rate": states[pose_junction].tangent.start,
            "mass": mass,
            "inertia": np.linalg.inv(inverse[3:, 3:]),
            "inverse_inertia": inverse[3:, 3:],
            "weight": gravity["weight"],
        }

    def _joint(
        self, box: str, body_at: Mapping[str, tuple[int, Any]], heat_at: Mapping[str, int]
    ) -> dict[str, Any]:
        layout, description = self._layout, self._descriptions[box]
        self._unread_boxes.discard(box)
        joint_frames = []
        for port in ("p_j1", "p_j2"):
            junction = self._junction(box, port)
            offset = self._unique_box(junction, "offset", box)
            body_junction = self._junction(offset, self._descriptions[offset]["body_port"])
            if body_junction not in body_at or len(self._boxes_at[junction]) != 2:
                raise NotCovered(f"port '{port}' of box '{box}' is not joined to a body")
            body_index, pose = body_at[body_junction]
            frame = self._descriptions[offset]["pose"]
            joint_frames.append((body_index, frame if pose is None else pose @ frame, junction))
        position_junction, rate_junction = self._junction(box, "q_r"), self._junction(box, "p_r")
        coupling = self._unique_box(rate_junction, "coupling", box)
        if self._junction(coupling, self._descriptions[coupling]["pose"]) != position_junction:
            raise NotCovered(f"box '{box}' does not hold the position of its joint")
        position_entry, effort = layout.states[position_junction], layout.entries[rate_junction]
        pair = description["pair"]
        subspace, d = np.asarray(pair.subspace), pair.dimension
        reduction = reduce_rows(subspace)
        joint = {
            "body_1": joint_frames[0][0],
            "body_2": joint_frames[1][0],
            "offset_1": joint_frames[0][1],
            "offset_2": joint_frames[1][1],
            "kind": _NATIVE_PAIRS.index(pair.native_name),
            "angle_per_unit": float(pair.turn[0]),
            "shift_per_unit": float(pair.advance[0]),
            "subspace": subspace,
            "dual_basis": reduction.transform[:d],
            "constraints": reduction.transform[d:],
            "position": position_entry.indices.start,
            "position_rate": position_entry.tangent.start,
            "effort": effort.start,
            "effort_1": layout.entries[joint_frames[0][2]].start,
            "effort_2": layout.entries[joint_frames[1][2]].start,
            "rotor": -1,
            "armature": 0.0,
        }
        joint |= self._potential(position_entry.port.rpartition(".")[0], box)
        joint |= self._friction(box, rate_junction, heat_at, d)
        if rate_junction in layout.states:
            rotor_box = self._unique_box(rate_junction, "quadratic", box)
            joint |= {
                "rotor": layout.states[rate_junction].tangent.start,
                "armature": 1.0 / float(self._descriptions[rotor_box]["matrix"][0, 0]),
            }
        return joint

    def _potential(self, box: str, joint: str) -> dict[str, Any]:
        description = self._descriptions[box]
        self._unread_boxes.discard(box)
        stiffness, rest_position = np.zeros(3), np.zeros(3)
        if description["kind"] == "joint_spring":
            d = description["stiffness"].size
            stiffness[:d], rest_position[:d] = description["stiffness"], description["rest"]
        elif description["kind"] != "no_potential":
            raise NotCovered(f"the potential of box '{joint}' is one of kind {description['kind']}")
        return {"has_spring": bool(stiffness.any()), "stiffness": stiffness, "rest": rest_position}

    def _friction(self, box: str, p_r: str, heat_at: Mapping[str, int], d: int) -> dict[str, Any]:
        tensor = np.zeros((3, 3))
        coefficients: dict[str, Any] = {
            "friction": _NO_FRICTION,
            "friction_tensor": tensor,
            "viscous": 0.0,
            "dry": 0.0,
            "slip": 1.0,
            "softening": 0.0,
            "reference": self._theta_0,
            "heat": -1,
        }
        friction_boxes = [
            found_box
            for found_box in self._boxes_at[p_r]
            if self._descriptions[found_box]["kind"] == "joint_friction"
        ]
        if len(friction_boxes) > 1:
            raise NotCovered(f"box '{box}' has several frictions")
        for friction in friction_boxes:
            description = self._descriptions[friction]
            self._unread_boxes.discard(friction)
            if "tensor" in description:
                coefficients["friction"], tensor[:d, :d] = _CONSTANT, description["tensor"]
            else:
                coefficients |= {"friction": _COULOMB, **{k: description[k] for k in _COEFFICIENTS}}
            coefficients["heat"] = heat_at.get(self._junction(friction, "s"), -1)
            if coefficients["heat"] < 0:
                raise NotCovered(f"the heat of box '{friction}' goes to a storage it does not know")
        return coefficients

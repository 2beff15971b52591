# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a robot description leaves open, and what would make the model better."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.robot.kinematic_tree import LinkTree

from ..installation import command_name

# A root link with this share of the moving mass is no foundation. A radius of gyration, m, beyond
# this much and twice the distances between all joints is that of an inertia in kg mm^2 or so.
_HEAVY_ROOT_SHARE, _LARGE_RADIUS = 0.3, 2.0

_LARGE_CONDITION = 1e4  # of the mass matrix of an arm; with the rotors of its motors about 100


def base_origin(model: VMSModel, chosen_base: str) -> str:
    """Return in words why a robot has its base; empty where a user has chosen it."""
    if chosen_base not in ("", "auto"):
        return ""
    if model.base == "fixed":
        return "guessed: the first joint is neither floating nor planar"
    return f"guessed: the first joint is {model.base}, or none moves"


def recommendations(model: VMSModel) -> Iterator[str]:
    """Yield what a user should look at, one sentence each."""
    root_mass = float(model.tree.pinocchio.inertias[0].mass)
    if model.base == "fixed" and root_mass > _HEAVY_ROOT_SHARE * model.total_mass:
        root = LinkTree(model.tree).root
        yield (
            f"the root link '{root}' has {root_mass:.3g} kg beside {model.total_mass:.3g} kg that "
            "move: if it flies, floats or rolls, choose --base floating or --base planar"
        )
    pin_model = model.tree.pinocchio
    extent = sum(np.linalg.norm(placement.translation) for placement in pin_model.jointPlacements)
    for name, body in list(zip(pin_model.names, pin_model.inertias, strict=True))[1:]:
        moment = float(np.linalg.eigvalsh(body.inertia)[-1])
        radius = np.sqrt(moment / body.mass) if body.mass > 0.0 else 0.0
        if radius > _LARGE_RADIUS + 2.0 * extent:
            yield (
                f"what '{name}' moves has {body.mass:.3g} kg and {moment:.3g} kg m^2, a radius of "
                f"gyration of {radius:.3g} m: is its inertia in kg m^2?"
            )
    if model.base == "fixed" and model.n and not pin_model.armature.any():
        condition = np.linalg.cond(model.evaluate(model.home, np.zeros(model.nv)).M)
        if condition > _LARGE_CONDITION:
            yield (
                f"no joint has the inertia of its rotor, and the mass matrix the condition "
                f"{condition:.1g}: wrists give way too easily; add armature=... (kg m^2, times the "
                "gear ratio squared) to <dynamics>, or find it by vms-ph audit --identify armature"
            )
    joints = model.joints
    for values, quantity, consequence in (
        (joints.effort, "effort limit", "the controllers cannot bound their torques"),
        (joints.velocity, "velocity limit", "implausible speeds are judged by general bounds"),
    ):
        names = [n for n, x in zip(model.joint_names, values, strict=True) if not np.isfinite(x)]
        if names:
            remainder = f" and {len(names) - 4} more" if len(names) > 4 else ""
            yield f"no {quantity} for {', '.join(names[:4])}{remainder}: {consequence}"
    if model.n and not (joints.damping.any() or joints.friction.any()):
        yield (
            "no joint has friction (<dynamics damping=... friction=...>): on a real robot it will "
            "appear as unaccounted energy"
        )


def next_commands(file: str, base: str, end_effector: str, inertia: str) -> list[str]:
    """Return the commands that a user would type next."""
    vms = command_name()
    if not file.endswith((".urdf", ".xacro", ".xml", ".mjcf")) and not set("/=") & set(file):
        return [f"{vms} launch {file} web:=true push_period:=5", f"{vms} demo --robot {file}"]
    options_by_name = {"base": base, "end_effector": end_effector, "inertia": inertia}
    choices = {name: value for name, value in options_by_name.items() if value not in ("", "auto")}
    options = "".join(f" --{name.replace('_', '-')} {value}" for name, value in choices.items())
    name = "my_" + "".join(c if c.isalnum() else "_" for c in Path(file).name.split(".")[0].lower())
    file = shlex.quote(file)
    return [f"{vms} demo --robot {file}{options}", f"{vms} new {name} --robot {file}{options}"]

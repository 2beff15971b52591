# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Drake: a MultibodyPlant of the same URDF."""

from importlib import import_module, metadata
from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array

from .contender import ACCELERATION, MASS_MATRIX, Contender, Problem, UnavailableError


def drake(problem: Problem) -> Contender:
    """Return the calls of Drake.

    Raises:
        UnavailableError: Drake is not installed, or the base or a joint has no counterpart.
    """
    try:
        plant_module = import_module("pydrake.multibody.plant")
        parsing = import_module("pydrake.multibody.parsing")
    except ImportError:
        raise UnavailableError("Drake is not installed (pip install drake)") from None
    model = problem.model
    if model.base == "planar" or model.nq - model.nq_base != model.n:
        raise UnavailableError("Drake: planar bases and continuous joints are not compared")
    plant: Any = plant_module.MultibodyPlant(0.0)
    parsing.Parser(plant).AddModelsFromString(problem.xml, "urdf")
    if model.base == "fixed":
        root = plant.GetBodyByName(model.link_names[0])
        plant.WeldFrames(plant.world_frame(), root.body_frame())
    plant.mutable_gravity_field().set_gravity_vector(model.gravity)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    joints = [plant.GetJointByName(name) for name in model.joint_names]
    at_q = [joint.position_start() for joint in joints]
    at_v = [joint.velocity_start() for joint in joints]
    q, v, force = np.zeros(plant.num_positions()), np.zeros(plant.num_velocities()), None
    q[at_q], v[at_v] = problem.q[model.nq_base :], problem.v[model.b :]
    if model.b:
        turn = problem.base_rotation
        q[:7] = [problem.q[6], *problem.q[3:6], *problem.q[:3]]
        v[:3], v[3:6] = turn @ problem.v[3:6], turn @ problem.v[:3]
    force = np.zeros(len(v))
    force[at_v] = problem.torque
    plant.get_applied_generalized_force_input_port().FixValue(context, force)
    output = plant.get_generalized_acceleration_output_port()

    def accelerate() -> Array:
        # The state is set each time, since results are cached until it changes.
        plant.SetPositions(context, q)
        plant.SetVelocities(context, v)
        return output.Eval(context)

    def mass_matrix() -> Array:
        plant.SetPositions(context, q)
        return plant.CalcMassMatrix(context)

    return Contender(
        "Drake",
        {
            ACCELERATION: {"MultibodyPlant, generalized_acceleration": accelerate},
            MASS_MATRIX: {"MultibodyPlant.CalcMassMatrix": mass_matrix},
        },
        lambda: accelerate()[at_v],
        metadata.version("drake"),
    )

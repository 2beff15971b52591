# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A satellite has caught a tumbling body, and its reaction wheels take up the momentum."""

from pathlib import Path

import numpy as np

from vms_ph_controllers import AttitudeControl, Reference, RobotState
from vms_ph_controllers.controller import Command
from vms_ph_controllers.laws.attitude_and_shape import centre_and_inertia
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.actuation import Actuators, Motor, ReactionWheel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.forms import DecoupledForm, momenta
from vms_ph_dynamics.free_floating import capture
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io.progress import Progress, Stages

from ..check import bounded, required
from ..study import Outcome, Parameter, Settings, Study
from .satellite import BUS, CUBE, satellite, simulate, tumbling_cube

# The diagonals of a cube: any one of four wheels may fail.
_AXES = ([1.0, 1.0, 1.0], [-1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [1.0, -1.0, 1.0])


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    model, home = satellite(settings)
    body, twist = tumbling_cube(settings)
    caught = capture(model, home, np.zeros(model.nv), body, twist)
    actuators = _wheels(settings)
    law = AttitudeControl(caught.model, allocation=actuators.allocation)
    law.reset(RobotState(caught.q, caught.v))

    def control(q: Array, v: Array, step: float) -> Command:
        return law.update(RobotState(q, v), Reference(), step)

    dt, form = float(settings["step"]), DecoupledForm(caught.model)
    simulation = Simulation(
        form, caught.q, dt, control, actuators=actuators, start_velocity=caught.v
    )
    wheels = simulation.actuation
    assert wheels is not None
    before, robot_before = _angular(simulation, caught.model)
    spins: list[float] = []
    simulate(
        simulation,
        round(float(settings["duration"]) / dt),
        Stages(progress, 1).begin("wheels take up the momentum"),
        lambda: spins.append(float(np.abs(wheels.rates).max())),
    )
    used = max(spins, default=0.0)
    after, left = _angular(simulation, caught.model)
    sample, exergy = simulation.sample(), simulation.exergy_map()
    size = float(np.linalg.norm(before))
    rotation = caught.model.difference(caught.q, sample.q)[3:6]
    return Outcome(
        [
            bounded(
                "angular momentum of satellite, body and wheels, relative change",
                float(np.linalg.norm(after - before)) / size,
                1e-9,
            ),
            required(
                "momentum about the centre of mass that satellite and body keep",
                "below a hundredth of what they had",
                f"{np.linalg.norm(left):.2g} of {np.linalg.norm(robot_before):.3g} N m s",
                float(np.linalg.norm(left)) < 0.01 * float(np.linalg.norm(robot_before)),
            ),
            bounded("attitude of the base at the end, rad", float(np.linalg.norm(rotation)), 1e-2),
            bounded(
                "rate of the base at the end, rad/s", float(np.linalg.norm(sample.v[3:6])), 1e-3
            ),
            required(
                "largest spin of a wheel",
                f"at most {settings['largest_rate']} rad/s",
                f"{used:.4g} rad/s",
                used <= float(settings["largest_rate"]) * (1.0 + 1e-12),
            ),
            bounded(
                "energy balance from the supply to the tool, relative to what was exchanged",
                abs(exergy.residual) / abs(wheels.stored + 1e-3),
                1e-9,
            ),
        ]
    )


def _wheels(settings: Settings) -> Actuators:
    return Actuators(
        [
            ReactionWheel(
                np.array(axis),
                float(settings["wheel_inertia"]),
                float(settings["largest_torque"]),
                float(settings["largest_rate"]),
                friction=1e-7,
                motor=Motor(0.02, 0.5),
            )
            for axis in _AXES
        ]
    )


def _angular(simulation: Simulation, model: VMSModel) -> tuple[Array, Array]:
    """Return angular momenta in inertial axes, (3,) each, kg m^2/s.

    Of robot and wheels about the inertial origin, and of the robot alone about its centre of mass.
    """
    actuation = simulation.actuation
    assert actuation is not None
    sample = simulation.sample()
    d = model.evaluate(sample.q, sample.v)
    spatial, pose = momenta(d).spatial, model.base_pose(sample.q)
    wheels = pose[:3, :3] @ actuation.momentum
    centre = pose[:3, 3] + pose[:3, :3] @ centre_and_inertia(d)[0]
    return spatial[3:] + wheels, spatial[3:] - np.cross(centre, spatial[:3])


STUDY = Study(
    id="space-momentum-dumping",
    source="Space robotics: the momentum of a captured body goes to the reaction wheels",
    title="Reaction wheels bring a satellite with a captured body to rest",
    parameters={
        **CUBE,
        "wheel_inertia": Parameter(2e-3, "of each of four wheels, kg m^2", above=0.0),
        "largest_torque": Parameter(0.1, "of a wheel, N m", above=0.0),
        "largest_rate": Parameter(600.0, "of a wheel, rad/s", above=0.0),
        "duration": Parameter(60.0, "of the simulation after the capture, s", above=0.0),
        "step": Parameter(0.01, "sampling time, s", above=0.0),
        **BUS,
    },
    compute=_compute,
)

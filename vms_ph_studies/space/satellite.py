# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The satellite of the studies, and the controller that leads its joints along a path."""

from collections.abc import Callable

import numpy as np

from vms_ph_controllers.controller import Command
from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.evaluation import Evaluation
from vms_ph_dynamics.free_floating import Body, JointPath
from vms_ph_dynamics.free_floating.reorientation import displaced
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io import robots

from ..study import Parameter, Settings

BUS = {
    "bus_mass": Parameter(60.0, "of the satellite without its arm, kg", above=0.0),
    "bus_ixx": Parameter(3.0, "its inertia about x, kg m^2", above=0.0),
    "bus_iyy": Parameter(2.5, "its inertia about y, kg m^2", above=0.0),
    "bus_izz": Parameter(3.5, "its inertia about z, kg m^2", above=0.0),
}
"""A small satellite; the bundled robot is that of ETS-VII, of 2550 kg."""


def satellite(settings: Settings) -> tuple[VMSModel, Array]:
    """Return the robot of the settings and its home configuration (nq,)."""
    model = robots.load("satellite_panda", **{name: str(settings[name]) for name in BUS})
    return model, model.configuration(robots.get("satellite_panda").home)


CUBE = {
    "mass": Parameter(20.0, "of the body, a cube, kg", above=0.0),
    "side": Parameter(0.4, "of the cube, m", above=0.0),
    "spin": Parameter(5.0, "angular speed of the body, deg/s", least=0.0),
    "approach": Parameter(0.05, "speed of its centre towards the tool, m/s", least=0.0),
}
"""A body that tumbles towards the tool."""

_STEPS = 500  # between two reports of progress


def tumbling_cube(settings: Settings) -> tuple[Body, Array]:
    """Return the body of the settings, and its twist (6,) in the frame of the tool."""
    side, mass = float(settings["side"]), float(settings["mass"])
    body = Body(mass, [0.0, 0.0, 0.5 * side], np.eye(3) * mass * side**2 / 6.0)
    spin = np.radians(float(settings["spin"])) * np.array([0.3, -0.5, 0.8]) / np.sqrt(0.98)
    # The centre of the body approaches; at the frame its spin adds to that.
    approach = np.array([0.0, 0.0, -float(settings["approach"])])
    return body, np.concatenate([approach - np.cross(spin, np.asarray(body.centre, float)), spin])


def simulate(
    simulation: Simulation,
    steps: int,
    report: Callable[[float], None],
    observe: Callable[[], None] | None = None,
) -> None:
    """Advance a simulation; ``report`` gets the share that is done, ``observe`` is called then."""
    done = 0
    while done < steps and not simulation.failure:
        count = min(_STEPS, steps - done)
        simulation.advance(count)
        done += count
        report(done / steps)
        if observe is not None:
            observe()


class ComputedTorque:
    """Inverse dynamics of the shape along a path of the joints, held over every sample.

    ``tau = M_hat_m (qddot_d + 2 w edot + w^2 e) + bias``: on a base without actuators.
    """

    def __init__(self, model: VMSModel, start: Array, path: JointPath, bandwidth: float) -> None:
        """Follow ``path`` from a configuration ``start`` (nq,); the bandwidth w is in 1/s."""
        self._model, self._start, self._path, self._bandwidth = model, start, path, bandwidth
        self._time = 0.0

    def __call__(self, q: Array, v: Array, dt: float) -> Command:
        """Return the torques for the sample that begins at a state."""
        d, b, path = Evaluation(self._model, q, v), self._model.b, self._path
        now = path(min(self._time, path.duration))
        # The torque is held: the mean acceleration of the sample is that at its middle.
        feedforward = path(min(self._time + 0.5 * dt, path.duration)).acceleration
        self._time += dt
        desired = displaced(self._model, self._start, now.offset)
        error = self._model.difference(q, desired)[b:]
        w = self._bandwidth
        acceleration = feedforward + 2.0 * w * (now.rate - v[b:]) + w * w * error
        terms = d.C @ v
        torque = d.M_hat_m @ acceleration + terms[b:] - d.A.T @ terms[:b]
        return Command(np.zeros(b), torque)

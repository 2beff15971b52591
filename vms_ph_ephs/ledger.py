# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The ledger of a flight or a motion from the battery to heat: each joule with its name."""

from dataclasses import dataclass, fields, replace

import numpy as np

from vms_ph_controllers import Command, Reference, RobotState
from vms_ph_controllers.hosting.loading import make_controller
from vms_ph_controllers.hosting.supervisor import Supervisor
from vms_ph_dynamics import Array, StandardForm, VmsPhError
from vms_ph_dynamics.energy.legend import label_of
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io import share_directory
from vms_ph_io.progress import Progress, no_progress
from vms_ph_io.robots.robot_settings import RobotSettings
from vms_ph_io.settings.bounded_text import read_yaml

from .files import drives_file
from .robot import EphsEngine, ExergyMap

# The route of a moving base about its start, m, and how long each of its corners is the target.
_ROUTE = ((0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 1.0), (0.0, 1.0, 1.5), (0.0, 0.0, 0.0))
_SECTION_DURATION = 12.0

# Of joints, rad: targets alternate by this amount with the legs of the route.
_JOINT_AMPLITUDE = 0.3


@dataclass(frozen=True)
class Line:
    """A line of the ledger: exergy, J, positive where it comes from.

    Attributes:
        name: of the part.
        cause: what it has stored, given or destroyed.
        energy: exergy, J.
    """

    name: str
    cause: str
    energy: float


@dataclass(frozen=True)
class Ledger:
    """Where the exergy of a run came from and where it went.

    Attributes:
        robot: its name.
        seconds: simulated time.
        supplied: what gave exergy: the battery, and wrenches from outside.
        stored: what is stored more than at the start, as motion, height and heat.
        destroyed: what has been destroyed, by how.
        residual: supplied less stored less destroyed, J.
        map: the details by joint and rotor.
        least_destruction: the smallest change of anything destroyed between two samples, J.
        warmest: name and temperature, K, of the warmest part at the end.
    """

    robot: str
    seconds: float
    supplied: tuple[Line, ...]
    stored: tuple[Line, ...]
    destroyed: tuple[Line, ...]
    residual: float
    map: ExergyMap
    least_destruction: float
    warmest: tuple[str, float]


def exergy_ledger(
    robot: str = "hextilt",
    *,
    seconds: float = 60.0,
    step: float = 1e-3,
    drives: str = "",
    friction: bool = False,
    progress: Progress = no_progress,
) -> Ledger:
    """Return the ledger of a robot that is moved by the law of its parameter file.

    A moving base flies a route of five corners, twelve seconds each; joints turn by 0.3 rad and
    back meanwhile.

    Args:
        robot: name of a bundled robot.
        seconds: simulated time, s.
        step: control and integrator step, s.
        drives: path of a file of drives; config/drives/robots.yaml if empty.
        friction: whether the joints' friction acts.
        progress: callback of the progress.

    Raises:
        VmsPhError: the engine does not cover the robot, or the motion cannot be continued.
    """
    run = _RouteRun(robot, step, drives, friction)
    simulation, total_steps = run.simulation, max(1, round(seconds / step))
    start_map = simulation.exergy_map()
    last, least = start_map, 0.0
    batch_steps = max(1, min(round(0.1 / step), total_steps))
    for start_step in range(0, total_steps, batch_steps):
        simulation.advance(min(batch_steps, total_steps - start_step))
        if not simulation.is_finite():
            raise VmsPhError(f"the motion cannot be continued: {simulation.failure}")
        new_map = simulation.exergy_map()
        least = min(least, *(new_map.destroyed[n] - last.destroyed[n] for n in new_map.destroyed))
        last = new_map
        progress(min((start_step + batch_steps) / total_steps, 1.0), robot)
    return _make_ledger(robot, start_map, last, least)


def cause(destroyer: str) -> str:
    """Return how a destroyer such as "joint/winding" destroys exergy, as the legend has it."""
    part_name, _, process = destroyer.rpartition("/")
    return f"rotor_{process}" if part_name.startswith("rotor_") else process


def _make_ledger(robot: str, start: ExergyMap, end: ExergyMap, least_destruction: float) -> Ledger:
    battery = Line("battery", "from the battery", start.stored["battery"] - end.stored["battery"])
    external_lines = [Line(name, f"by {name}", energy) for name, energy in end.supplied.items()]
    stored_exergy = {name: end.stored[name] - start.stored[name] for name in end.stored}
    del stored_exergy["battery"]
    destroyed_by_cause: dict[str, float] = {}
    for name, energy in end.destroyed.items():
        destroyed_by_cause[cause(name)] = destroyed_by_cause.get(cause(name), 0.0) + energy
    warmest = max(end.temperatures, key=lambda name: end.temperatures[name])
    return Ledger(
        robot,
        end.time,
        (battery, *external_lines),
        tuple(Line(name, f"as {name.replace('_', ' ')}", e) for name, e in stored_exergy.items()),
        tuple(Line(name, label_of(name), energy) for name, energy in destroyed_by_cause.items()),
        -end.residual,
        end,
        least_destruction,
        (warmest, end.temperatures[warmest]),
    )


class _RouteRun:
    def __init__(self, robot: str, step: float, drives: str, friction: bool) -> None:
        settings = RobotSettings(robot)
        description = settings.description()
        model = settings.model(description)
        home_q = settings.initial_configuration(model)
        allocation = settings.allocation()
        options = _controller_parameters(robot)
        actuated = bool(options.get("base_actuated", True))
        law = make_controller(str(options.get("controller", "auto")), model, allocation, actuated)
        gain_names = {field.name for field in fields(law.gains)}
        law.gains = replace(law.gains, **{k: v for k, v in options.items() if k in gain_names})
        self._supervisor = Supervisor(law, allocation, actuated)
        self._supervisor.reset(RobotState(home_q, np.zeros(model.nv)))
        self._home_q, self._model, self._section, self._time = home_q, model, -1, 0.0
        robot_drives = drives_file.load(model, robot, drives, allocation)
        self.simulation = Simulation(
            StandardForm(model),
            home_q,
            step,
            self._control,
            friction,
            joint_stops=True,
            engine=EphsEngine(robot_drives),
        )

    def _control(self, q: Array, v: Array, dt: float) -> Command:
        section = int(self._time // _SECTION_DURATION)
        self._time += dt
        reference = Reference()
        if section != self._section:
            self._section, reference = section, self._section_reference(section)
        return self._supervisor.update(RobotState(q, v), reference, dt)

    def _section_reference(self, section: int) -> Reference:
        model, home_data = self._model, self._model.evaluate(self._home_q, np.zeros(self._model.nv))
        frame = model.link_names[0] if model.base == "floating" else model.end_effector
        pose = home_data.placement(frame).copy()
        if model.base == "floating":
            pose[:3, 3] += _ROUTE[section % len(_ROUTE)]
        elif model.base == "fixed":
            pose[2, 3] -= 0.1 * (section % 2 == 0)
        targets = model.joint_positions(self._home_q) + _JOINT_AMPLITUDE * (section % 2 == 0)
        joint_positions = np.clip(targets, model.joints.lower + 0.05, model.joints.upper - 0.05)
        return Reference(position=pose[:3, 3].copy(), pose=pose, joints=joint_positions)


def _controller_parameters(robot: str) -> dict[str, object]:
    content = read_yaml(share_directory() / f"config/{robot}.yaml")
    return dict(content["/**/controller"]["ros__parameters"])

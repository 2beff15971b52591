# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What takes the steps of a simulated robot: a form of it, its bodies and drives, or MuJoCo.

With it the water and the air that the robot moves in: a steady current, and wind on its base.
"""

from typing import Any

import numpy as np
from rclpy.node import Node

from vms_ph_dynamics import Array, OptionError, StandardForm, VMSModel
from vms_ph_dynamics.integrators.stepper import Efforts
from vms_ph_dynamics.simulation import (
    Control,
    FormEngine,
    HeldMechanism,
    Mechanism,
    Payload,
    Simulation,
    Wind,
)
from vms_ph_dynamics.simulation import Engine as SimulationEngine
from vms_ph_dynamics.simulation.efforts import add
from vms_ph_io.settings import scenes
from vms_ph_io.settings.scenes import SceneFile
from vms_ph_io.wings import hook

from ..node.parameters import declare, declare_fields, declare_record, record_parameters
from ..node.robot_parameters import RobotParameters


class Engine:
    """The engine and the scene of a simulator, as its parameters say.

    Attributes:
        scene: the scene, or None.
        actuators: those of the base, or None for an ideal base.
        current: current of the water around the robot, or None.
        payload: body that the end effector takes, or None.
        held_mechanism: the mechanism that it holds in the simulation made last, or None.
    """

    def __init__(self, node: Node, robot: RobotParameters) -> None:
        """Declare the parameters.

        Raises:
            OptionError: a scene or actuators for an engine without them, or there are no such.
            ModelError: the file of the scene or of the actuators is not valid.
        """
        scheme: str = declare(node, "scheme")
        self._scheme = None if scheme == "auto" else scheme
        self._native: bool | None = None if declare(node, "native") else False
        self._has_friction: bool = declare(node, "joint_friction")
        self._has_joint_stops: bool = declare(node, "joint_stops")
        engine: str = declare(node, "engine")
        self._is_mujoco, self.is_ephs = engine == "mujoco", engine == "ephs"
        self._drives: str = declare(node, "drives")
        scene: str = declare(node, "scene")
        if scene and not self._is_mujoco:
            raise OptionError(
                f"the scene '{scene}' has contacts, which the engine {engine} does not simulate; "
                "set engine:=mujoco"
            )
        if self._drives and not self.is_ephs:
            raise OptionError(
                f"the drives of {self._drives} are simulated by engine:=ephs alone; the engine is "
                f"{engine}"
            )
        self.actuators = robot.actuators()
        if self.actuators is not None and self.is_ephs:
            raise OptionError(
                f"actuators:={robot.settings.actuators} move the base, which the drives of "
                "engine:=ephs move already; leave one of them out"
            )
        if self._is_mujoco and self._scheme is not None:
            # MuJoCo has its own; a file of parameters for both engines may name one.
            node.get_logger().info(f"the engine mujoco does not use the scheme {scheme}")
        self.payload, self._mechanism = _declare_payload(node), _declare_mechanism(node)
        self._check_load(bool(robot.settings.wheels))
        self.held_mechanism: HeldMechanism | None = None
        wind = declare_record(node, "wind", Wind)
        if len(wind.velocity) != 3 or not np.isfinite(wind.velocity).all():
            raise OptionError(
                f"wind.velocity must be three numbers in m/s, like [2.0, 1.0, 0.0]; given: "
                f"{wind.velocity.tolist()}"
            )
        # A wrench at the root link, a tool of the robot like others: its power is published, and
        # accounted for by all nodes.
        self._wind = wind if wind.velocity.any() else None
        self.scene: SceneFile | None = scenes.load(scene) if scene else None
        self._parameters = robot

    def _check_load(self, on_wheels: bool) -> None:
        """Check that what the end effector takes or holds can be simulated."""
        if self.payload is not None and self._mechanism is not None:
            raise OptionError(
                "the end effector takes a payload or holds a mechanism; set payload.mass or "
                "mechanism.inertia to zero"
            )
        if self.payload is not None and on_wheels:
            raise OptionError("a payload is for robots without 'wheels' that do not slip")

    def check_floor(self, has_floor: bool) -> None:
        """Check that the engine simulates the floor of a hopping robot.

        Raises:
            OptionError: it does not.
        """
        if has_floor and (self.payload is not None or self._mechanism is not None):
            raise OptionError(
                "payloads and mechanisms are for robots without a floor; set floor:=false"
            )
        if has_floor and self.is_ephs:
            raise OptionError(
                "the engine ephs simulates no floor; set floor:=false, or engine:=vms_ph for a "
                "hopping robot"
            )

    def initial_configuration(self, model: VMSModel, description: str) -> Array:
        """Return the configuration in which the simulation begins, (nq,).

        That of the scene's task where it is for this robot and none is set.

        Raises:
            OptionError: the robot is not in water that flows, or no wind can push it.
        """
        self._model, self._description = model, description
        settings = self._parameters.settings.for_task(self.scene and self.scene.task)
        self.current, root = settings.water_current(model), model.link_names[0]
        if self._wind is not None:
            self._wind.check(model)
            if root not in model.tools:
                raise OptionError(
                    f"the wind pushes '{root}', which must be a port of all nodes: set "
                    f"tools:={root}"
                )
        return settings.initial_configuration(model)

    def simulation(self, home: Array, step: float, control: Control | None) -> Simulation:
        """Return the simulation.

        Raises:
            MissingExtraError: the engine is not installed.
            ModelError: it does not cover the robot.
        """
        simulation = Simulation(
            self._parameters.settings.wheel_form(self._model) or StandardForm(self._model),
            home,
            step,
            control,
            self._has_friction,
            joint_stops=self._has_joint_stops,
            actuators=None if self._parameters.settings.wheels else self.actuators,
            mechanism=self._mechanism,
            current=self.current,
            engine=self._make_engine(),
        )
        self.held_mechanism = simulation.mechanism
        return simulation

    def advance(self, simulation: Simulation, steps: int, external: Efforts) -> None:
        """Integrate steps, in each of which the wind is that of its beginning."""
        if self._wind is None:
            simulation.advance(steps, external)
            return
        for _ in range(steps):
            sample = simulation.sample()
            wind = self._wind.ports(self._model, sample.q, sample.v, sample.time + simulation.dt)
            simulation.advance(1, add(external, wind))

    def _make_engine(self) -> SimulationEngine:
        # Imported here: only these engines need MuJoCo and the language of systems.
        if self._is_mujoco:
            from vms_ph_dynamics.simulation.contact import MujocoEngine
            from vms_ph_io.descriptions.robot_shapes import robot_shapes

            if self.scene is None:
                return MujocoEngine()
            return MujocoEngine(self.scene.scene, robot_shapes(self._model, self._description))
        if self.is_ephs:
            parameters = self._parameters
            drives = hook("ephs", "files.drives_file", user="engine:=ephs").load(
                self._model, parameters.settings.robot, self._drives, parameters.allocation()
            )
            return hook("ephs", "robot").EphsEngine(drives, self._scheme, self._native)
        return FormEngine(self._scheme, self._native)

    def values(self, simulation: Any) -> dict[str, object]:
        """Return what the diagnostics report about the engine."""
        if not isinstance(simulation, Simulation):
            return {}
        texts = simulation.diagnostics()
        if self._is_mujoco and self.payload is None:
            texts["energy from MuJoCo's step errors (J)"] = f"{simulation.unaccounted_energy():.3e}"
        return texts


# Of a payload, what a task judges and a simulation does not need.
_GOAL_FIELDS = ("to", "within")


def payload_parameters(payload: Payload) -> dict[str, Any]:
    """Return the parameters ``payload.*`` of a payload; 0 stands for the time of no event."""
    parameters = record_parameters("payload", payload, _GOAL_FIELDS)
    for name in ("payload.at", "payload.release"):
        time = parameters[name]
        parameters[name] = 0.0 if time is None or not np.isfinite(time) else time
    return parameters


def _declare_payload(node: Node) -> Payload | None:
    """Declare the parameters ``payload.*``, and return the payload if it has a mass."""
    values = declare_fields(node, "payload", Payload, _GOAL_FIELDS)
    values["capture_time"] = values["capture_time"] or np.inf
    values["release"] = values["release"] or None
    return Payload(**values) if values["mass"] else None


def _declare_mechanism(node: Node) -> Mechanism | None:
    """Declare the parameters ``mechanism.*``, and return the mechanism if it has an inertia."""
    values = declare_fields(node, "mechanism", Mechanism)
    return Mechanism(**values) if values["inertia"] else None

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What takes the steps of a simulated robot: a form of it, its bodies and drives, or MuJoCo."""

from typing import Any

from rclpy.node import Node

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import OptionError
from vms_ph_dynamics.forms import StandardForm
from vms_ph_dynamics.simulation import ActuatedSimulation, Control, HeldMechanism, Simulation
from vms_ph_io.settings import scenes
from vms_ph_io.settings.scenes import SceneFile
from vms_ph_io.wings import hook

from ..node.parameters import declare
from ..node.robot_parameters import RobotParameters
from .grasp_parameters import declare_mechanism, declare_payload
from .medium import Medium


class Engine:
    """The engine and the scene of a simulator, as its parameters say.

    Attributes:
        scene: the scene, or None.
        actuators: those of the base, or None for an ideal base.
        medium: what flows around the robot.
        payload: what the end effector takes, or None.
        held: the mechanism that it holds in the simulation made last, or None.
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
        self._friction: bool = declare(node, "joint_friction")
        self._stops: bool = declare(node, "joint_stops")
        engine: str = declare(node, "engine")
        self._engine, self._is_own = engine, engine == "vms_ph"
        self._is_mujoco, self.is_ephs = engine == "mujoco", engine == "ephs"
        self._drives: str = declare(node, "drives")
        name: str = declare(node, "scene")
        if name and not self._is_mujoco:
            raise OptionError(
                f"the scene '{name}' has contacts, which the engine {engine} does not simulate; "
                "set engine:=mujoco"
            )
        if self._drives and not self.is_ephs:
            raise OptionError(
                f"the drives of {self._drives} are simulated by engine:=ephs alone; the engine is "
                f"{engine}"
            )
        self.actuators = robot.actuators()
        if self.actuators is not None and engine != "vms_ph":
            raise OptionError(
                f"actuators:={robot.settings.actuators} are simulated by engine:=vms_ph alone; the "
                f"engine is {engine}" + (", with rotors of its own" if self.is_ephs else "")
            )
        if self._is_mujoco and self._scheme is not None:
            # MuJoCo has its own; a file of parameters for both engines may name one.
            node.get_logger().info(f"the engine mujoco does not use the scheme {scheme}")
        self.payload, self._mechanism = declare_payload(node), declare_mechanism(node)
        self._check_held(bool(robot.settings.wheels))
        self.held: HeldMechanism | None = None
        self.medium = Medium(node, robot)
        self.scene: SceneFile | None = scenes.load(name) if name else None
        self._robot = robot

    def _check_held(self, on_wheels: bool) -> None:
        """Check that what the end effector takes or holds can be simulated."""
        given = {"payload.mass": self.payload, "mechanism.inertia": self._mechanism}
        names = [name for name, there in given.items() if there is not None]
        if len(names) > 1:
            raise OptionError(
                "the end effector takes a payload or holds a mechanism; set payload.mass or "
                "mechanism.inertia to zero"
            )
        if names and not self._is_own:
            raise OptionError(
                f"{names[0]}: payloads and mechanisms are simulated by engine:=vms_ph alone; the "
                f"engine is {self._engine}"
            )
        if self.payload is not None and on_wheels:
            raise OptionError("a payload is for robots without 'wheels' that do not slip")

    def check_floor(self, floor: bool) -> None:
        """Check that the engine simulates the floor of a hopping robot.

        Raises:
            OptionError: it does not.
        """
        if floor and (self.payload is not None or self._mechanism is not None):
            raise OptionError(
                "payloads and mechanisms are for robots without a floor; set floor:=false"
            )
        if floor and self.is_ephs:
            raise OptionError(
                "the engine ephs simulates no floor; set floor:=false, or engine:=vms_ph for a "
                "hopping robot"
            )

    def initial_configuration(self, model: VMSModel, description: str) -> Array:
        """Return the configuration in which the simulation begins, (nq,).

        That of the scene's task where it is for this robot and none is set.
        """
        self._model, self._description = model, description
        self.medium.surround(model)
        if not self._is_own and not (self.medium.is_at_rest and not self._robot.settings.wheels):
            raise OptionError(
                "current, wind and wheels that do not slip are simulated by engine:=vms_ph alone; "
                f"the engine is {self._engine}"
            )
        settings, task = self._robot.settings, self.scene and self.scene.task
        if task is None or task.robot != settings.robot or settings.initial_positions:
            return self._robot.initial_configuration(model)
        words = (f"{name}={value!r}" for name, value in task.initial_positions.items())
        posed = settings.updated({"initial_positions": " ".join(words)})
        return posed.initial_configuration(model, description)

    def simulation(self, home: Array, step: float, control: Control | None) -> Simulation:
        """Return the simulation.

        Raises:
            MissingExtraError: the engine is not installed.
            ModelError: it does not cover the robot.
        """
        if self.is_ephs:
            return self._with_drives(home, step, control)
        if not self._is_mujoco:
            return self._of_a_form(home, step, control)
        # Imported here: only this engine needs MuJoCo.
        from vms_ph_dynamics.simulation.contact import MujocoSimulation
        from vms_ph_io.descriptions.robot_shapes import robot_shapes

        return MujocoSimulation(
            self._model,
            home,
            step,
            control,
            self._friction,
            None if self.scene is None else self.scene.scene,
            robot_shapes(self._model, self._description) if self.scene else (),
            self._stops,
        )

    def _of_a_form(self, home: Array, step: float, control: Control | None) -> Simulation:
        made: list[Simulation] = []
        if control is not None:
            # Law and simulation begin together, at zero.
            control = self.medium.told(control, lambda: made[0].time if made else 0.0)
        options = (
            self._friction,
            self._scheme,
            self._native,
            self._stops,
            self.medium.start_velocity(home),
        )
        wheels = self._robot.settings.wheel_form(self._model)
        if wheels is not None:
            made.append(Simulation(wheels, home, step, control, *options))
        elif self.actuators is None:
            made.append(Simulation(StandardForm(self._model), home, step, control, *options))
        else:
            form = StandardForm(self._model)
            made.append(ActuatedSimulation(form, home, step, control, self.actuators, *options))
        if self._mechanism is not None:
            held = StandardForm(self._model) if wheels is None else wheels
            self.held = HeldMechanism(self._mechanism, held, self.medium.ground_velocity)
            made[0].hold_mechanism(self.held)
        return made[0]

    def _with_drives(self, home: Array, step: float, control: Control | None) -> Any:
        robot, model = self._robot, self._model
        drives = hook("ephs", "files.drives_file", user="engine:=ephs").load(
            model, robot.settings.robot, self._drives, robot.allocation()
        )
        return hook("ephs", "robot").EphsSimulation(
            model,
            home,
            step,
            control,
            drives,
            self._friction,
            self._scheme,
            self._native,
            self._stops,
        )

    def values(self, simulation: Any) -> dict[str, object]:
        """Return what the diagnostics report about the engine."""
        found = {}
        if self.held is not None:
            found["angle of the mechanism (rad)"] = f"{self.held.angle:.4g}"
        if self.is_ephs or self.actuators is not None:
            return found | simulation.diagnostics()
        if not self._is_mujoco:
            return found
        return {"energy from the error of MuJoCo's steps (J)": f"{simulation.unaccounted():.3e}"}

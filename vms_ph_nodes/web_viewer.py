# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""A web page that shows the robot in 3D with live plots of its energies and port powers."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node
from rclpy.subscription import Subscription
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray
from vms_ph.msg import ControllerState, Energy, Exergy, Power
from vms_ph.srv import StepSimulation

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.robot.links import LinkTree
from vms_ph_io.energy_split import BASE, LawSplit, moves, parts_of_law

from .messages.conversions import NANOSECONDS, from_stamp
from .messages.frames import inertial_frame
from .node.health import TOPIC, Health
from .node.parameters import declare
from .node.process import errors_in_one_sentence, run
from .robot.commands import Commands
from .robot.recording import Recording
from .robot.robot_parameters import LATCHED, RobotParameters

with errors_in_one_sentence():
    try:
        from .views.choices import Choices
        from .views.controls import Controls
        from .views.energy_flow import PORT_WORDS
        from .views.overview import Overview
        from .views.page_server import HOST, serve_page, stop_page
        from .views.pull import Pull
        from .views.robot_scene import RobotScene
        from .views.strip import Strip
        from .views.view_tab import ViewTab, theme
        from .views.viewpoint import Chase, viewpoint
    except ModuleNotFoundError as error:
        raise VmsPhError(
            f"the web page requires {error.name}: pip install 'vms-ph[web]', or viser, trimesh, "
            "pycollada and scipy"
        ) from None

_POSES_HZ = 30.0
_PICTURES_HZ = 5.0
_PLOTS_EVERY = 2  # pictures

# Pictures of the robot without a pose until the simulator is asked for one.
_PATIENCE = 15

# Width of the panel, pixels.
_PANEL = 400.0


class WebViewer(Node):
    """Serves the page on 127.0.0.1."""

    PARAMETERS = "web_viewer"

    def __init__(self) -> None:
        """Start the server.

        Raises:
            VmsPhError: the port is in use, or an allowed origin is not valid.
        """
        super().__init__("web_viewer")
        self._robot = RobotParameters(self)
        port: int = declare(self, "port")
        self._name_of_robot = ""
        self._server = serve_page(port, declare(self, "allowed_origins"), self._title)
        self._commands = None if declare(self, "view_only") else Commands(self)
        self._recording = Recording(Path(declare(self, "recordings")))
        self._controls: Controls | None = None
        self._choices: Choices | None = None
        self._pull: Pull | None = None
        self._has_gains = False
        self._pictures = 0
        self._scene: RobotScene | None = None
        self._chase: Chase | None = None
        self._root_place = (0.0, 0.0, 0.0)
        self._start: int | None = None
        self._law = LawSplit()
        self._build_page()
        self._server.on_client_connect(self._face)
        self._poses: dict[str, tuple] = {}
        self._markers: MarkerArray | None = None
        self._health = Health(self)
        self._simulator = f"{self.get_namespace()}/simulator".lstrip("/")
        self.create_subscription(String, "robot_description", self._on_description, LATCHED)
        self.create_subscription(TFMessage, "/tf_static", self._on_transforms, LATCHED)
        self._live: list[Subscription] = []
        self._poses_wanted = 0  # calls of _draw_robot until they are asked for
        self._still = self.create_client(StepSimulation, "simulator/step")
        self.create_timer(1.0 / _POSES_HZ, self._draw_robot)
        self.create_timer(1.0 / _PICTURES_HZ, self._draw_pictures)
        self.get_logger().info(f"web page at http://{HOST}:{port}")

    def destroy_node(self) -> None:
        """Announce the shutdown to the other nodes, then end."""
        self._health.announce_shutdown()
        self._recording.end()
        stop_page(self._server)
        super().destroy_node()

    def _build_page(self) -> None:
        server = self._server
        theme(server, False)
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(_PANEL)
        self._world = server.scene.add_frame("/world", show_axes=False)
        self._overview = Overview(server, self._law)
        tabs = server.gui.add_tab_group()
        with tabs.add_tab("Energy"):
            self._energy = Strip(server, "energy of the closed loop", "J")
            self._power = Strip(server, "power into the robot", "W")
            self._error = Strip(server, "task error", "m")
        self._strips = (self._energy, self._power, self._error)
        self._view = ViewTab(self, server, self._strips, tabs.add_tab("View"))
        self._control_tab = None if self._commands is None else tabs.add_tab("Control")

    def _title(self) -> str:
        return f"{self._name_of_robot} – vms_ph" if self._name_of_robot else "vms_ph"

    def _listen(self, wanted: bool) -> None:
        """Subscribe to what is shown, or end it: a page that nobody looks at costs nothing."""
        if wanted and not self._live:
            for kind, topic, received, depth in (
                (TFMessage, "/tf", self._on_transforms, 10),
                (MarkerArray, "vms_ph/markers", self._on_markers, 1),
                (Energy, "vms_ph/energy", self._on_energy, 10),
                (Power, "vms_ph/power", self._on_power, 10),
                (ControllerState, "controller/state", self._on_control, 10),
                (Exergy, "vms_ph/exergy", self._overview.on_exergy, 1),
                (DiagnosticArray, TOPIC, self._overview.on_diagnostics, 50),
            ):
                self._live.append(self.create_subscription(kind, topic, received, depth))
            self._poses_wanted = _PATIENCE
        elif not wanted and self._live:
            while self._live:
                self.destroy_subscription(self._live.pop())
            self._overview.forget()

    def _ask_for_poses(self) -> None:
        """Ask a simulator for its poses where none arrive: its time stands."""
        if self._poses or not self._poses_wanted:
            self._poses_wanted = 0
            return
        self._poses_wanted -= 1
        if not self._poses_wanted and self._still.service_is_ready():
            self._still.call_async(StepSimulation.Request(steps=0))
            self._poses_wanted = _PATIENCE

    def _on_description(self, message: String) -> None:
        try:
            model = self._robot.model(message.data)
        except VmsPhError as error:
            self.get_logger().error(f"the received robot_description is not valid: {error}")
            return
        self._health.declare_robot(model)
        self._scene = RobotScene(self._server, model, message.data)
        self._name_of_robot = model.name
        self._view.show(self._scene)
        self._overview.name(model)
        self._server.gui.set_panel_label(f"vms_ph: {model.name}")
        self._look(model)
        self._offer_controls(model)
        for missing in self._scene.missing:
            self.get_logger().warning(f"cannot be drawn: {missing}")

    def _look(self, model: VMSModel) -> None:
        """Turn the view to the robot: up axis, grid and camera."""
        assert self._scene is not None
        view = viewpoint(model, self._scene.box(self._robot.initial_configuration(model)))
        server = self._server
        server.scene.set_up_direction(view.up)
        plane: Any = view.grid
        server.scene.add_grid(
            "/world/floor",
            plane=plane,
            cell_size=view.cell,
            section_size=4 * view.cell,
            position=view.floor,
            infinite_grid=True,
            fade_distance=24 * view.cell,
        )
        server.initial_camera.position = view.position
        server.initial_camera.look_at = view.look_at
        start = self._scene.root_place(self._robot.initial_configuration(model))
        self._chase, self._root_place = Chase(start, view), tuple(start.tolist())
        self._world.position = self._chase.shift
        for client in server.get_clients().values():
            self._face(client)

    def _offer_controls(self, model: VMSModel) -> None:
        if self._commands is None or self._control_tab is None:
            return
        if self._controls is not None:
            self._controls.remove()
        if self._choices is not None:
            self._choices.remove()
            self._choices = None
        frame = inertial_frame(model, LinkTree(model.tree).root)
        self._controls = Controls(
            self._server,
            self._control_tab,
            self._commands,
            model,
            frame,
            self._target,
            self._recording,
        )
        self._has_gains = False
        self._overview.say_what_can_be_done()
        assert self._scene is not None
        self._pull = Pull(self._server, model, self._scene, self._commands, self._shift)

    def _shift(self) -> Array:
        """Return by how much the world is moved in the view, (3,) m."""
        return np.zeros(3) if self._chase is None else self._chase.shift

    def _target(self) -> tuple[Array, Array]:
        """Return where the base or the end effector is: what the law has a reference for."""
        assert self._scene is not None
        is_of_base = self._law.moving and self._law.split == BASE
        return self._scene.pose(self._scene.root if is_of_base else self._scene.end_effector)

    def _show_gains(self) -> None:
        controls = self._controls
        if controls is not None and self._commands is not None and not self._has_gains:
            self._has_gains = self._commands.ask_gains(controls.show_gains)

    def _show_choices(self) -> None:
        commands = self._commands
        if self._choices is not None or self._controls is None or commands is None:
            return
        if commands.robot_can_be_chosen:
            assert self._scene is not None
            present = (self._robot.robot, self._robot.arguments.get("controller", ""))
            allocation = self._robot.allocation()
            self._choices = Choices(
                self._server, self._control_tab, commands, self._scene.model, present, allocation
            )

    def _on_transforms(self, message: TFMessage) -> None:
        for item in message.transforms:
            p, r = item.transform.translation, item.transform.rotation
            self._poses[item.child_frame_id] = ((p.x, p.y, p.z), (r.w, r.x, r.y, r.z))

    def _on_markers(self, message: MarkerArray) -> None:
        self._markers = message

    def _on_power(self, message: Power) -> None:
        time = self._seconds(from_stamp(message.header.stamp))
        powers = {
            word: getattr(message, port)
            for port, word in PORT_WORDS.items()
            if self._law.moving or word != "base"
        }
        powers.update(zip(message.tool_names, message.tool_power, strict=False))
        self._power.add(time, {**powers, "-friction": -message.dissipated})
        self._overview.on_power(message)

    def _on_control(self, message: ControllerState) -> None:
        time = self._seconds(from_stamp(message.header.stamp))
        value_of = partial(getattr, message)
        self._law.see(value_of)
        parts = parts_of_law(value_of, self._law.split)
        self._energy.add(time, {"total": message.closed_loop_energy, **parts})
        self._error.add(time, {"distance to the reference": message.task_error})
        self._overview.on_control(message)

    def _on_energy(self, message: Energy) -> None:
        self._law.moving = moves(message.header.frame_id)
        self._overview.on_energy(message)

    def _seconds(self, stamp: int) -> float:
        if self._start is None or stamp < self._start:
            self._start = stamp
        return (stamp - self._start) / NANOSECONDS

    def _draw_robot(self) -> None:
        if self._commands is not None:
            self._commands.work()
        watched = bool(self._server.get_clients())
        self._listen(watched)
        self._view.listen(watched)
        if self._scene is None or not watched:
            return
        self._ask_for_poses()
        poses, self._poses = self._poses, {}
        self._root_place = poses.get(self._scene.root, (self._root_place,))[0]
        with self._server.atomic():
            self._follow()
            for link, pose in poses.items():
                self._scene.place(link, pose)
            if self._pull is not None:
                self._pull.draw()
            if self._markers is not None:
                self._view.markers.show(self._markers)
                self._markers = None

    def _face(self, client: Any) -> None:
        """Turn the camera of a client to the robot; its own first one is that of any scene."""
        camera = self._server.initial_camera
        if self._chase is not None:
            with client.atomic():
                client.camera.up_direction = self._chase.up
                client.camera.position = camera.position
                client.camera.look_at = camera.look_at

    def _follow(self) -> None:
        """Move the world with a robot that leaves the view."""
        if self._chase is not None and self._chase.step(np.array(self._root_place)):
            self._world.position = self._chase.shift

    def _draw_pictures(self) -> None:
        if not self._server.get_clients():
            return
        self._show_gains()
        self._show_choices()
        if self._controls is not None:
            paused = self._overview.is_paused(self._simulator)
            if paused is not None:
                self._controls.show_paused(paused)
        self._overview.draw(self._health.disagreement)
        self._pictures += 1
        if self._pictures % _PLOTS_EVERY == 0:  # most of what is sent
            for strip in self._strips:
                strip.draw()
            self._view.draw()


def main() -> None:
    """Run the node."""
    run(WebViewer)


if __name__ == "__main__":
    main()

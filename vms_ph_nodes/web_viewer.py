# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A web page that shows the robot in 3D with live plots of its energies and port powers."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray
from vms_ph.msg import ControllerState, Energy, Exergy, Power
from vms_ph.srv import StepSimulation

from vms_ph_dynamics import Array, VmsPhError
from vms_ph_io import robots
from vms_ph_io.energy_split import BASE, LawSplit, is_moving_base

from .messages.conversions import in_range
from .node.health import DIAGNOSTICS
from .node.parameters import declare
from .node.process import ReportingNode, errors_in_one_sentence, run
from .node.robot_parameters import LATCHED, RobotParameters
from .views.commands import Commands, Recording, contain_errors

with errors_in_one_sentence():
    try:
        from .views.controls import Controls, Panel
        from .views.marker_scene import Surroundings, ViewTab
        from .views.overview import Overview
        from .views.page_address import page_address, page_token
        from .views.page_server import serve_page, stop_page
        from .views.pointer_spring import PointerSpring
        from .views.robot_scene import RobotScene
        from .views.strip_chart import LivePlots
        from .views.viewpoint import WorldView, viewpoint
    except ModuleNotFoundError as error:
        raise VmsPhError(
            f"the web page requires {error.name}: pip install 'vms-ph[web]', or viser, trimesh, "
            "pycollada and scipy"
        ) from None

_POSES_HZ = 30.0
_PICTURES_HZ = 5.0
_PICTURES_PER_PLOT = 2

_MAX_POSES = 10_000  # whose poses wait to be drawn

# Pictures of the robot without a pose until the simulator is asked for one.
_CALLS_WITHOUT_POSE = 15


class WebViewer(ReportingNode):
    """Serves the page on 127.0.0.1."""

    PARAMETER_FILE = "web_viewer"

    def __init__(self) -> None:
        """Start the server.

        Raises:
            VmsPhError: the port is in use, or an allowed origin or the token is not valid.
        """
        super().__init__("web_viewer")
        self._robot = RobotParameters(self)
        port: int = declare(self, "port")
        self._robot_name = ""
        allowed_origins: str = declare(self, "allowed_origins")
        token = page_token(declare(self, "token"))
        self._server = serve_page(port, allowed_origins, self._title, token)
        self._commands = None if declare(self, "view_only") else Commands(self)
        self._recording = Recording(Path(declare(self, "recordings")))
        self._picture_count = 0
        self._scene: RobotScene | None = None
        self._root_position = (0.0, 0.0, 0.0)
        self._law_split = LawSplit()
        self._build_page()
        self._poses: dict[str, tuple] = {}
        self._markers: MarkerArray | None = None
        self._simulator_name = f"{self.get_namespace()}/simulator".lstrip("/")
        self._subscribe(String, "robot_description", self._on_description, LATCHED)
        self._subscribe(TFMessage, "/tf_static", self._on_transforms, LATCHED)
        self._live_subscriptions: list[Subscription] = []
        self._calls_to_request = 0  # calls of _draw_robot until they are asked for
        self._step_client = self.create_client(StepSimulation, "simulator/step")
        self.create_timer(1.0 / _POSES_HZ, self._draw_robot)
        self.create_timer(1.0 / _PICTURES_HZ, self._draw_pictures)
        # Not in the log of the node, which is a topic, and a file that others may read.
        print(f"web page at {page_address(port, token, allowed_origins)}", flush=True)

    def destroy_node(self) -> None:
        """End the recording and the page, then the node."""
        self._recording.end()
        stop_page(self._server)
        super().destroy_node()

    def _build_page(self) -> None:
        server = self._server
        self._view = WorldView(server)
        self._surroundings = Surroundings(server)
        self._overview = Overview(server, self._law_split)
        tabs = server.gui.add_tab_group()
        with tabs.add_tab("Energy"):
            self._live_plots = LivePlots(server, self._law_split)
        self._view_tab = ViewTab(server, self._live_plots.charts, tabs.add_tab("View"))
        self._controls: Controls | None = None
        self._control_tab = None if self._commands is None else tabs.add_tab("Control")

    def _title(self) -> str:
        return f"{self._robot_name} – vms_ph" if self._robot_name else "vms_ph"

    def _update_subscriptions(self, has_clients: bool) -> None:
        """Subscribe to what is shown, or end it: a page that nobody looks at costs nothing."""
        if has_clients and not self._live_subscriptions:
            for kind, topic, callback, depth in (
                (TFMessage, "/tf", self._on_transforms, 10),
                (MarkerArray, "vms_ph/markers", self._on_markers, 1),
                (Energy, "vms_ph/energy", self._on_energy, 10),
                (Power, "vms_ph/power", self._on_power, 10),
                (JointState, "joint_states", self._live_plots.on_joints, 5),
                (ControllerState, "controller/state", self._on_control, 10),
                (MarkerArray, "vms_ph/scene", self._surroundings.on_scene, LATCHED),
                (Exergy, "vms_ph/exergy", self._overview.on_exergy, 1),
                (DiagnosticArray, DIAGNOSTICS, self._overview.on_diagnostics, 50),
            ):
                self._live_subscriptions.append(self._subscribe(kind, topic, callback, depth))
            self._calls_to_request = _CALLS_WITHOUT_POSE
        elif not has_clients and self._live_subscriptions:
            while self._live_subscriptions:
                self.destroy_subscription(self._live_subscriptions.pop())
            self._overview.forget()

    def _subscribe(
        self, message_type: type, topic: str, callback: Callable[[Any], None], qos: Any
    ) -> Subscription:
        """Return a subscription; a message that cannot be shown is left out, with a warning."""

        def on_message(message: Any) -> None:
            with contain_errors(self._input_diagnostics, f"a message on {topic}"):
                callback(message)

        return self.create_subscription(message_type, topic, on_message, qos)

    def _ask_for_poses(self) -> None:
        """Ask a simulator for its poses where none arrive: its time stands."""
        if self._poses or not self._calls_to_request:
            self._calls_to_request = 0
            return
        self._calls_to_request -= 1
        if not self._calls_to_request and self._step_client.service_is_ready():
            self._step_client.call_async(StepSimulation.Request(steps=0))
            self._calls_to_request = _CALLS_WITHOUT_POSE

    def _on_description(self, message: String) -> None:
        try:
            model = self._robot.model(message.data)
        except VmsPhError as error:
            self.get_logger().error(f"the received robot_description is not valid: {error}")
            return
        self._health.declare_robot(model)
        self._surroundings.redraw()
        if self._scene is not None:
            self._scene.remove()
        scene = self._scene = RobotScene(self._server, model, message.data)
        settings = self._robot.settings
        self._robot_name = settings.robot if settings.is_bundled else robots.known_as(model.name)
        self._view_tab.show(scene)
        self._overview.set_robot(model, self._robot_name)
        self._server.gui.set_panel_label(f"vms_ph: {self._robot_name}")
        home = settings.initial_configuration(model)
        root_position = scene.root_position(home)
        self._view.show(viewpoint(model, scene.box(home)), root_position)
        self._root_position = tuple(root_position.tolist())
        if self._commands is not None:
            if self._controls is not None:
                self._controls.remove()
                self._spring.remove()
            panel = Panel(self._server, self._control_tab, self._commands, model)
            self._controls = Controls(panel, self._robot, self._target_pose, self._recording, home)
            self._spring = PointerSpring(self._server, model, scene, self._commands, self._view)
            self._overview.show_hint()
        for mesh_name in scene.missing_meshes:
            self.get_logger().warning(f"cannot be drawn: {mesh_name}")

    def _target_pose(self) -> tuple[Array, Array]:
        """Return where the base or the end effector is: what the law has a reference for."""
        is_of_base = self._law_split.base_moves and self._law_split.split == BASE
        return self._scene.pose(self._scene.root if is_of_base else self._scene.end_effector)

    def _on_transforms(self, message: TFMessage) -> None:
        for transform in message.transforms:
            p, r = transform.transform.translation, transform.transform.rotation
            position, quaternion = (p.x, p.y, p.z), (r.w, r.x, r.y, r.z)
            if in_range(np.array([*position, *quaternion])) and len(self._poses) < _MAX_POSES:
                self._poses[transform.child_frame_id] = position, quaternion

    def _on_markers(self, message: MarkerArray) -> None:
        self._markers = message

    def _on_power(self, message: Power) -> None:
        self._live_plots.on_power(message)
        self._overview.on_power(message)

    def _on_control(self, message: ControllerState) -> None:
        self._law_split.update(partial(getattr, message))
        self._live_plots.on_control(message)
        self._overview.on_control(message)

    def _on_energy(self, message: Energy) -> None:
        self._law_split.base_moves = is_moving_base(message.header.frame_id)
        self._overview.on_energy(message)

    def _draw_robot(self) -> None:
        if self._commands is not None:
            self._commands.send_pending()
        has_clients = bool(self._server.get_clients())
        self._update_subscriptions(has_clients)
        if self._scene is None or not has_clients:
            return
        with contain_errors(self._input_diagnostics, "the scene"):
            self._draw_scene(self._scene)

    def _draw_scene(self, scene: RobotScene) -> None:
        self._ask_for_poses()
        poses, self._poses = self._poses, {}
        self._root_position = poses.get(scene.root, (self._root_position,))[0]
        with self._server.atomic():
            self._view.follow(np.array(self._root_position))
            for link, pose in poses.items():
                scene.set_link_pose(link, pose)
            self._surroundings.draw(scene)
            if self._controls is not None:
                self._spring.draw()
            if self._markers is not None:
                markers, self._markers = self._markers, None
                self._view_tab.markers.show(markers)

    def _draw_pictures(self) -> None:
        if not self._server.get_clients():
            return
        if self._controls is not None:
            with contain_errors(self._input_diagnostics, "the controls"):
                self._controls.show(*self._overview.pause_and_speed(self._simulator_name))
        with contain_errors(self._input_diagnostics, "the flow of energy"):
            self._overview.draw(self._health.disagreement)
        self._picture_count += 1
        if self._picture_count % _PICTURES_PER_PLOT == 0:  # most of what is sent
            with contain_errors(self._input_diagnostics, "the plots"):
                self._live_plots.draw()


def main() -> None:
    """Run the node."""
    run(WebViewer)

"""A web page that shows the robot in 3D with live plots of its energies and port powers."""

import logging
from collections import deque

import numpy as np
from rclpy.node import Node
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import MarkerArray
from vms_ph.msg import ControllerState, Power

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.structure import PORTS

from .messages.conversions import NANOSECONDS, from_stamp
from .node.health import Health
from .node.parameters import declare
from .node.process import errors_in_one_sentence, run
from .robot.robot_parameters import LATCHED, RobotParameters

with errors_in_one_sentence():
    try:
        import viser
        import viser.uplot

        from .views.marker_scene import MarkerScene
        from .views.page_server import HOST, serve_page
        from .views.robot_scene import RobotScene
    except ModuleNotFoundError as error:
        raise VmsPhError(
            f"the web page requires {error.name}: pip install 'vms-ph[web]', or viser, trimesh, "
            "pycollada and scipy"
        ) from None

_POSES_HZ = 30.0
_PLOTS_HZ = 10.0
_SECONDS = 20.0  # time span of the plots, s
_SAMPLES = int(_SECONDS * 25)

# Browsers open and drop spare connections, for each of which websockets logs a traceback.
logging.getLogger("websockets.server").setLevel(logging.CRITICAL)

_COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd")


class Strip:
    """A plot of several values over the last seconds."""

    def __init__(self, server: viser.ViserServer, title: str, labels: tuple[str, ...]) -> None:
        self._times: deque[float] = deque(maxlen=_SAMPLES)
        self._values: deque[tuple[float, ...]] = deque(maxlen=_SAMPLES)
        self._width = len(labels)
        series = [viser.uplot.Series(label="t")]
        series += [
            viser.uplot.Series(label=label, stroke=colour, width=2)
            for label, colour in zip(labels, _COLOURS, strict=False)
        ]
        self._plot = server.gui.add_uplot(
            self._data(),
            tuple(series),
            title=title,
            scales={"x": viser.uplot.Scale(time=False)},
            legend=viser.uplot.Legend(show=True),
            aspect=1.7,
        )

    def add(self, time: float, *values: float) -> None:
        """Append the values at a time (s)."""
        if self._times and time < self._times[-1]:
            self._times.clear()
            self._values.clear()
        if not self._times or time - self._times[-1] >= _SECONDS / _SAMPLES:
            self._times.append(time)
            self._values.append(values)

    def draw(self) -> None:
        """Send the samples to the page."""
        self._plot.data = self._data()

    def _data(self) -> tuple[np.ndarray, ...]:
        if len(self._times) < 2:
            # The page scales the visible part of the time axis with its length, and cannot recover
            # from a length of zero.
            return (np.array([0.0, 1.0]), *np.zeros((self._width, 2)))
        times = np.array(self._times)
        values = np.array(self._values).reshape(len(times), self._width)
        return (times, *np.ascontiguousarray(values.T))


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
        self._server = serve_page(port, declare(self, "allowed_origins"))
        self._scene: RobotScene | None = None
        self._start: int | None = None
        self._build_page()
        self._poses: dict[str, tuple] = {}
        self._markers: MarkerArray | None = None
        self._health = Health(self)
        self.create_subscription(String, "robot_description", self._on_description, LATCHED)
        self.create_subscription(TFMessage, "/tf", self._on_transforms, 10)
        self.create_subscription(TFMessage, "/tf_static", self._on_transforms, LATCHED)
        self.create_subscription(MarkerArray, "vms_ph/markers", self._on_markers, 10)
        self.create_subscription(Power, "vms_ph/power", self._on_power, 10)
        self.create_subscription(ControllerState, "controller/state", self._on_control, 10)
        self.create_timer(1.0 / _POSES_HZ, self._draw_robot)
        self.create_timer(1.0 / _PLOTS_HZ, self._draw_plots)
        self.get_logger().info(f"web page at http://{HOST}:{port}")

    def destroy_node(self) -> None:
        """Announce the shutdown to the other nodes, then end."""
        self._health.announce_shutdown()
        self._server.stop()
        super().destroy_node()

    def _build_page(self) -> None:
        server = self._server
        server.scene.set_up_direction("+z")
        server.scene.add_grid("/floor", width=4.0, height=4.0, cell_size=0.25)
        server.initial_camera.position = (1.25, -1.1, 1.0)
        server.initial_camera.look_at = (0.2, 0.0, 0.45)
        self._summary = server.gui.add_markdown("waiting for the robot description …")
        self._energy = Strip(
            server,
            "closed-loop energy (J)",
            ("total", "shaped potential", "kinetic, task or base", "kinetic, null or shape"),
        )
        self._power = Strip(
            server,
            "power into the robot (W)",
            ("torque", "wrench_base", "wrench_end_effector", "-friction"),
        )
        self._marker_scene = MarkerScene(server)
        self._error = Strip(server, "task error (mm)", ("distance to the reference",))

    def _on_description(self, message: String) -> None:
        try:
            model = self._robot.model(message.data)
        except VmsPhError as error:
            self.get_logger().error(f"the received robot_description is not valid: {error}")
            return
        self._health.declare_robot(model)
        self._scene = RobotScene(self._server, model, message.data)
        for missing in self._scene.missing:
            self.get_logger().warning(f"cannot be drawn: {missing}")

    def _on_transforms(self, message: TFMessage) -> None:
        for item in message.transforms:
            p, r = item.transform.translation, item.transform.rotation
            self._poses[item.child_frame_id] = ((p.x, p.y, p.z), (r.w, r.x, r.y, r.z))

    def _on_markers(self, message: MarkerArray) -> None:
        self._markers = message

    def _on_power(self, message: Power) -> None:
        time = self._seconds(from_stamp(message.header.stamp))
        self._power.add(time, *(getattr(message, port) for port in PORTS), -message.dissipated)
        self._last_power = message

    def _on_control(self, message: ControllerState) -> None:
        time = self._seconds(from_stamp(message.header.stamp))
        self._energy.add(
            time,
            message.closed_loop_energy,
            message.shaped_potential,
            # Laws split the kinetic energy into task and null space, or into base and shape.
            message.kinetic_task + message.kinetic_base,
            message.kinetic_null + message.kinetic_shape,
        )
        self._error.add(time, 1e3 * message.task_error)

    def _seconds(self, stamp: int) -> float:
        if self._start is None or stamp < self._start:
            self._start = stamp
        return (stamp - self._start) / NANOSECONDS

    def _draw_robot(self) -> None:
        if self._scene is None or not self._server.get_clients():
            return
        poses, self._poses = self._poses, {}
        with self._server.atomic():
            for link, pose in poses.items():
                self._scene.place(link, pose)
            if self._markers is not None:
                self._marker_scene.show(self._markers)
                self._markers = None

    def _draw_plots(self) -> None:
        if not self._server.get_clients():
            return
        for strip in (self._energy, self._power, self._error):
            strip.draw()
        power = getattr(self, "_last_power", None)
        if power is not None:
            self._summary.content = self._health.disagreement or _summary(power)


def _summary(power: Power) -> str:
    """Return the energy balance as Markdown, with every port of nonzero energy."""
    energies = {port: getattr(power, f"{port}_energy") for port in PORTS}
    energies.update(zip(power.tool_names, power.tool_energy, strict=False))
    supplied = " + ".join(f"{port} {energy:+.4f}" for port, energy in energies.items() if energy)
    powers = zip(power.tool_names, power.tool_power, strict=False)
    tools = ", ".join(f"{name} {watts:+.3f} W" for name, watts in powers)
    return (
        f"**stored** {power.stored:+.4f} J = {supplied or '0'} "
        f"− friction {power.dissipated_energy:.4f} J  \n"
        f"**unaccounted** {power.unaccounted_energy:+.1e} J, residual {power.residual:+.1e} W"
        + (f"  \n**tool ports** {tools}" if tools else "")
    )


def main() -> None:
    """Run the node."""
    run(WebViewer)


if __name__ == "__main__":
    main()

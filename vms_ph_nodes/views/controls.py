# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The controls of the page; each says the command that does the same in a terminal."""

import json
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from typing import Any, NamedTuple

import numpy as np
import viser
from rcl_interfaces.msg import ParameterDescriptor

from vms_ph_controllers.hosting.loading import bundled_controllers, suitable_controllers
from vms_ph_dynamics import Allocation, Array, StateError, VMSModel, VmsPhError
from vms_ph_io.installation import command_name

from ..check_settings import check, choices
from ..messages.frames import Frames
from ..node.robot_parameters import RobotParameters
from .commands import LONGEST_PUSH, ROS_CLI, Commands, Recording, Request, wrench_topic
from .shapes import reach

# Words of the page for ports, which have other names in topics.
_PORTS = {"end effector": "", "base": "base"}

# Ratios of simulated to real time.
_SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2")

# Time for which what a user has just set is not overwritten by what the simulator last said, s.
_SETTLING_TIME = 1.5

_MAX_STEPS = 100_000  # that can be asked for at once

# Size of the handle, for a robot with a reach of 1 m.
_HANDLE_SIZE = 0.25

# The default push: the acceleration that it gives its port, or the base, m/s^2, and its time, s.
_PUSH_ACCELERATION, _BASE_ACCELERATION, _PUSH_SECONDS = 8.0, 2.0, 0.3

# Messages of a push in a terminal, Hz, and the time for which the last of them acts, s: the default
# of the simulator's command_timeout.
_RATE, _PUSH_TIMEOUT = 50, 0.25


class Panel(NamedTuple):
    """Where controls are placed, and what they command.

    Attributes:
        server: of the page.
        tab: tab of the page that holds the panel.
        commands: commands that the page sends to the node.
        model: the robot.
    """

    server: viser.ViserServer
    tab: Any
    commands: Commands
    model: VMSModel


class Controls:
    """Choices, pause, step, reset, pushes, the reference and the gains of one robot."""

    def __init__(
        self,
        panel: Panel,
        robot: RobotParameters,
        target: Callable[[], tuple[Array, Array]],
        recording: Recording,
        start: Array,
    ) -> None:
        """Add the controls to the page.

        Args:
            panel: place on the page, and for which robot.
            robot: parameters of the node.
            target: returns position (3,) and quaternion wxyz (4,) of what the reference is for.
            recording: of all topics.
            start: (nq,) configuration at the start.
        """
        self._panel, self._parameters, self._target_pose = panel, robot, target
        self._server, self._tab, self._commands, self._model = panel
        self._frame = Frames.from_model(self._model).inertial
        self._recording, self._home = recording, start
        self._choice_time, self._last_paused, self._last_speed = 0.0, False, 1.0
        self._reference_handle: Any = None
        self._folders: list[Any] = []
        self._choices: Choices | None = None
        self._has_gains = False
        self._add_push()
        with self._folder("Gains"):
            self._gain_folder = self._folders[-1]
            self._gain_folder.visible = False  # until they are known
        self._add_simulation()
        self._add_reference()
        self._add_law()
        self._add_recording()

    def remove(self) -> None:
        """Take the controls from the page."""
        self._show_handle(False)
        for folder in self._folders:
            folder.remove()
        if self._choices is not None:
            self._choices.folder.remove()

    @contextmanager
    def _folder(self, title: str) -> Iterator[viser.GuiApi]:
        with self._tab, self._server.gui.add_folder(title) as folder:
            self._folders.append(folder)
            yield self._server.gui

    def _add_simulation(self) -> None:
        with self._folder("Simulation") as gui:
            self._pause_box = pause = gui.add_checkbox("paused", initial_value=False)
            steps = gui.add_number("steps", initial_value=10, min=1, max=_MAX_STEPS, step=1)
            buttons = gui.add_button_group("", ("step", "reset"))
            self._speed_choice = speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1")
            answer = gui.add_html("")
        commands = self._commands

        def on_choice(request: Callable[[], Request]) -> Callable[[Any], None]:
            def on_update(event: Any) -> None:
                if event.client is not None:  # by a user, not by show_paused or show_speed
                    self._choice_time = time.monotonic()
                    send(answer, request())

            return on_update

        pause.on_update(on_choice(lambda: commands.call("simulator/pause", data=pause.value)))
        speed.on_update(
            on_choice(lambda: commands.set("simulator", "real_time_factor", float(speed.value)))
        )

        @buttons.on_click
        def _(_: Any) -> None:
            if buttons.value == "reset":
                send(answer, commands.call("simulator/reset"))
            else:
                step_count = min(max(int(steps.value), 1), _MAX_STEPS)
                send(answer, commands.call("simulator/step", steps=step_count))

    def _add_push(self) -> None:
        model, resolve = self._model, self._commands.full_name
        body_ports = [port for port in _PORTS if model.b or port != "base"]
        ports = (*dict.fromkeys([*body_ports, *model.tools]),)
        forces = {p: suggested_force(model, self._home, _PORTS.get(p, p)) for p in ports}
        with self._folder("Push") as gui:
            port = gui.add_dropdown("at", ports)
            force = gui.add_vector3("force (N)", (forces[ports[0]], 0.0, 0.0), step=0.1)
            duration = gui.add_number(
                "for (s)", _PUSH_SECONDS, min=0.01, max=LONGEST_PUSH, step=0.01
            )
            button = gui.add_button("push")
            answer = gui.add_html("")
            gui.add_html(
                text_html(
                    "Or drag a link with the pointer while Shift is held: a spring pulls it "
                    f"({resolve('simulator/torque')}, {resolve(wrench_topic('base'))})."
                )
            )

        def update_command(_: Any) -> None:
            name = _PORTS.get(port.value, port.value)
            x, y, z = force.value
            frame = "" if name == "base" else "header: {frame_id: world}, "
            count = max(1, round(_RATE * (duration.value - _PUSH_TIMEOUT)))
            answer.content = shell_html(
                f"{ROS_CLI} topic pub --rate {_RATE} --times {count} {resolve(wrench_topic(name))} "
                "geometry_msgs/msg/WrenchStamped "
                f"'{{{frame}wrench: {{force: {{x: {x:g}, y: {y:g}, z: {z:g}}}}}}}'"
            )

        for control in (port, force, duration):
            control.on_update(update_command)
        update_command(None)

        @port.on_update
        def _(event: Any) -> None:
            if event.client is not None and port.value in forces:
                force.value = (forces[port.value], 0.0, 0.0)

        @button.on_click
        def _(_: Any) -> None:
            if port.value not in ports:
                return
            try:
                self._commands.push(_PORTS.get(port.value, port.value), force.value, duration.value)
            except StateError as error:
                answer.content = refusal_html(str(error))

    def _add_reference(self) -> None:
        with self._folder("Reference") as gui:
            handle_box = gui.add_checkbox("handle in the scene", initial_value=False)
            self._reference_answer = gui.add_html(
                text_html(
                    "Drag it to move the reference of the controller: arrows along x (red), y "
                    "(green), z (blue); squares in a plane; arcs turn it."
                )
            )
        handle_box.on_update(lambda _: self._show_handle(handle_box.value))

    def _add_recording(self) -> None:
        with self._folder("Recording") as gui:
            checkbox = gui.add_checkbox("record all topics", initial_value=False)
            answer = gui.add_html("")

        @checkbox.on_update
        def _(_: Any) -> None:
            if checkbox.value:
                answer.content = shell_html(self._recording.start())
                return
            if (bag := self._recording.end()) is None:
                answer.content = refusal_html("the recorder has ended by itself; see the terminal")
            else:
                answer.content = shell_html(f"{command_name()} bag view {shlex.quote(str(bag))}")

    def _add_law(self) -> None:
        with self._folder("Law") as gui:
            button = gui.add_button(
                "restart the law, refill its tank",
                hint="The law then holds the present pose, with its tank at tank_initial.",
            )
            answer = gui.add_html("")
        button.on_click(lambda _: send(answer, self._commands.call("controller/restart")))

    def show(self, paused: bool | None, speed: float | None) -> None:
        """Add gains and choices once they are known, and show how time passes.

        Others may have paused the simulation or set its ratio to real time.

        Args:
            paused: whether the simulation is paused; None: it is not known.
            speed: ratio of simulated to real time; None: it is not known.
        """
        if not self._has_gains:
            self._has_gains = self._commands.ask_gains(self.show_gains)
        choices = self._commands.available_choices
        if choices and (self._choices is None or self._choices.options != choices):
            if self._choices is not None:
                self._choices.folder.remove()
            arguments = {**self._parameters.arguments, "robot": self._parameters.settings.robot}
            self._choices = Choices(self._panel, arguments, self._parameters.allocation(), choices)
        # Only a change is shown: what a user has just set is under way to the simulator.
        if time.monotonic() < self._choice_time + _SETTLING_TIME:
            return
        if paused not in (None, self._last_paused):
            self._last_paused = paused
            if self._pause_box.value != paused:
                self._pause_box.value = paused
        if speed not in (None, self._last_speed):
            self._last_speed = speed
            if float(self._speed_choice.value) != speed:
                if (name := f"{speed:g}") not in self._speed_choice.options:
                    self._speed_choice.options = (*sorted((*_SPEEDS, name), key=float),)
                self._speed_choice.value = name

    def _show_handle(self, is_visible: bool) -> None:
        if self._reference_handle is not None:
            self._reference_handle.remove()
            self._reference_handle = None
        if not is_visible:
            return
        position, wxyz = self._target_pose()
        size = _HANDLE_SIZE * reach(self._model)
        self._reference_handle = handle = self._server.scene.add_transform_controls(
            "/world/reference", scale=size, position=position, wxyz=wxyz, depth_test=False
        )

        @handle.on_update
        def _(_: Any) -> None:
            try:
                self._commands.set_reference_pose(handle.position, handle.wxyz, self._frame)
            except StateError as error:
                self._reference_answer.content = refusal_html(str(error))
                return
            x, y, z = handle.position
            w, i, j, k = handle.wxyz
            pose = shlex.quote(
                f"{{header: {{frame_id: {json.dumps(self._frame)}}}, pose: {{"
                f"position: {{x: {x:.3f}, y: {y:.3f}, z: {z:.3f}}}, orientation: "
                f"{{x: {i:.3f}, y: {j:.3f}, z: {k:.3f}, w: {w:.3f}}}}}}}"
            )
            topic = self._commands.full_name("controller/reference_pose")
            self._reference_answer.content = shell_html(
                f"{ROS_CLI} topic pub --once {topic} geometry_msgs/msg/PoseStamped {pose}"
            )

    def show_gains(self, gains: Mapping[str, tuple[ParameterDescriptor, float]]) -> None:
        """Add a number for every gain of the controller, by name with its present value."""
        self._gain_folder.visible = bool(gains)
        with self._gain_folder:
            gui = self._server.gui
            answer = gui.add_html(text_html("They may change while the controller runs."))
            for name, (gain, value) in gains.items():
                bounds = gain.floating_point_range[0]
                field = gui.add_number(
                    name,
                    initial_value=value,
                    min=bounds.from_value,
                    max=bounds.to_value,
                    # The field steps by a hundredth of what the gain is now.
                    step=float(f"{max(abs(value), 1.0) / 100:.1g}"),
                    hint=gain.description,
                )
                field.on_update(self._gain_callback(name, field, answer))

    def _gain_callback(self, name: str, field: Any, answer: Any) -> Callable[[Any], None]:
        """Return what happens when the field of a gain is changed."""
        accepted_value = field.value

        def on_update(_: Any) -> None:
            value = float(field.value)
            if value == accepted_value:
                return

            def on_answer(refusal: str) -> None:
                nonlocal accepted_value
                if refusal:
                    field.value = accepted_value
                else:
                    accepted_value = value

            send(answer, self._commands.set("controller", name, value), on_answer)

        return on_update


_NONE_LABELS = {"demo": "none", "law": "as in the parameter file", "scene": "none"}

# Launch arguments of other names than on the page.
_LAUNCH_ARGUMENTS = {"law": "controller"}


class Choices:
    """Lists of demos, robots, laws and scenes: bundled ones, and those that the launch names.

    Attributes:
        options: which of the lists there are.
        folder: folder of the page that holds them.
    """

    def __init__(
        self,
        panel: Panel,
        arguments: Mapping[str, str],
        allocation: Allocation | None,
        options: Sequence[str],
    ) -> None:
        """Add them to the page.

        Args:
            panel: place on the page, and of the present robot.
            arguments: of the launch: those that are chosen now, and further ones.
            allocation: of the base.
            options: which of the lists are shown.
        """
        self._robot_name, self._commands, self.options = arguments["robot"], panel.commands, options
        # Launch files of tasks hand the name of theirs to all nodes.
        arguments = {**arguments, "demo": os.environ.get("VMS_PH_TASK", "")}
        exclusions = {*bundled_controllers()} - {*suitable_controllers(panel.model, allocation)}
        gui = panel.server.gui
        with panel.tab, gui.add_folder(", ".join(options).capitalize(), order=-1.0) as self.folder:
            for choice, names in choices(arguments).items():
                if choice not in options:
                    continue
                current = arguments.get(_LAUNCH_ARGUMENTS.get(choice, choice), "")
                label = _NONE_LABELS.get(choice, "")
                suitable = [name for name in names if name == current or name not in exclusions]
                current = current if current in names else ""
                labels = (*filter(None, [label, *suitable]),)
                hint = "it needs MuJoCo" if choice == "scene" else None
                field = gui.add_dropdown(choice, labels, initial_value=current or label, hint=hint)
                field.on_update(partial(self._on_choice, choice, field, labels))
            self._answer = gui.add_html(text_html("The page begins anew with what is chosen."))

    def _on_choice(self, choice: str, field: Any, labels: tuple[str, ...], _: Any) -> None:
        """Choose another robot, law or scene, once it is known to fit."""
        if field.value not in labels:  # a program may send any other, which must not be loaded
            return
        name = "" if field.value == _NONE_LABELS.get(choice) else field.value
        request = self._commands.choose(choice, name)
        try:
            if choice != "demo":
                check({"robot": self._robot_name, _LAUNCH_ARGUMENTS.get(choice, choice): name})
        except VmsPhError as error:
            show_refusal(self._answer, request, str(error))
            return
        send(self._answer, request)


def suggested_force(model: VMSModel, q: Array, port: str) -> float:
    """Return a force that is seen and does no harm, N, in two digits.

    It accelerates what it pushes, which at the end effector is much less than the whole robot.

    Args:
        model: the robot.
        q: (nq,) its configuration.
        port: empty for the end effector, ``base``, or the name of a tool.
    """
    d = model.evaluate(q, np.zeros(model.nv))
    if port == "base":
        return float(f"{_BASE_ACCELERATION * model.total_mass:.2g}")
    jacobian = (d.J_tools[port] if port else d.J_end_effector)[:3]
    mobility = float(np.trace(jacobian @ np.linalg.solve(d.M, jacobian.T)))
    return float(f"{_PUSH_ACCELERATION / max(mobility / 3.0, 1.0 / model.total_mass):.2g}")


def send(
    answer: Any, request: Request, on_answer: Callable[[str], None] = lambda refusal: None
) -> None:
    """Show the command of a request, send it, and show a refusal below the command.

    Args:
        answer: the text on the page.
        request: request that is sent.
        on_answer: called with the refusal, empty if there is none.
    """
    answer.content = shell_html(request.command)

    def reply(refusal: str) -> None:
        on_answer(refusal)
        if refusal:
            show_refusal(answer, request, refusal)

    request.send(reply)


def show_refusal(answer: Any, request: Request, refusal: str) -> None:
    """Show the command of a request with a refusal below it."""
    answer.content = shell_html(request.command) + refusal_html(refusal)


# Whatever is shown may have been written by others, in names and in sentences about them: it is
# text, and is escaped here.


def text_html(text: str) -> str:
    """Return a text as HTML."""
    return f'<div class="vms-text">{escape(text)}</div>'


def refusal_html(refusal: str) -> str:
    """Return as HTML why something was not done."""
    return f'<div class="vms-text vms-bad"><b>not done</b>: {escape(refusal)}</div>'


def shell_html(command: str) -> str:
    """Return a line for a terminal as HTML, with a button that copies it."""
    return f'<div class="vms-shell"><pre>{escape(command)}</pre><button>copy</button></div>'

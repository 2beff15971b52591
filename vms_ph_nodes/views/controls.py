# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The controls of the page; each says the command that does the same in a terminal."""

import time
from collections.abc import Callable
from typing import Any

import viser

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array

from .commands import Commands, Gain, Recording, Reply, wrench_topic
from .shapes import reach

_END_EFFECTOR, _BASE = "end effector", "base"

# Ratios of simulated to real time.
_SPEEDS = ("0.05", "0.1", "0.25", "0.5", "1", "2")

# Time for which what a user has just set is not overwritten by what the simulator last said, s.
_SETTLING_TIME = 1.5

# Size of the handle, for a robot with a reach of 1 m.
_HANDLE = 0.25

# The default push gives the whole robot this speed, m/s, in the default time, s.
_SPEED, _SECONDS = 0.05, 0.15


class Controls:
    """Pause, step, reset, pushes, the reference and the gains."""

    def __init__(
        self,
        server: viser.ViserServer,
        tab: Any,
        commands: Commands,
        model: VMSModel,
        world_axes: str,
        target: Callable[[], tuple[Array, Array]],
        recording: Recording,
    ) -> None:
        """Add the controls to the page.

        Args:
            server: of the page.
            tab: where on the page.
            commands: of the node.
            model: the robot.
            world_axes: name of the inertial frame.
            target: returns position (3,) and quaternion wxyz (4,) of what the reference is for.
            recording: of all topics.
        """
        self._server, self._tab, self._commands, self._model = server, tab, commands, model
        self._frame, self._target = world_axes, target
        self._recording = recording
        self._chosen_at, self._was_paused, self._was_speed = 0.0, False, 1.0
        self._handle: Any = None
        with tab:
            self._folders = [
                self._add_simulation(),
                self._add_push(),
                self._add_reference(),
                self._add_law(),
                self._add_recording(),
            ]
        self._gains: dict[str, Any] = {}

    def remove(self) -> None:
        """Take the controls from the page."""
        self._show_handle(False)
        for folder in self._folders:
            folder.remove()

    def _add_simulation(self) -> Any:
        gui = self._server.gui
        with gui.add_folder("Simulation") as folder:
            self._paused = paused = gui.add_checkbox("paused", initial_value=False)
            steps = gui.add_number("steps", initial_value=10, min=1, max=100_000, step=1)
            do = gui.add_button_group("", ("step", "reset"))
            self._speed = speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1")
            answer = gui.add_markdown("")

        @paused.on_update
        def _(event: Any) -> None:
            if event.client is None:  # set by show_paused
                return
            self._chosen_at = time.monotonic()
            value = str(paused.value).lower()
            self._say(
                answer,
                f"ros2 service call {self._named('simulator/pause')} "
                f"std_srvs/srv/SetBool '{{data: {value}}}'",
            )
            self._commands.pause(paused.value, self._reply_to(answer))

        @speed.on_update
        def _(event: Any) -> None:
            if event.client is None:  # set by show_speed
                return
            self._chosen_at = time.monotonic()
            factor = float(speed.value)
            self._say(
                answer, f"ros2 param set {self._named('simulator')} real_time_factor {factor!r}"
            )
            self._commands.set_speed(factor, self._reply_to(answer))

        @do.on_click
        def _(_: Any) -> None:
            if do.value == "reset":
                self._say(
                    answer,
                    f"ros2 service call {self._named('simulator/reset')} std_srvs/srv/Trigger",
                )
                self._commands.reset(self._reply_to(answer))
                return
            self._say(
                answer,
                f"ros2 service call {self._named('simulator/step')} "
                f"vms_ph/srv/StepSimulation '{{steps: {steps.value}}}'",
            )
            self._commands.step(int(steps.value), self._reply_to(answer))

        return folder

    def _add_push(self) -> Any:
        gui, model = self._server.gui, self._model
        ports = [_END_EFFECTOR, *([_BASE] if model.b else []), *model.tools]
        force = float(f"{max(model.total_mass * _SPEED / _SECONDS, 0.1):.2g}")
        with gui.add_folder("Push") as folder:
            port = gui.add_dropdown("at", ports)
            vector = gui.add_vector3("force (N)", initial_value=(force, 0.0, 0.0), step=0.1)
            seconds = gui.add_number(
                "for (s)", initial_value=_SECONDS, min=0.01, max=60.0, step=0.01
            )
            button = gui.add_button("push")
            answer = gui.add_markdown("")
            gui.add_markdown(
                "Or drag a link with the pointer while Shift is held: a spring pulls it "
                f"(`{self._named('simulator/torque')}`, `{self._named(wrench_topic('base'))}`)."
            )

        def update_command(_: Any) -> None:
            name = {_END_EFFECTOR: "", _BASE: "base"}.get(port.value, port.value)
            x, y, z = vector.value
            frame = "" if name == "base" else "header: {frame_id: world}, "
            self._say(
                answer,
                f"ros2 topic pub --rate 50 {self._named(wrench_topic(name))} "
                "geometry_msgs/msg/WrenchStamped "
                f"'{{{frame}wrench: {{force: {{x: {x:g}, y: {y:g}, z: {z:g}}}}}}}'",
            )

        for control in (port, vector, seconds):
            control.on_update(update_command)
        update_command(None)

        @button.on_click
        def _(_: Any) -> None:
            name = {_END_EFFECTOR: "", _BASE: "base"}.get(port.value, port.value)
            self._commands.push(name, vector.value, seconds.value)

        return folder

    def _add_reference(self) -> Any:
        gui = self._server.gui
        with gui.add_folder("Reference") as folder:
            handle_box = gui.add_checkbox("handle in the scene", initial_value=False)
            self._reference_answer = gui.add_markdown(
                "Drag the handle to move the reference of the controller."
            )

        @handle_box.on_update
        def _(_: Any) -> None:
            self._show_handle(handle_box.value)

        return folder

    def _add_recording(self) -> Any:
        gui = self._server.gui
        with gui.add_folder("Recording") as folder:
            runs = gui.add_checkbox("record all topics", initial_value=False)
            answer = gui.add_markdown("")

        @runs.on_update
        def _(_: Any) -> None:
            if runs.value:
                self._say(answer, self._recording.start())
                return
            bag = self._recording.end()
            if bag is None:
                answer.content = "**not done**: the recorder has ended by itself; see the terminal"
            else:
                self._say(answer, f"vms-ph bag view {bag}")

        return folder

    def _add_law(self) -> Any:
        gui = self._server.gui
        with gui.add_folder("Law") as folder:
            button = gui.add_button(
                "restart the law, refill its tank",
                hint="The law then holds the present pose, with its tank at tank_initial.",
            )
            answer = gui.add_markdown("")

        @button.on_click
        def _(_: Any) -> None:
            name = self._named("controller/restart")
            self._say(answer, f"ros2 service call {name} std_srvs/srv/Trigger")
            self._commands.restart_law(self._reply_to(answer))

        return folder

    def show_paused(self, paused: bool) -> None:
        """Show whether the simulation is paused, which others may have done."""
        # Only a change is shown: what a user has just set is under way to the simulator.
        if time.monotonic() < self._chosen_at + _SETTLING_TIME or paused == self._was_paused:
            return
        self._was_paused = paused
        if self._paused.value != paused:
            self._paused.value = paused

    def show_speed(self, factor: float) -> None:
        """Show the ratio of simulated to real time, which others may have set."""
        if time.monotonic() < self._chosen_at + _SETTLING_TIME or factor == self._was_speed:
            return
        self._was_speed = factor
        if float(self._speed.value) != factor:
            if (name := f"{factor:g}") not in self._speed.options:
                self._speed.options = (*sorted((*_SPEEDS, name), key=float),)
            self._speed.value = name

    def _show_handle(self, visible: bool) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
        if not visible:
            return
        position, wxyz = self._target()
        size = _HANDLE * reach(self._model)
        handle = self._server.scene.add_transform_controls(
            "/world/reference", scale=size, position=position, wxyz=wxyz, depth_test=False
        )
        self._handle = handle

        @handle.on_update
        def _(_: Any) -> None:
            x, y, z = handle.position
            w, i, j, k = handle.wxyz
            self._say(
                self._reference_answer,
                f"ros2 topic pub --once {self._named('controller/reference_pose')} "
                "geometry_msgs/msg/PoseStamped "
                f"'{{header: {{frame_id: {self._frame}}}, pose: {{"
                f"position: {{x: {x:.3f}, y: {y:.3f}, z: {z:.3f}}}, orientation: "
                f"{{x: {i:.3f}, y: {j:.3f}, z: {k:.3f}, w: {w:.3f}}}}}}}'",
            )
            self._commands.set_reference_pose(handle.position, handle.wxyz, self._frame)

    def show_gains(self, gains: list[Gain]) -> None:
        """Add a number for every gain of the controller."""
        if self._gains or not gains:
            return
        gui = self._server.gui
        with self._tab, gui.add_folder("Gains", expand_by_default=False) as folder:
            answer = gui.add_markdown("Parameters of the controller that may change while it runs.")
            for gain in gains:
                # The field steps by a hundredth of what the gain is now.
                step = float(f"{max(abs(gain.value), 1.0) / 100:.1g}")
                self._gains[gain.name] = gui.add_number(
                    gain.name,
                    initial_value=gain.value,
                    min=gain.least,
                    max=gain.most,
                    step=step,
                    hint=gain.description,
                )
        self._folders.append(folder)
        for gain in gains:
            self._gains[gain.name].on_update(self._setting(gain, answer))

    def _setting(self, gain: Gain, answer_text: Any) -> Callable[[Any], None]:
        """Return what happens when the field of a gain is changed."""
        field, accepted = self._gains[gain.name], [gain.value]

        def changed(_: Any) -> None:
            value = float(field.value)
            if value == accepted[0]:
                return
            self._say(
                answer_text, f"ros2 param set {self._named('controller')} {gain.name} {value!r}"
            )
            reply = self._reply_to(answer_text)

            def on_answer(why: str) -> None:
                if why:
                    field.value = accepted[0]
                else:
                    accepted[0] = value
                reply(why)

            self._commands.set_gain(gain.name, value, on_answer)

        return changed

    def _named(self, name: str) -> str:
        """Return the full name of a topic, a service or a node."""
        return self._commands.full_name(name)

    @staticmethod
    def _say(answer_text: Any, command: str) -> None:
        answer_text.content = shell(command)

    @staticmethod
    def _reply_to(answer_text: Any) -> Reply:
        """Return what shows a refusal below the command."""
        command = answer_text.content

        def reply(why: str) -> None:
            if why:
                answer_text.content = f"{command}\n\n**not done**: {why}"

        return reply


def shell(command: str) -> str:
    """Return a line for a terminal as Markdown that can be copied."""
    return f"```sh\n{command}\n```"

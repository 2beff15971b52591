# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The payload of a simulated robot, taken and set down at its times or on request."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from builtin_interfaces.msg import Time
from geometry_msgs.msg import InertiaStamped
from rclpy.node import Node
from std_msgs.msg import Header
from std_srvs.srv import SetBool
from vms_ph.msg import PayloadState

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.forms import StandardForm
from vms_ph_dynamics.free_floating import Body
from vms_ph_dynamics.simulation import Payload, Sample, Simulation
from vms_ph_io.tasks.payload_use import PayloadUse

from ..messages.payload_state import CARRIED_INERTIA, to_inertia, to_payload_state
from .grasp_markers import BodyMarkers, payload_shapes

PAYLOAD_STATE = "vms_ph/payload_state"

OnBodyChange: TypeAlias = Callable[[Body | None, Sample | None], None]


class PayloadPublishers:
    """Publishes ``vms_ph/payload_state``, ``vms_ph/carried_inertia`` and the payload's markers.

    All nodes know the robot without it: what it does to the robot is a wrench at the end effector.

    Attributes:
        use: the payload.
    """

    def __init__(
        self,
        node: Node,
        model: VMSModel,
        home: Array,
        payload: Payload,
        frames: tuple[str, str],
        on_change: OnBodyChange,
    ) -> None:
        """Create the topics, and put the payload where it will be taken.

        Args:
            node: of the topics.
            model: the robot without it.
            home: (nq,) its configuration at the start.
            payload: the body.
            frames: the inertial frame and the end effector, with their prefix.
            on_change: tells the controller in the same process what the robot carries, from which
                motion on; None from that of the start on.

        Raises:
            OptionError: it would fall before it is taken, or the robot is in water.
        """
        self.use = PayloadUse(payload, model, home)
        self._model = self._plant = model
        self._log, self._on_change, self._frames = node.get_logger(), on_change, frames
        self._states = node.create_publisher(PayloadState, PAYLOAD_STATE, 10)
        self._scene = BodyMarkers(node, frames[0], "payload", payload_shapes(payload))
        self._inertias = None
        if payload.told:
            self._inertias = node.create_publisher(InertiaStamped, CARRIED_INERTIA, 10)
        self._changes: list[float] = list(self.use.changes)

    def restart(self, simulation: Simulation) -> None:
        """Put it where it was at the start; the simulation returns there without it."""
        carried = self.use.carried is not None
        self.use.forget()
        self._plant, self._changes = self._model, list(self.use.changes)
        if carried:
            # The law first: the simulation calls it as it begins.
            self._say(None, None)
            simulation.reset(StandardForm(self._model))
        else:
            simulation.reset()

    def steps_before_change(self, simulation: Simulation, steps: int) -> int:
        """Return the number of steps before it is taken or set down, ``steps`` at most."""
        if not self._changes:
            return steps
        left = round(self._changes[0] / simulation.dt) - simulation.steps
        return min(max(left, 0), steps)

    def change_when_due(self, simulation: Simulation) -> None:
        """Take it or set it down, where it is time for that."""
        while self._changes and round(self._changes[0] / simulation.dt) <= simulation.steps:
            self._changes.pop(0)
            if not simulation.is_finite():
                continue
            if self.use.carried is not None:
                self._set_down(simulation)
            elif self.use.capture_distance is None:
                self._take(simulation)

    def on_hold(
        self, simulation: Simulation, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        """Take it or set it down on request."""
        use = self.use
        if request.data and use.carried is not None:
            response.message = "the end effector has the payload already"
        elif request.data and use.is_set_down:
            response.message = "the payload was set down; ~/reset puts it where it was"
        elif request.data and use.payload.moves:
            response.message = f"the payload moves, and is taken at {use.payload.at:g} s alone"
        elif request.data:
            response.success, response.message = self._take(simulation)
        elif use.carried is None:
            response.message = "the end effector has no payload"
        else:
            response.success, response.message = True, self._set_down(simulation)
        return response

    def sample(self, simulation: Simulation, now: Sample) -> Sample:
        """Return a sample in which the payload acts on the end effector by its wrench."""
        work = self.use.supplied_work(now.q, now.v)
        energies = dict(now.port_energy)
        energies["wrench_end_effector"] += work
        wrench = now.wrench_end_effector + self.use.wrench(simulation)
        return replace(now, wrench_end_effector=wrench, port_energy=energies)

    def publish(self, simulation: Simulation, stamp: Time) -> None:
        """Publish where it is, and what the robot carries."""
        use, (inertial, tool) = self.use, self._frames
        now = simulation.sample()
        pose = use.pose(now.q, now.time)
        momentum = use.momentum(simulation, self._plant)
        header = Header(stamp=stamp, frame_id=inertial)
        self._states.publish(to_payload_state(header, use, pose, momentum, simulation.resets))
        if self._inertias is not None:
            at = Header(stamp=stamp, frame_id=tool)
            self._inertias.publish(to_inertia(at, use.carried))
        self._scene.publish(pose, stamp)

    def _take(self, simulation: Simulation) -> tuple[bool, str]:
        use = self.use
        self._plant = use.take(simulation, self._model)
        distance = 1e3 * (use.capture_distance or 0.0)
        if use.carried is None:
            sentence = (
                f"the payload is not taken: its handle is {distance:.4g} mm from the end effector, "
                f"within reach are {1e3 * use.payload.reach:.4g} mm"
            )
            self._log.warning(sentence)
            return False, sentence
        sentence = (
            f"the end effector takes {use.payload.mass:g} kg, {distance:.3g} mm from the handle; "
            f"the capture loses {use.lost['capture']:.3g} J"
        )
        self._log.info(sentence)
        self._say(use.carried, simulation.sample())
        return True, sentence

    def _set_down(self, simulation: Simulation) -> str:
        use = self.use
        self._plant = use.set_down(simulation, self._model)
        sentence = f"the payload is set down, which loses {use.lost['setting_down']:.3g} J"
        self._log.info(sentence)
        self._say(None, simulation.sample())
        return sentence

    def _say(self, body: Body | None, now: Sample | None) -> None:
        if self.use.payload.told:
            self._on_change(body, now)

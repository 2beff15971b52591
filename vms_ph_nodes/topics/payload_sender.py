# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The service ``~/set_payload``: tells the driver of a robot the payload that is observed."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from std_msgs.msg import Header
from std_srvs.srv import SetBool

from vms_ph_controllers.observers import Payload
from vms_ph_dynamics import Evaluation, ModelError, OptionError, VMSModel, VmsPhError
from vms_ph_dynamics.capture import Body
from vms_ph_io import drivers

from ..messages.observations import to_inertia
from .interfaces import load_interface

# A payload is sent at rest, rad/s or m/s, and from states of at most this age, s.
_LARGEST_SPEED, _LARGEST_AGE = 0.02, 0.5

# Largest standard deviations: of the mass as a share of it, of a mass that is none, kg, and of the
# centre of mass, m.
_MASS_DEVIATION_SHARE, _EMPTY_DEVIATION, _CENTRE_DEVIATION = 0.1, 0.05, 0.05

# A confirmation holds for what was reported at most this time before, s; the driver may take so
# long to answer, s.
_CONFIRMATION_TIME, _ANSWER_TIME = 60.0, 5.0

_DENSITY = 1000.0  # of the sphere whose inertia stands for that of a payload, kg/m^3


@dataclass(frozen=True)
class _Proposal:
    """What would be sent.

    Attributes:
        load: beyond the model, in the axes of the end effector, a ``pinocchio.Inertia``.
        payload: of the driver, in the axes of its flange.
        text: for the user.
        deviation: standard deviation of the mass, kg.
        time: of the report, on a monotonic clock, s.
    """

    load: Any
    payload: Body
    text: str
    deviation: float
    time: float


class PayloadSender:
    """Reports the payload that the driver would be told, and sends it when that is confirmed.

    Attributes:
        load: what the driver has accepted, a ``pinocchio.Inertia`` at the end effector in its axes.
            The robot of the observer carries it, so that it counts neither as payload nor wrench.
    """

    def __init__(self, node: Node, model: VMSModel, driver: str, carry: Callable[[], None]) -> None:
        """Offer the service.

        Args:
            node: that observes.
            model: the robot without a payload.
            driver: its name, or the path of its file.
            carry: called when the driver has taken :attr:`load`.

        Raises:
            VmsPhError: there is no such driver, its robot takes no payload, its package is missing,
                or the robot has another flange.
        """
        self._node, self._model, self._carry = node, model, carry
        services = {name: drivers.get(name).payload for name in {*drivers.names(), driver}}
        if (service := services[driver]) is None:
            names = ", ".join(sorted(name for name, other in services.items() if other))
            raise OptionError(f"'{driver}' has no entry payload; payload_driver is one of {names}")
        try:
            self._type = load_interface(service.type, "srv")
        except VmsPhError:
            text = f"needs {service.type}: install the package {service.type.split('/')[0]}"
            raise OptionError(f"payload_driver '{driver}' {text}") from None
        self._service = service
        self._find_flange()
        self.load = pin.Inertia.Zero()
        self._estimate: tuple[Payload, float, float] | None = None
        self._reported_proposal: _Proposal | None = None
        # The answer of the driver arrives within a call.
        self._group = group = ReentrantCallbackGroup()
        self._client = node.create_client(self._type, service.name, callback_group=group)
        node.create_service(SetBool, "~/set_payload", self._on_call, callback_group=group)

    def observe(self, payload: Payload, d: Evaluation) -> None:
        """Take what is observed beyond :attr:`load` at a state."""
        self._estimate = payload, float(np.abs(d.v).max()), time.monotonic()

    def _find_flange(self) -> None:
        """Find the place of the end effector at the flange, and the tool between both."""
        robot, ending = self._model.tree.pinocchio, self._service.flange
        links = [(i, f) for i, f in enumerate(robot.frames) if f.type == pin.FrameType.BODY]
        ids = [i for i, link in links if link.name.endswith(ending)]
        tip = robot.frames[self._model.end_effector_id]
        if len(ids) != 1 or robot.frames[ids[0]].parentJoint != tip.parentJoint:
            names = ", ".join(robot.frames[i].name for i in ids) or "none"
            text = f"its payload is stated in one frame '..{ending}' that moves with '{tip.name}'"
            raise ModelError(f"{text}; '{self._model.name}' has {names}")
        self._flange = flange = robot.frames[ids[0]]
        self._tip_at_flange = flange.placement.inverse() * tip.placement
        self._tool = pin.Inertia.Zero()
        ids_beyond = set(ids)
        for i, frame in enumerate(robot.frames):
            if self._service.with_tool and frame.parentFrame in ids_beyond and i not in ids_beyond:
                if frame.parentJoint != flange.parentJoint:
                    raise ModelError(f"'{frame.name}' moves beyond '{flange.name}'; lock it")
                ids_beyond.add(i)
                self._tool += (flange.placement.inverse() * frame.placement).act(frame.inertia)

    async def _on_call(self, request: Any, response: Any) -> Any:
        try:
            proposal = self._proposal()
            if request.data:
                response.message = await self._send(proposal)
            else:
                self._reported_proposal = proposal
                response.message = f"would send {proposal.text}; to send it, call with data: true"
            response.success = True
        except VmsPhError as error:
            response.message = f"not set: {error}"
        return response

    def _proposal(self) -> _Proposal:
        """Return what would be sent now.

        Raises:
            VmsPhError: nothing may be sent now.
        """
        if self._estimate is None:
            raise VmsPhError("no payload is observed yet: joint states with efforts are missing")
        payload, speed, observed_time = self._estimate
        now = time.monotonic()
        if now - observed_time > _LARGEST_AGE:
            raise VmsPhError(f"the last joint states came {now - observed_time:.1f} s ago")
        if speed > _LARGEST_SPEED:
            raise VmsPhError(f"the robot moves with {speed:.2g} rad/s (or m/s); let it rest")
        mass, deviation = self.load.mass + payload.mass, payload.mass_deviation
        is_unloaded = mass < 2.0 * deviation
        bounds = f"{mass:.3g} kg ({mass - 2.0 * deviation:.3g} to {mass + 2.0 * deviation:.3g})"
        if deviation > (_EMPTY_DEVIATION if is_unloaded else _MASS_DEVIATION_SHARE * mass):
            raise VmsPhError(f"the mass is not known well enough: {bounds}; wait, or move the arm")
        if mass < -2.0 * deviation:
            raise VmsPhError(f"the payload has a negative mass, {bounds}; the model is too heavy")
        load = pin.Inertia.Zero()
        if not is_unloaded:
            first_moment = self.load.mass * self.load.lever + payload.moment
            total_payload = Payload(mass, first_moment, payload.covariance, False)
            if (spread := total_payload.centre_deviation.max()) > _CENTRE_DEVIATION:
                text = f"the centre of mass is known to {2.0 * spread:.2g} m only"
                raise VmsPhError(f"{bounds}, but {text}; turn the end effector")
            radius = float(np.cbrt(mass / (4.0 / 3.0 * np.pi * _DENSITY)))
            load = pin.Inertia.FromSphere(mass, radius)
            load.lever = total_payload.centre
        limit = min(self._service.largest, self._model.total_mass)
        inertia = self._tool + self._tip_at_flange.act(load)
        if inertia.mass > limit:
            raise VmsPhError(f"{inertia.mass:.3g} kg are more than the {limit:.3g} kg allowed")
        text = f"no load ({bounds})" if is_unloaded else bounds
        text += f" and the tool of {self._tool.mass:.3g} kg" if self._service.with_tool else ""
        text += f", centre of mass ({', '.join(f'{x:.3f}' for x in inertia.lever)}) m in "
        text += f"{self._flange.name}, to {self._client.srv_name}"
        body = Body(inertia.mass, inertia.lever, inertia.inertia)
        return _Proposal(load, body, text, deviation, now)

    async def _send(self, offer: _Proposal) -> str:
        """Send what was reported, and return what the driver answered.

        Raises:
            VmsPhError: nothing valid was reported before, or the driver did not take it.
        """
        report, self._reported_proposal = self._reported_proposal, None
        if report is None or offer.time - report.time > _CONFIRMATION_TIME:
            raise VmsPhError("ask what would be sent first: call with data: false")
        if abs(offer.load.mass - report.load.mass) > 2.0 * (report.deviation + offer.deviation):
            raise VmsPhError(f"it has changed since the report, and would be {offer.text}")
        if not self._client.service_is_ready():
            raise VmsPhError(f"there is no service {self._client.srv_name}; is the driver running?")
        answer = self._client.call_async(fill_request(self._type, report.payload))
        end_wait = partial(answer.set_result, None)
        timer = self._node.create_timer(_ANSWER_TIME, end_wait, self._group, self._node._steady)
        try:
            response = await answer
        except RuntimeError as error:  # of the middleware
            raise VmsPhError(str(error)) from None
        finally:
            self._node.destroy_timer(timer)
        if response is None:
            text = f"{self._client.srv_name} did not answer in {_ANSWER_TIME:g} s; it may act later"
            raise VmsPhError(text)
        if not response.success:
            reason = getattr(response, "error", "") or "without a reason"
            raise VmsPhError(f"{self._client.srv_name} refused {report.text}: {reason}")
        self.load, self._estimate = report.load, None
        self._carry()
        return f"sent {report.text}"


def fill_request(service: Any, payload: Body) -> Any:
    """Return the request of a service that sets a payload, by the names of its fields.

    Raises:
        VmsPhError: it has no fields for one.
    """
    request = service.Request()
    inertia = to_inertia(Header(), payload).inertia
    values = {name: getattr(inertia, name) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")}
    values |= {"mass": inertia.m, "center_of_gravity": inertia.com, "payload": inertia}
    values["center_of_mass"] = np.asarray(payload.centre, float).tolist()
    values["load_inertia"] = np.asarray(payload.inertia, float).ravel(order="F").tolist()
    known_names = [name for name in request.get_fields_and_field_types() if name in values]
    if not {"mass", "payload"} & set(known_names):
        raise VmsPhError(f"{service.__name__} has no field mass or payload")
    for name in known_names:
        setattr(request, name, values[name])
    return request

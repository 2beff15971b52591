# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Messages of contacts, payloads and identified parameters, to and from the values of a node."""

import math
from typing import TYPE_CHECKING

import numpy as np
from geometry_msgs.msg import Inertia, InertiaStamped
from std_msgs.msg import Header
from vms_ph.msg import Contact, Identification, Payload, PayloadState

from vms_ph_controllers.observers import ContactReport
from vms_ph_controllers.observers import Payload as ObservedPayload
from vms_ph_dynamics import Array, StateError, VMSModel
from vms_ph_dynamics.capture import Body

from .conversions import check_range, from_xyz, to_point, to_pose, to_vector

if TYPE_CHECKING:
    from vms_ph_dynamics.identification.live import LiveResult
    from vms_ph_io.tasks.payload_use import PayloadUse


def to_contact(header: Header, model: VMSModel, report: ContactReport) -> Contact:
    """Return the message of a report of contact, which names the joint."""
    return Contact(
        header=header,
        contact=bool(report.contact),
        began=bool(report.has_begun),
        by_momentum=report.by_momentum,
        by_energy=report.by_energy,
        duration=report.duration,
        work=report.work,
        work_deviation=report.work_deviation,
        joint=model.joint_names[report.joint] if report.joint >= 0 else "",
    )


def from_payload(message: Payload) -> ObservedPayload:
    """Return a payload, with the deviations of mass and centre of mass as if independent."""
    first_moment = message.mass * from_xyz(message.centre_of_mass)
    first_moment_deviations = message.mass * from_xyz(message.centre_deviation)
    deviations = np.array([message.mass_deviation, *first_moment_deviations])
    return ObservedPayload(message.mass, first_moment, np.diag(deviations**2), message.changed)


def to_payload(header: Header, payload: ObservedPayload) -> Payload:
    """Return a payload with its deviations."""
    return Payload(
        header=header,
        mass=payload.mass,
        mass_deviation=payload.mass_deviation,
        centre_of_mass=to_point(payload.centre),
        centre_deviation=to_vector(payload.centre_deviation),
        changed=bool(payload.changed),
    )


_SCALAR_PARAMETERS = (
    *("payload_mass", "payload_centre_x", "payload_centre_y", "payload_centre_z"),
    "timing.effort_lag",
)
_FRICTION_TERMS = ("viscous", "coulomb", "offset")

# Suffixes of the fields of a message, and the attribute of a parameter that such a field holds.
_SUFFIXES = {"": "value", "_low": "low", "_high": "high"}


def to_identification(
    header: Header, joints: tuple[str, ...], result: "LiveResult"
) -> Identification:
    """Return the message of a result, with NaN for what is not excited.

    Args:
        header: stamp of the last state that was used, and frame of the load.
        joints: names of the joints of the model.
        result: the present estimates.
    """
    parameters = {parameter.name: parameter for parameter in result.parameters}
    fields: dict[str, object] = {}
    for name in _SCALAR_PARAMETERS:
        # There is no lag to identify where commanded efforts are held from sample to sample.
        p, field = parameters.get(name), name.removeprefix("timing.")
        fields |= {field + end: _or_nan(getattr(p, key, None)) for end, key in _SUFFIXES.items()}
    for term in _FRICTION_TERMS:
        term_parameters = [parameters[f"friction.{joint}.{term}"] for joint in joints]
        for suffix, attribute in _SUFFIXES.items():
            fields[term + suffix] = [_or_nan(getattr(p, attribute)) for p in term_parameters]
    change_time, changed_part = result.changed or (math.nan, "")
    return Identification(
        header=header,
        joint_names=list(joints),
        not_excited=[p.name for p in result.parameters if p.value is None],
        motion=result.memory_span,
        residual=result.residual,
        changed=changed_part,
        changed_at=change_time,
        **fields,
    )


def diagnostic_values(reason: str, record: "tuple[int, LiveResult] | None") -> dict[str, str]:
    """Return what a node says on /diagnostics of its identification: why not, or its result."""
    if reason:
        return {"identification": reason}
    if record is None:
        return {"identification": "not enough motion yet"}
    _, identification = record
    mass = identification["payload_mass"]
    values = {"load (kg)": "not excited"}
    if mass.value is not None:
        values["load (kg)"] = f"{mass.value:.3g} ({mass.low:.3g} to {mass.high:.3g})"
    excited_parameters = [p for p in identification.parameters if p.value is not None]
    values["identified"] = f"{len(excited_parameters)} of {len(identification.parameters)}"
    if identification.changed is not None:
        values["last change"] = identification.changed[1]
    return values


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)


CARRIED_INERTIA = "vms_ph/carried_inertia"
"""Topic of what the end effector carries."""

# Order of the entries of an inertia in a message.
_ENTRIES = [*zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), *np.triu_indices(3), strict=True)]


def to_payload_state(
    header: Header, payload_use: "PayloadUse", pose: Array, momentum: Array | None, resets: int
) -> PayloadState:
    """Return the message about a payload.

    Args:
        header: header with the inertial frame.
        payload_use: the payload.
        pose: (4,4) of its handle.
        momentum: (6,) of robot and payload, linear first; None where it is not kept.
        resets: number of resets of the simulation.
    """
    state = PayloadState.CARRIED if payload_use.load is not None else PayloadState.FREE
    linear, angular = np.zeros((2, 3)) if momentum is None else momentum.reshape(2, 3)
    return PayloadState(
        header=header,
        pose=to_pose(pose),
        state=PayloadState.SET_DOWN if payload_use.is_set_down else state,
        tried=payload_use.capture_distance is not None,
        distance=0.0 if payload_use.capture_distance is None else payload_use.capture_distance,
        brought=payload_use.initial_energy,
        left=payload_use.final_energy,
        lost_capture=payload_use.losses["capture"],
        lost_setting_down=payload_use.losses["setting_down"],
        momentum_kept=momentum is not None,
        linear_momentum=to_vector(linear),
        angular_momentum=to_vector(angular),
        resets=resets,
    )


def momentum_of(message: PayloadState) -> Array | None:
    """Return the momentum in a message, (6,); None where it is not kept."""
    if not message.momentum_kept:
        return None
    parts = (message.linear_momentum, message.angular_momentum)
    return np.concatenate([from_xyz(part) for part in parts])


def to_inertia(header: Header, body: Body | None) -> InertiaStamped:
    """Return the inertia of a body at the end effector, all zero if there is none.

    Args:
        header: with the frame of the end effector.
        body: carried body in the axes of that frame.
    """
    if body is None:
        return InertiaStamped(header=header)
    tensor = np.asarray(body.inertia, float)
    entries = {name: float(tensor[row, column]) for name, row, column in _ENTRIES}
    centre = to_vector(body.centre)
    return InertiaStamped(header=header, inertia=Inertia(m=float(body.mass), com=centre, **entries))


def from_inertia(message: InertiaStamped) -> Body | None:
    """Return the body in a message; None if its mass is zero.

    Raises:
        StateError: a number is not finite or too large.
        ModelError: it is the inertia of no body.
    """
    inertia = message.inertia
    tensor = np.zeros((3, 3))
    for name, row, column in _ENTRIES:
        tensor[row, column] = tensor[column, row] = getattr(inertia, name)
    centre = from_xyz(inertia.com)
    check_range(np.array([inertia.m, *centre, *tensor.ravel()]), "an inertia")
    if inertia.m == 0.0:
        if tensor.any():
            raise StateError("an inertia without a mass is no body; one of zeros stands for none")
        return None
    body = Body(float(inertia.m), centre, tensor)
    body.pinocchio_inertia()
    return body

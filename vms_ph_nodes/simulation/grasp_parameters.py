# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The parameters of what the end effector of a simulated robot takes or holds."""

from dataclasses import fields
from typing import Any

import numpy as np
from rclpy.node import Node

from vms_ph_dynamics.simulation import Mechanism, Payload

from ..node.parameters import declare

# Of a payload, what a task judges and a simulation does not need.
_JUDGED = ("to", "within")


def payload_parameters(payload: Payload) -> dict[str, Any]:
    """Return the parameters ``payload.*`` of a payload."""
    names = [item.name for item in fields(payload) if item.name not in _JUDGED]
    parameters = {f"payload.{name}": _parameter_value(getattr(payload, name)) for name in names}
    never = {"payload.at": payload.at, "payload.release": payload.release}
    absent = [name for name, time in never.items() if time is None or not np.isfinite(time)]
    return parameters | dict.fromkeys(absent, 0.0)


def mechanism_parameters(mechanism: Mechanism) -> dict[str, Any]:
    """Return the parameters ``mechanism.*`` of a mechanism."""
    return {
        f"mechanism.{item.name}": _parameter_value(getattr(mechanism, item.name))
        for item in fields(mechanism)
    }


def declare_payload(node: Node) -> Payload | None:
    """Declare the parameters ``payload.*``, and return the payload if it has a mass.

    Raises:
        VmsPhError: a value is not accepted.
    """
    names = [item.name for item in fields(Payload) if item.name not in _JUDGED]
    declared = {name: declare(node, f"payload.{name}") for name in names}
    if not declared["mass"]:
        return None
    declared["at"] = declared["at"] or np.inf
    declared["release"] = declared["release"] or None
    return Payload(**{name: _array(value) for name, value in declared.items()})


def declare_mechanism(node: Node) -> Mechanism | None:
    """Declare the parameters ``mechanism.*``, and return the mechanism if it has an inertia.

    Raises:
        VmsPhError: a value is not accepted.
    """
    names = [item.name for item in fields(Mechanism)]
    declared = {name: declare(node, f"mechanism.{name}") for name in names}
    if not declared["inertia"]:
        return None
    return Mechanism(**{name: _array(value) for name, value in declared.items()})


def _parameter_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if isinstance(value, bool) or value is None else float(value)


def _array(value: Any) -> Any:
    return value if value is None or np.isscalar(value) else np.array(value, dtype=float)

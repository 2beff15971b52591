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
    """Return the parameters ``payload.*`` of a payload; 0 stands for the time of no event."""
    parameters = _parameters("payload", payload)
    for name in ("payload.at", "payload.release"):
        time = parameters[name]
        parameters[name] = 0.0 if time is None or not np.isfinite(time) else time
    return parameters


def mechanism_parameters(mechanism: Mechanism) -> dict[str, Any]:
    """Return the parameters ``mechanism.*`` of a mechanism."""
    return _parameters("mechanism", mechanism)


def declare_payload(node: Node) -> Payload | None:
    """Declare the parameters ``payload.*``, and return the payload if it has a mass.

    Raises:
        VmsPhError: a value is not accepted.
    """
    declared = _declared(node, "payload", Payload)
    if not declared["mass"]:
        return None
    declared["at"] = declared["at"] or np.inf
    declared["release"] = declared["release"] or None
    return Payload(**declared)


def declare_mechanism(node: Node) -> Mechanism | None:
    """Declare the parameters ``mechanism.*``, and return the mechanism if it has an inertia.

    Raises:
        VmsPhError: a value is not accepted.
    """
    declared = _declared(node, "mechanism", Mechanism)
    return Mechanism(**declared) if declared["inertia"] else None


def _names(kind: Any) -> list[str]:
    return [item.name for item in fields(kind) if item.name not in _JUDGED]


def _parameters(prefix: str, body: Payload | Mechanism) -> dict[str, Any]:
    return {f"{prefix}.{name}": _parameter_value(getattr(body, name)) for name in _names(body)}


def _declared(node: Node, prefix: str, kind: Any) -> dict[str, Any]:
    declared = {name: declare(node, f"{prefix}.{name}") for name in _names(kind)}
    return {
        n: v if v is None or np.isscalar(v) else np.array(v, float) for n, v in declared.items()
    }


def _parameter_value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if isinstance(value, bool) or value is None else float(value)

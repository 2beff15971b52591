# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of numbers: those of received states and efforts, and those of an answer."""

from typing import Any

import numpy as np

from vms_ph_dynamics.arrays import Array
from vms_ph_dynamics.errors import StateError

# Largest magnitude of a number in a state or an effort, in SI units. No robot comes near it, and
# what is computed from smaller ones cannot overflow.
LARGEST = 1e9


def in_range(values: Array) -> bool:
    """Return whether all values are finite and at most :data:`LARGEST`."""
    return bool((np.abs(values) <= LARGEST).all())


def check_range(values: Array, label: str) -> None:
    """Check the entries of an array.

    Raises:
        StateError: one is not finite or above :data:`LARGEST`; ``label`` begins the message.
    """
    if not in_range(values):
        raise StateError(
            f"{label} must be finite and at most {LARGEST:g}; given: {values.tolist()}"
        )


def require_finite(message: Any) -> None:
    """Check every number in a message, also in the messages within it.

    Args:
        message: any ROS message, or response of a service.

    Raises:
        StateError: a number is infinite or undefined.
    """
    path = _not_finite(message)
    if path:
        raise StateError(
            f"the result is not finite ({path}): the given state is too far from any that a robot "
            "can have"
        )


def is_finite(message: Any) -> bool:
    """Return whether every number in a message is finite, also in the messages within it."""
    return not _not_finite(message)


def _not_finite(message: Any) -> str:
    """Return the path of a field that is not finite, or an empty string."""
    for name, kind in message.get_fields_and_field_types().items():
        value = getattr(message, name)
        if "/" in kind:
            parts = value if isinstance(value, list) else [value]
            within = next(filter(None, (_not_finite(part) for part in parts)), "")
            if within:
                return f"{name}.{within}"
        elif ("double" in kind or "float" in kind) and not np.isfinite(value).all():
            return str(name)
    return ""

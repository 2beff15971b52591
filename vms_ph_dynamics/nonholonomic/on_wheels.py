# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Robots on wheels that do not slip, by the joints that turn them."""

from collections.abc import Mapping

from ..model import VMSModel
from .constraint import WheelConstraint
from .form import NonholonomicForm


def on_wheels(model: VMSModel, wheels: Mapping[str, float]) -> NonholonomicForm | None:
    """Return a robot on wheels, radii by the names of their joints (m); None without any.

    Raises:
        ModelError: the base is not planar, a joint is unknown or turns no wheel, or a radius is not
            positive.
    """
    if not wheels:
        return None
    return NonholonomicForm(model, [WheelConstraint(model, n, r) for n, r in wheels.items()])

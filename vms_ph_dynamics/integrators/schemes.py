# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The schemes by name."""

from collections.abc import Callable, Mapping

from ..errors import OptionError
from ..forms import Form
from ..model import VMSModel
from .compiled import prefer_compiled
from .discrete_gradient import DiscreteGradient
from .projected_runge_kutta import ProjectedMidpoint, ProjectedRK4
from .robot_stepper import RobotStepper
from .runge_kutta import RK4, RKMK4

SCHEMES: Mapping[str, Callable[[Form, bool], RobotStepper]] = {
    "projected_rk4": ProjectedRK4,
    "projected_midpoint": ProjectedMidpoint,
    "discrete_gradient": DiscreteGradient,
    "rk4": RK4,
    "rkmk4": RKMK4,
}
"""Schemes for robots by name; their arguments are a form and whether gravity acts."""


def make_stepper(
    name: str, form: Form, gravity: bool = True, native: bool | None = None
) -> RobotStepper:
    """Return a scheme for a robot.

    Args:
        name: one of :data:`SCHEMES`.
        form: the robot.
        gravity: whether it acts.
        native: whether the scheme runs in C++: True requires it, False excludes it, None uses it
            where it is installed and exists for the scheme and the robot.

    Raises:
        OptionError: there is no scheme of this name.
        ModelError: the scheme does not cover this robot, or does not exist in C++ with
            ``native=True``.
    """
    try:
        scheme_class = SCHEMES[name]
    except KeyError:
        raise OptionError(f"there is no scheme '{name}'; there are {', '.join(SCHEMES)}") from None
    stepper = prefer_compiled(name, scheme_class(form, gravity), native)
    stepper.name = name
    return stepper


def default_scheme(model: VMSModel) -> str:
    """Return the name of the default scheme for a robot.

    Projected Runge-Kutta is the most accurate of the explicit schemes and closes the energy
    balance. It does not cover robots in a fluid, whose centre of mass does not move on a parabola;
    for them the default is RKMK4.
    """
    return "projected_rk4" if model.fluid is None else "rkmk4"

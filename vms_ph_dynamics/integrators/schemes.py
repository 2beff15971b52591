"""The schemes by name."""

from collections.abc import Callable, Mapping

from ..errors import StateError
from ..model import VMSModel
from ..structure import Form
from .compiled import compiled
from .composition import Suzuki
from .discrete_gradient import DiscreteGradient, LieMidpoint, Variational
from .projected_rk4 import ProjectedRK4
from .rk4 import RK4
from .rkmk4 import RKMK4
from .robot_stepper import RobotStepper

SCHEMES: Mapping[str, Callable[[Form, bool], RobotStepper]] = {
    "projected_rk4": ProjectedRK4,
    "discrete_gradient": DiscreteGradient,
    "discrete_gradient_4": lambda form, gravity: Suzuki(DiscreteGradient(form, gravity)),
    "rk4": RK4,
    "rkmk4": RKMK4,
    "lie_midpoint": LieMidpoint,
    "variational": Variational,
    "variational_4": lambda form, gravity: Suzuki(Variational(form, gravity)),
}
"""Schemes for robots: each takes a form and whether gravity acts."""


def make_stepper(
    name: str, form: Form, gravity: bool = True, native: bool | None = None
) -> RobotStepper:
    """Return a scheme for a robot.

    Args:
        name: out of :data:`SCHEMES`.
        form: the robot.
        gravity: whether it acts.
        native: whether the scheme runs in C++: True and False insist, None takes it where it is
            installed and there is one for the scheme and the robot.

    Raises:
        StateError: there is no scheme of this name.
        ModelError: the scheme is not for this robot, or ``native=True`` and not there in C++.
    """
    try:
        kind = SCHEMES[name]
    except KeyError:
        raise StateError(f"there is no scheme '{name}'; there are {', '.join(SCHEMES)}") from None
    return compiled(name, kind(form, gravity), native)


def default_scheme(model: VMSModel) -> str:
    """Return the name of the scheme to take where there is no reason for another.

    Projected Runge-Kutta: of the explicit ones the most accurate at a step, and its books close;
    for a robot in a fluid, whose centre of mass plays no part of its own, RKMK4.
    """
    return "projected_rk4" if model.fluid is None else "rkmk4"

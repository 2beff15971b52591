"""Construction of a controller from its name, for a robot with a given base actuation."""

import dataclasses
import importlib
import inspect
from typing import Any

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_dynamics.effects.allocation import Allocation
from vms_ph_dynamics.errors import OptionError

from ..interface import Controller


def make_controller(
    kind: str,
    model: VMSModel,
    allocation: Allocation | None = None,
    base_actuated: bool = True,
) -> Controller:
    """Return a controller by the name of its module and class.

    Args:
        kind: module and class, such as vms_ph_controllers.TaskSpaceIDAPBC.
        model: the robot.
        allocation: the actuators of the base, for controllers with a parameter for them.
        base_actuated: whether the base has actuators, likewise.

    Raises:
        OptionError: there is no such class, or it is not a controller.
        VmsPhError: it does not support this robot.
    """
    module, _, name = kind.rpartition(".")
    try:
        made = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise OptionError(
            f"there is no controller '{kind}' ({error}); give module.Class, for instance "
            "vms_ph_controllers.TaskSpaceIDAPBC"
        ) from None
    if not (isinstance(made, type) and issubclass(made, Controller)):
        raise OptionError(f"'{kind}' is not a controller: it must derive from Controller")
    if missing := ", ".join(sorted(made.__abstractmethods__)):
        raise VmsPhError(f"'{kind}' is not a whole controller: it must define {missing}")
    if not dataclasses.is_dataclass(getattr(made, "Gains", None)):
        raise VmsPhError(
            f"'{kind}' does not say what a user can set: give it a frozen dataclass Gains, empty "
            "where there is nothing, and an attribute gains with its present values"
        )
    known = inspect.signature(made).parameters
    offered: dict[str, Any] = {"allocation": allocation, "base_actuated": base_actuated}
    return made(model, **{key: value for key, value in offered.items() if key in known})

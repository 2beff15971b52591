# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Construction of a controller from its name, for a robot with a given base actuation."""

import contextlib
import dataclasses
import importlib
import importlib.util
import inspect
import os
import sys
from pathlib import Path
from typing import Any

from vms_ph_dynamics import Allocation, OptionError, VMSModel, VmsPhError
from vms_ph_dynamics.errors import did_you_mean
from vms_ph_dynamics.nonholonomic import NonholonomicForm

from ..controller import Controller

_PACKAGE = "vms_ph_controllers"


def make_controller(
    controller: str | type[Controller],
    model: VMSModel,
    allocation: Allocation | None = None,
    base_actuated: bool = True,
    form: NonholonomicForm | None = None,
) -> Controller:
    """Return a controller by its class, or by the name of its module and class.

    Args:
        controller: the class; or the name of one of vms_ph_controllers, ``package.module:Class``
            (or with a dot), ``path/to/law.py:Class``, or ``auto``: DecoupledVMSController on a
            moving base, CartesianImpedance on a fixed one.
        model: the robot.
        allocation: the actuators of the base, for controllers with a parameter for them.
        base_actuated: whether the base has actuators, likewise.
        form: the robot with its wheels that do not slip, for controllers that take this instead
            of the model.

    Raises:
        OptionError: there is no such class, it is not a controller, or it is for robots on wheels
            that do not slip and the robot is not one, or the other way round.
        VmsPhError: it does not support this robot.
    """
    if controller == "auto":
        controller = "DecoupledVMSController" if model.b else "CartesianImpedance"
        controller = controller if form is None else "DifferentialDrive"
    controller_class = _find_class(controller) if isinstance(controller, str) else controller
    name = controller if isinstance(controller, str) else controller.__name__
    if not (isinstance(controller_class, type) and issubclass(controller_class, Controller)):
        raise OptionError(f"'{name}' is not a controller: it must derive from Controller")
    if missing_methods := ", ".join(sorted(controller_class.__abstractmethods__)):
        raise VmsPhError(f"'{name}' is incomplete: it must define {missing_methods}")
    if not dataclasses.is_dataclass(controller_class.Gains):
        raise VmsPhError(
            f"the Gains of '{name}' must be a frozen dataclass; a law without gains has no Gains"
        )
    # Of the class itself, Python before 3.11.4 returns those of __new__.
    parameters = inspect.signature(controller_class.__init__).parameters
    takes_form = "form" in parameters
    if takes_form and form is None:
        raise OptionError(
            f"'{name}' is for robots on wheels that do not slip, as in the entry 'wheels' of a "
            f"task; '{model.name}' has none"
        )
    if form is not None and not takes_form:
        raise OptionError(
            f"'{name}' does not support the wheels of '{model.name}', which do not slip; "
            "DifferentialDrive and WheeledImpedance do"
        )
    base_options: dict[str, Any] = {"allocation": allocation, "base_actuated": base_actuated}
    try:
        robot: Any = form if takes_form else model
        law = controller_class(robot, **{k: x for k, x in base_options.items() if k in parameters})
    except VmsPhError:
        raise
    except Exception as error:  # a law of a user may raise anything
        raise VmsPhError(
            f"'{name}' cannot control '{model.name}': {type(error).__name__}: {error}"
        ) from error
    if not isinstance(law.gains, law.Gains):
        raise VmsPhError(
            f"'{name}' has not set its gains; set self.gains = self.Gains() in its constructor"
        )
    return law


def bundled_controllers() -> tuple[str, ...]:
    """Return the names of the controllers of this package."""
    package = importlib.import_module(_PACKAGE)
    exports = {name: getattr(package, name) for name in package.__all__}
    return tuple(
        name
        for name, export in exports.items()
        if isinstance(export, type) and issubclass(export, Controller) and export is not Controller
    )


def suitable_controllers(model: VMSModel, allocation: Allocation | None = None) -> tuple[str, ...]:
    """Return the names of the bundled controllers that support a robot; see make_controller."""
    suitable_names = []
    for name in bundled_controllers():
        with contextlib.suppress(VmsPhError):
            make_controller(name, model, allocation)
            suitable_names.append(name)
    return tuple(suitable_names)


def _find_class(class_name: str) -> Any:
    """Return the object with a name, which may be in a module or in a file."""
    module_name, colon, name = class_name.rpartition(":")
    if not colon:
        module_name, _, name = class_name.rpartition(".")
    try:
        if module_name.endswith(".py"):
            return _class_in(Path(os.path.expanduser(module_name)), name)
        return getattr(importlib.import_module(module_name or _PACKAGE), name)
    # A file of a user may raise anything while it is loaded.
    except Exception as error:
        names = [n for n, export in vars(sys.modules[_PACKAGE]).items() if inspect.isclass(export)]
        hint = "" if colon else did_you_mean(name, names)
        raise OptionError(
            f"there is no controller '{class_name}'{hint} ({error}); give the name of a class of "
            f"{_PACKAGE}, package.module:Class, or path/to/law.py:Class"
        ) from None


def _class_in(file: Path, name: str) -> Any:
    """Return the object that a file defines under a name."""
    module = _load_module(file)
    if hasattr(module, name):
        return getattr(module, name)
    names = [
        n for n, attr in vars(module).items() if getattr(attr, "__module__", "") == module.__name__
    ]
    raise OptionError(f"{file} has no '{name}'; it has {', '.join(names) or 'nothing'}")


def _load_module(file: Path) -> Any:
    """Return the module in a file, which may import modules from its own folder."""
    if not file.is_file():
        raise OptionError(f"there is no file {file}")
    # The same file is loaded once, so that its classes are the same ones.
    module_name = f"_law_{file.resolve().as_posix()}"
    if module_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(module_name, file)
        if spec is None or spec.loader is None:
            raise OptionError(f"{file} is no Python file")
        folder = str(file.resolve().parent)
        if folder not in sys.path:
            sys.path.append(folder)
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[module_name]
            raise
    return sys.modules[module_name]

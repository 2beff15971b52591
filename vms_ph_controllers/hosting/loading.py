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
    kind: str | type[Controller],
    model: VMSModel,
    allocation: Allocation | None = None,
    base_actuated: bool = True,
    form: NonholonomicForm | None = None,
) -> Controller:
    """Return a controller by its class, or by the name of its module and class.

    Args:
        kind: the class; or the name of one of vms_ph_controllers, ``package.module:Class`` (or
            with a dot), ``path/to/law.py:Class``, or ``auto``: DecoupledVMSController on a
            moving base, CartesianImpedance on a fixed one.
        model: the robot.
        allocation: the actuators of the base, for controllers with a parameter for them.
        base_actuated: whether the base has actuators, likewise.
        form: the robot with its wheels that do not slip, for controllers that take this instead
            of the model.

    Raises:
        OptionError: there is no such class, it is not a controller, or it is for robots on wheels
            that do not slip and the robot is none, or the other way round.
        VmsPhError: it does not support this robot.
    """
    if kind == "auto":
        kind = "DecoupledVMSController" if model.b else "CartesianImpedance"
        kind = kind if form is None else "DifferentialDrive"
    law = _find_class(kind) if isinstance(kind, str) else kind
    kind = kind if isinstance(kind, str) else kind.__name__
    if not (isinstance(law, type) and issubclass(law, Controller)):
        raise OptionError(f"'{kind}' is not a controller: it must derive from Controller")
    if missing_methods := ", ".join(sorted(law.__abstractmethods__)):
        raise VmsPhError(f"'{kind}' is not a whole controller: it must define {missing_methods}")
    if not dataclasses.is_dataclass(law.Gains):
        raise VmsPhError(
            f"the Gains of '{kind}' must be a frozen dataclass; a law that has none leaves it out"
        )
    parameters = inspect.signature(law).parameters
    takes_form = "form" in parameters
    if takes_form and form is None:
        raise OptionError(
            f"'{law.__name__}' is for robots on wheels that do not slip, as in the entry 'wheels' "
            f"of a task; '{model.name}' has none"
        )
    if form is not None and not takes_form:
        raise OptionError(
            f"'{law.__name__}' does not know the wheels of '{model.name}', which do not slip; "
            "DifferentialDrive and WheeledImpedance do"
        )
    base_options: dict[str, Any] = {"allocation": allocation, "base_actuated": base_actuated}
    try:
        robot: Any = form if takes_form else model
        controller = law(robot, **{k: x for k, x in base_options.items() if k in parameters})
    except VmsPhError:
        raise
    except Exception as error:  # a law of a user may raise anything
        raise VmsPhError(
            f"'{law.__name__}' cannot control '{model.name}': {type(error).__name__}: {error}"
        ) from error
    if not isinstance(controller.gains, controller.Gains):
        raise VmsPhError(
            f"'{law.__name__}' has no values of its Gains; set self.gains = self.Gains() in its "
            "constructor"
        )
    return controller


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
    suitable = []
    for name in bundled_controllers():
        with contextlib.suppress(VmsPhError):
            make_controller(name, model, allocation)
            suitable.append(name)
    return tuple(suitable)


def _find_class(kind: str) -> Any:
    """Return what a name, a module and name, or a file and name stand for."""
    module_name, colon, name = kind.rpartition(":")
    if not colon:
        module_name, _, name = kind.rpartition(".")
    try:
        if module_name.endswith(".py"):
            return _class_in(Path(os.path.expanduser(module_name)), name)
        return getattr(importlib.import_module(module_name or _PACKAGE), name)
    # A file of a user may raise anything while it is loaded.
    except Exception as error:
        names = [n for n, export in vars(sys.modules[_PACKAGE]).items() if inspect.isclass(export)]
        hint = "" if colon else did_you_mean(name, names)
        raise OptionError(
            f"there is no controller '{kind}'{hint} ({error}); give the name of a class of "
            f"{_PACKAGE}, package.module:Class, or path/to/law.py:Class"
        ) from None


def _class_in(file: Path, name: str) -> Any:
    """Return what a file calls by a name."""
    module = _load_module(file)
    if hasattr(module, name):
        return getattr(module, name)
    names = [
        n for n, law in vars(module).items() if getattr(law, "__module__", "") == module.__name__
    ]
    raise OptionError(f"{file} has no '{name}'; it has {', '.join(names) or 'nothing'}")


def _load_module(file: Path) -> Any:
    """Return the module in a file, which may import its neighbours."""
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

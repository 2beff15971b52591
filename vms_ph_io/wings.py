# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The optional packages around the core, the wings: what each gives, and their modules by name.

The core imports no wing. Where it needs one, it asks :func:`hook` for a module of it. A wing is
found as any package is, so in a wheel, an editable install, a clone on PYTHONPATH and a colcon
install alike; its programs and commands are those of config/wings.json.
"""

import json
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from vms_ph_dynamics import MissingExtraError, OptionError, VmsPhError
from vms_ph_dynamics.errors import did_you_mean

from .installation import share_directory

NODES = "vms_ph_nodes"


class WingError(MissingExtraError):
    """A wing is not installed, or cannot be imported; the message says how to mend that."""


@dataclass(frozen=True)
class Wing:
    """An optional package.

    Attributes:
        name: of the wing; its package has ``vms_ph_`` before it.
        gives: sentence on what it adds to the core.
        extra: the pip extra with all packages that it requires; empty if it requires none.
        commands: its commands of ``vms-ph``, in its module ``commands``, with one line of help.
        programs: its executables, modules of its folder ``nodes``.
    """

    name: str
    gives: str
    extra: str = ""
    commands: Mapping[str, str] = field(default_factory=dict)
    programs: Sequence[str] = ()

    @property
    def package(self) -> str:
        """The name of its package."""
        return f"vms_ph_{self.name}"

    @property
    def is_installed(self) -> bool:
        """Whether its package is found; it may be broken nevertheless."""
        spec = find_spec(self.package)
        # A folder with this name that has no __init__.py is what an uninstallation left behind.
        return spec is not None and spec.origin is not None

    @property
    def remedy(self) -> str:
        """How the wing is installed."""
        target = f"vms-ph[{self.extra}]" if self.extra else "vms-ph"
        return (
            f"pip install '{target}' brings it; where vms_ph was not installed by pip, its folder "
            f"{self.package} belongs into {Path(__file__).resolve().parents[1]}"
        )


WINGS: Mapping[str, Wing] = {
    name: Wing(name, **entry)
    for name, entry in json.loads((share_directory() / "config/wings.json").read_bytes()).items()
}


def hook(wing: str, module: str = "", *, user: str = "this") -> ModuleType:
    """Return a module of a wing.

    Args:
        wing: a name in :data:`WINGS`.
        module: name of the module below the package of the wing; empty for the package.
        user: name of what needs the wing, in messages.

    Raises:
        WingError: the wing is not installed, or the module cannot be imported.
    """
    entry = WINGS[wing]
    subject, remedy = f"{user} needs the wing '{wing}' ({entry.gives})", entry.remedy
    if not entry.is_installed:
        raise WingError(f"{subject}, which is not installed: {remedy}")
    path = f"{entry.package}.{module}".rstrip(".")
    try:
        return import_module(path)
    except VmsPhError:
        raise
    except Exception as error:  # a broken file may raise anything
        if isinstance(error, ImportError) and "pip install" in str(error):
            raise WingError(str(error)) from error
        raise WingError(
            f"{subject}, which is broken: {path} cannot be imported ({type(error).__name__}: "
            f"{error}); {remedy}"
        ) from error


def programs() -> dict[str, str]:
    """Return the modules of all programs by their names: those of the nodes, and of wings here.

    A module of ``vms_ph_nodes`` is a program if it defines ``main``. None is imported: that would
    choose the runtime of this process, which is the choice of the started one.
    """
    modules = {}
    spec = find_spec(NODES)
    for folder in () if spec is None else spec.submodule_search_locations or ():
        for _, name, is_package in pkgutil.iter_modules([folder]):
            file = Path(folder) / f"{name}.py"
            if not is_package and "\ndef main(" in file.read_text(encoding="utf-8"):
                modules[name] = f"{NODES}.{name}"
    for wing in WINGS.values():
        if wing.is_installed:
            modules |= {name: f"{wing.package}.nodes.{name}" for name in wing.programs}
    return modules


def find_program(name: str) -> str:
    """Return the module of a program.

    Raises:
        WingError: it is of a wing that is not installed or broken.
        OptionError: there is no such program; the message lists those there are.
    """
    for wing in WINGS.values():
        if name in wing.programs:
            hook(wing.name, user=f"the node '{name}'")
    modules = programs()
    if name not in modules:
        text = f"there is no node '{name}'{did_you_mean(name, modules)}; there are "
        text += f"{', '.join(sorted(modules))}"
        raise OptionError(text)
    return modules[name]

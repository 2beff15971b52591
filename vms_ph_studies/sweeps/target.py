# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What a sweep evaluates: a function of a module or of a file, by its name."""

import hashlib
import importlib
import inspect
import os
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from vms_ph_dynamics import OptionError, VmsPhError, __version__
from vms_ph_dynamics.errors import did_you_mean

from ..study import Value

Function = Callable[..., object]

# Targets of this project by their short names.
SHORT_NAMES = {
    "closed_loop": "vms_ph_studies.sweeps.closed_loop:closed_loop",
    "uncertain_task": "vms_ph_studies.sweeps.uncertain_task:uncertain_task",
}
_REPRODUCE = "reproduce "


def target_names() -> dict[str, str]:
    """Return the short names of targets with a description in one line."""
    return {name: Target.of(name).title for name in SHORT_NAMES}


class TargetError(VmsPhError):
    """The function cannot be loaded where it is to be computed."""


@dataclass(frozen=True)
class Target:
    """A function to evaluate, in a form that can be sent to any worker.

    Attributes:
        name: as written in the study file.
        source: text of the Python file of a function of a file; empty for others.
        file: path of that file.
        version: version of this project where the study began.
    """

    name: str
    source: str = ""
    file: str = ""
    version: str = __version__

    @classmethod
    def of(cls, name: str, folder: Path | None = None) -> "Target":
        """Return a target by the name of one of this project or of a function.

        Args:
            name: a short name, ``reproduce <id of a study>``, ``package.module:function``, or
                ``path/to/file.py:function``.
            folder: what a path is relative to; the current folder if None.

        Raises:
            OptionError: there is no such function.
        """
        module_path = name.rpartition(":")[0]
        target = cls(name)
        if module_path.endswith(".py"):
            path = (folder or Path()) / os.path.expanduser(module_path)
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise OptionError(f"target: {path} cannot be read: {error}") from None
            target = cls(name, text, str(path.resolve()))
        elif not module_path and name not in SHORT_NAMES and not name.startswith(_REPRODUCE):
            hint = did_you_mean(name, SHORT_NAMES)
            raise OptionError(
                f"target: there is no '{name}'{hint}; accepted are {', '.join(SHORT_NAMES)}, "
                "'reproduce ID' with an id of vms-ph reproduce --list, package.module:function, "
                "and path/to/file.py:function"
            )
        try:
            target.function()
        except TargetError as error:
            raise OptionError(f"target: {error}") from None
        return target

    @property
    def title(self) -> str:
        """The first line of its documentation."""
        return (inspect.getdoc(self.function()) or self.name).partition("\n")[0]

    @property
    def digest(self) -> str:
        """Hash of the file with the function, which tells if its code has changed."""
        text = self.source
        if not text and not self.name.startswith(_REPRODUCE):
            try:
                text = Path(inspect.getsourcefile(self.function()) or "").read_text()
            except (OSError, TypeError):  # not written in Python
                text = ""
        return hashlib.sha256(f"{self.version}\n{text}".encode()).hexdigest()[:20]

    def function(self) -> Function:
        """Return the function.

        Raises:
            TargetError: it cannot be loaded.
        """
        return _load(self)

    def check(self, names: Iterable[str]) -> None:
        """Check that the function takes these parameters and no further ones.

        A name with a dot, ``gains.stiffness``, is an entry of the dictionary that the function
        takes by the part before the dot.

        Raises:
            OptionError: a parameter is unknown or missing.
        """
        given_names = {name.partition(".")[0] for name in names}
        declared_parameters = inspect.signature(self.function()).parameters
        kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        named_parameters = {name: p for name, p in declared_parameters.items() if p.kind in kinds}
        takes_any_name = any(p.kind is p.VAR_KEYWORD for p in declared_parameters.values())
        parameters = [name for name in named_parameters if name != "seed"]
        for name in given_names:
            if name in parameters or (takes_any_name and name != "seed"):
                continue
            hint = did_you_mean(name, parameters)
            cause = "it follows from the seed of the study" if name == "seed" else "it is unknown"
            raise OptionError(
                f"parameter '{name}'{hint}: {cause}; the target {self.name} takes "
                f"{', '.join(parameters) or 'no parameters'}"
            )
        missing = [
            n
            for n in parameters
            if named_parameters[n].default is named_parameters[n].empty and n not in given_names
        ]
        if missing:
            raise OptionError(
                f"the target {self.name} requires the parameter(s) {', '.join(missing)}; add them "
                "under 'parameters'"
            )

    def evaluate(self, parameters: Mapping[str, Any], seed: int) -> object:
        """Return what the function returns for parameters with dotted names."""
        arguments: dict[str, Any] = {}
        for name, value in parameters.items():
            dictionary_name, dot, key = name.partition(".")
            if dot:
                arguments.setdefault(dictionary_name, {})[key] = value
            else:
                arguments[name] = value
        function = self.function()
        if "seed" in inspect.signature(function).parameters:
            arguments["seed"] = seed
        return function(**arguments)


@lru_cache(maxsize=8)
def _load(target: Target) -> Function:
    if target.version != __version__:
        raise TargetError(
            f"this process has vms_ph {__version__}, and the study was begun with {target.version};"
            " install the same version on all workers"
        )
    if target.name.startswith(_REPRODUCE):
        return _study_function(target.name.removeprefix(_REPRODUCE).strip())
    module_path, _, name = SHORT_NAMES.get(target.name, target.name).rpartition(":")
    try:
        module = _module_of(target) if target.source else importlib.import_module(module_path)
        function = getattr(module, name)
    except Exception as error:  # code of a user raises anything while it is loaded
        raise TargetError(
            f"'{target.name}' cannot be loaded: {type(error).__name__}: {error}"
        ) from None
    if not callable(function):
        raise TargetError(f"'{target.name}' is not a function")
    return function


def _module_of(target: Target) -> types.ModuleType:
    """Return the module of a file; its folder, where there is one here, has further modules."""
    module = types.ModuleType(f"_sweep_target_{target.digest}")
    module.__file__ = target.file
    folder = str(Path(target.file).parent)
    if Path(folder).is_dir() and folder not in sys.path:
        sys.path.append(folder)
    sys.modules[module.__name__] = module
    try:
        exec(compile(target.source, target.file, "exec"), vars(module))
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module


def _study_function(identifier: str) -> Function:
    """Return a study of this project as a function of its parameters."""
    from ..registry import get

    try:
        study = get(identifier)
    except VmsPhError as error:
        raise TargetError(str(error)) from None

    def compute(**settings: Value) -> dict[str, object]:
        values = study.settings({name: str(value) for name, value in settings.items()})
        outcomes: dict[str, object] = {}
        for check in study.run(values).checks:
            outcomes[check.name] = check.obtained
            outcomes[f"{check.name}: verdict"] = check.verdict
        outcomes["differing checks"] = sum(outcome == "differs" for outcome in outcomes.values())
        return outcomes

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=parameter.default)
        for name, parameter in study.parameters.items()
    ]
    compute.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    compute.__doc__ = study.title
    return compute

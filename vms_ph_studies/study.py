# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Studies: computations with parameters that return checks and write files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from vms_ph_dynamics import VmsPhError
from vms_ph_dynamics.errors import did_you_mean
from vms_ph_io.progress import Progress, no_progress
from vms_ph_io.settings.bounded_text import writing

from .check import Check

Value = float | int | str


class Stages:
    """The progress of work that consists of several stages."""

    def __init__(self, progress: Progress, total_length: int) -> None:
        """Report stages of this total length, in any unit of work, to a callback."""
        self._progress, self._length, self._position = progress, max(total_length, 1), 0

    def begin(self, stage_name: str, length: int = 1) -> Callable[[float], None]:
        """Begin a stage of a length; return the callback for its completed share."""
        start = self._position
        self._position += length

        def report(share: float) -> None:
            self._progress(min((start + share * length) / self._length, 1.0), stage_name)

        report(0.0)

        return report


@dataclass(frozen=True)
class Outcome:
    """The result of a study.

    Attributes:
        checks: its checks.
        files: the written files.
        notes: lines to print after the checks.
    """

    checks: list[Check]
    files: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a study (``--set`` on the command line).

    Attributes:
        default: default value, whose type is the type of the parameter.
        help: description in one line, with the unit.
        choices: accepted values; empty for any.
        least: smallest accepted number, or None.
        above: exclusive lower bound of accepted numbers, or None.
    """

    default: Value
    help: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    above: float | None = None

    def parse(self, name: str, text: str) -> Value:
        """Parse a text.

        Raises:
            VmsPhError: the text is not of the type of the parameter, not among the choices, or a
                number that is not finite or too small.
        """
        if isinstance(self.default, str):
            if self.choices and text not in self.choices:
                raise VmsPhError(f"{name}={text}: accepted are {', '.join(self.choices)}")
            return text
        value_type = type(self.default)
        try:
            value = value_type(text)
            if isfinite(value) and not self._is_too_small(value):
                return value
        except ValueError:
            pass
        expected = f"{'a whole number' if value_type is int else 'a number'} {self.range}".rstrip()
        raise VmsPhError(f"{name}={text}: expected {expected} ({self.help})")

    @property
    def range(self) -> str:
        """Description of the accepted numbers; empty for all."""
        if self.above is not None:
            return f"above {self.above:g}"
        return "" if self.least is None else f"of at least {self.least:g}"

    def _is_too_small(self, value: float) -> bool:
        return (self.least is not None and value < self.least) or (
            self.above is not None and value <= self.above
        )


Settings = Mapping[str, Value]


def make_folder(folder: Path) -> None:
    """Make a folder for files if there is none.

    Raises:
        VmsPhError: it cannot be created.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


@dataclass(frozen=True)
class Study:
    """A computation with parameters, whose results are compared with references.

    Attributes:
        id: name on the command line.
        source: source of the result.
        title: description in one line.
        parameters: the parameters by name.
        compute: function of the settings, the folder for files (None writes none), and a progress
            callback.
    """

    id: str
    source: str
    title: str
    parameters: Mapping[str, Parameter]
    compute: Callable[[Settings, Path | None, Progress], Outcome]

    def run(
        self, settings: Settings, out: Path | None = None, progress: Progress = no_progress
    ) -> Outcome:
        """Return the outcome for the values of all parameters, see :meth:`settings`.

        Args:
            settings: the values.
            out: an existing folder for plots and tables; None writes none.
            progress: callback of the progress.
        """
        return self.compute(settings, out, progress)

    def settings(self, overrides: Mapping[str, str]) -> dict[str, Value]:
        """Return the values of all parameters: the given ones and defaults for the others.

        Raises:
            VmsPhError: an unknown parameter, or a value that it does not accept.
        """
        values: dict[str, Value] = {name: p.default for name, p in self.parameters.items()}
        for name, text in overrides.items():
            if name not in self.parameters:
                hint = did_you_mean(name, self.parameters)
                raise VmsPhError(
                    f"{self.id} has no parameter '{name}'{hint}; it has "
                    f"{', '.join(self.parameters)}"
                )
            values[name] = self.parameters[name].parse(name, text)
        return values

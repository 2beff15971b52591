"""What a reproduction of a published result is: parameters in, checks and files out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Literal

from vms_ph_dynamics.errors import VmsPhError

Value = float | int | str
Verdict = Literal["agrees", "differs", "refuted"]


@dataclass(frozen=True)
class Check:
    """A published statement beside what came out here.

    Attributes:
        name: what is compared.
        unit: of both values; empty where there is none.
        published: the number or the statement of the source.
        obtained: the same, from this run.
        tolerance: by which they may differ; None for statements.
        verdict: ``refuted`` means that the source is wrong and ``why`` says how we know.
        why: what a reader must know to judge the verdict.
    """

    name: str
    unit: str
    published: float | str
    obtained: float | str
    tolerance: float | None
    verdict: Verdict
    why: str = ""


def compared(
    name: str, published: float, obtained: float, tolerance: float, unit: str = "", why: str = ""
) -> Check:
    """Return the check of a number: it agrees within the tolerance, or it differs."""
    close = abs(obtained - published) <= tolerance
    return Check(
        name, unit, published, float(obtained), tolerance, "agrees" if close else "differs", why
    )


def bounded(name: str, obtained: float, limit: float, unit: str = "", why: str = "") -> Check:
    """Return the check of an error that should vanish: it agrees while it is below the limit."""
    return compared(name, 0.0, obtained, limit, unit, why)


@dataclass(frozen=True)
class Outcome:
    """What a study gives: its checks, and the files it has written."""

    checks: list[Check]
    files: list[Path] = field(default_factory=list)


@dataclass(frozen=True)
class Parameter:
    """A value that ``--set`` can change.

    Attributes:
        default: its type is the type of the parameter.
        help: one line, with the unit.
        choices: what is accepted; empty for anything.
        least: the smallest number accepted; None: there is none.
        above: the number above which all are accepted; None: there is none.
    """

    default: Value
    help: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    above: float | None = None

    def parse(self, name: str, text: str) -> Value:
        """Return the value that a text means.

        Raises:
            VmsPhError: the text is not of the type of the parameter, not among the choices, or a
                number that is not finite or too small.
        """
        if isinstance(self.default, str):
            if self.choices and text not in self.choices:
                raise VmsPhError(f"{name}={text}: accepted are {', '.join(self.choices)}")
            return text
        kind = type(self.default)
        try:
            value = kind(text)
            if isfinite(value) and not self._is_too_small(value):
                return value
        except ValueError:
            pass
        wanted = f"{'a whole number' if kind is int else 'a number'} {self.range}".rstrip()
        raise VmsPhError(f"{name}={text}: {wanted} is wanted ({self.help})")

    @property
    def range(self) -> str:
        """Which numbers are accepted, in words; empty for all."""
        if self.above is not None:
            return f"above {self.above:g}"
        return "" if self.least is None else f"of at least {self.least:g}"

    def _is_too_small(self, value: float) -> bool:
        return (self.least is not None and value < self.least) or (
            self.above is not None and value <= self.above
        )


Settings = Mapping[str, Value]


@dataclass(frozen=True)
class Study:
    """A published result that can be run again.

    Attributes:
        id: its name on the command line.
        source: whose result it is.
        title: one line.
        parameters: what can be changed.
        run: takes the settings and the folder for files; None writes none.
    """

    id: str
    source: str
    title: str
    parameters: Mapping[str, Parameter]
    run: Callable[[Settings, Path | None], Outcome]

    def settings(self, given: Mapping[str, str]) -> dict[str, Value]:
        """Return the values of all parameters, those given in place of the defaults.

        Raises:
            VmsPhError: an unknown parameter, or a value that it does not accept.
        """
        values: dict[str, Value] = {name: p.default for name, p in self.parameters.items()}
        for name, text in given.items():
            if name not in self.parameters:
                raise VmsPhError(
                    f"{self.id} has no parameter '{name}'; it has {', '.join(self.parameters)}"
                )
            values[name] = self.parameters[name].parse(name, text)
        return values

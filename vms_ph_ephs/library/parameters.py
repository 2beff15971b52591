# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The parameters of parts: names, units and checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..components import Component
from ..errors import StructureError
from ..systems import System


@dataclass(frozen=True)
class Parameter:
    """A parameter of a part.

    Attributes:
        name: of the keyword argument.
        unit: of its number; empty for what is no number or has no unit.
        meaning: in a few words.
        least: that it must not be below, or None.
        above: that it must be above, or None.
        most: that it must not exceed, or None.
        required: whether it has no default.
        number: whether it is one number; others are checked by the part.
    """

    name: str
    unit: str
    meaning: str
    least: float | None = None
    above: float | None = None
    most: float | None = None
    required: bool = False
    number: bool = True

    def accepted(self) -> str:
        """Return the accepted values in words."""
        limits = [
            f"{word} {value:g}"
            for word, value in (
                ("above", self.above),
                ("at least", self.least),
                ("at most", self.most),
            )
            if value is not None
        ]
        return " and ".join(["a finite number", *limits])

    def check(self, part: str, value: Any) -> None:
        """Raise an error if a value is not accepted.

        Raises:
            StructureError: it is not; the message says what is.
        """
        if not self.number or (value is None and not self.required):
            return
        numeric = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if (
            not numeric
            or not np.isfinite(value)
            or (self.least is not None and value < self.least)
            or (self.above is not None and value <= self.above)
            or (self.most is not None and value > self.most)
        ):
            raise StructureError(
                f"the {self.name} of a {part} must be {self.accepted()}"
                f"{f' ({self.unit})' if self.unit else ''}; given: {value!r}"
            )


@dataclass(frozen=True)
class Part:
    """A kind of component with its parameters.

    Attributes:
        kind: its name in pattern files.
        meaning: in one sentence.
        make: takes the parameters by keyword.
        parameters: all of them.
    """

    kind: str
    meaning: str
    make: Callable[..., System | Component]
    parameters: tuple[Parameter, ...]

    def build(self, values: Mapping[str, Any]) -> System | Component:
        """Return the system for given parameters.

        Raises:
            StructureError: a parameter is unknown, missing or not accepted.
        """
        by_name = {p.name: p for p in self.parameters}
        for name in values:
            if name not in by_name:
                raise StructureError(
                    f"a {self.kind} has no parameter {name!r}; its parameters are "
                    f"{', '.join(by_name)}"
                )
        for name, parameter in by_name.items():
            if parameter.required and name not in values:
                raise StructureError(
                    f"a {self.kind} needs {name}, {parameter.meaning}"
                    f"{f', in {parameter.unit}' if parameter.unit else ''}; give it"
                )
        return self.make(**values)


def check_all(part: str, parameters: tuple[Parameter, ...], values: Mapping[str, Any]) -> None:
    """Raise an error if one of the values of a part is not accepted.

    Raises:
        StructureError: the first that is not.
    """
    for parameter in parameters:
        if parameter.name in values:
            parameter.check(part, values[parameter.name])

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""From data to a system."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vms_ph_dynamics import Array, ModelError

from ..components import KINDS, Component, Kind
from ..equations import Equations
from ..errors import PatternError
from ..multibody.placement import consistent_state, with_dependent_states
from ..patterns import Port, split
from ..systems import System, compose
from .kinds import value_type_of
from .names import number, pair_named, port_named, quantity_named

Maker = Callable[[Mapping[str, Any]], System]
"""Takes the entries of a box and returns its system, for kinds that need files, as robots."""

_SYSTEM_KEYS = ("boxes", "junctions", "outer")
_ROOT_KEYS = ("title", "start")


def build(data: Any, makers: Mapping[str, Maker] | None = None) -> System:
    """Return the system of its data.

    Args:
        data: a mapping with ``boxes`` (by name: a mapping with a ``kind`` and its parameters, or a
            system like the whole), ``junctions`` (by name: a list of ports) and ``outer`` (a list
            of names, or their ports by name). The whole may have a ``title`` and a ``start``, see
            :func:`initial_state`.
        makers: functions for further kinds, by the name of the kind.

    Raises:
        PatternError: the data are not such a mapping, or a connection is invalid; the message says
            in which box.
        StructureError: a parameter is unknown, missing or not accepted.
    """
    return _Builder(dict(makers or {})).build(data, "")


def initial_state(data: Any, equations: Equations) -> Array:
    """Return the state vector, (size,), of the entry ``start`` of a system's data.

    Args:
        data: of the system; ``start`` maps names of states or joints to their values.
        equations: of the system.

    Raises:
        PatternError: there is no such state.
        SimulationError: a value is not in its space.
    """
    start_states = data.get("start", {}) if isinstance(data, Mapping) else {}
    values = {
        str(key): _array(value, f"the value of '{key}' in the entry 'start'")
        for key, value in _mapping(start_states, "the entry 'start'", "names with values").items()
    }
    joints = {split(box)[0] for box in equations.joint_closures}
    if not joints:
        return with_dependent_states(equations, values)
    return consistent_state(
        equations,
        {name: value for name, value in values.items() if name in joints},
        others={name: value for name, value in values.items() if name not in joints},
    )


class _Builder:
    """Builds systems from data, with the path of the box in the message of every error."""

    def __init__(self, makers: Mapping[str, Maker]) -> None:
        self._makers = makers

    def build(self, data: Any, path: str) -> System:
        where = f"system '{path}'" if path else "the system"
        data = _mapping(data, where, "the entries boxes, junctions and outer")
        for key in data:
            accepted = _SYSTEM_KEYS if path else (*_SYSTEM_KEYS, *_ROOT_KEYS)
            if key not in accepted:
                raise PatternError(
                    f"{where} has the entry {key!r}; accepted are {', '.join(accepted)}"
                )
        for key in ("boxes", "junctions"):
            if key not in data:
                raise PatternError(f"{where} lacks the entry '{key}'; add it")
        boxes = _mapping(data["boxes"], f"the boxes of {where}", "names with kinds")
        fillings = {
            _name(name, where): self._box(box, f"{path}.{name}" if path else str(name))
            for name, box in boxes.items()
        }
        junctions = _mapping(data["junctions"], f"the junctions of {where}", "names with ports")
        wires = {
            str(name): _texts(ends, f"junction '{name}' of {where}")
            for name, ends in junctions.items()
        }
        try:
            return compose(fillings, wires, _outer(data.get("outer", []), where))
        except PatternError as error:
            raise PatternError(f"in {where}: {error}") from None

    def _box(self, data: Any, path: str) -> System | Component:
        data = _mapping(data, f"box '{path}'", "a kind and its parameters, or a system")
        if "kind" not in data:
            return self.build(data, path)
        name = data["kind"]
        values = {str(key): value for key, value in data.items() if key != "kind"}
        try:
            if isinstance(name, str) and name in self._makers:
                return self._makers[name](values)
            if not isinstance(name, str) or name not in KINDS:
                raise PatternError(
                    f"there is no kind {name!r}; the kinds are {', '.join((*KINDS, *self._makers))}"
                )
            return _component(KINDS[name], values)
        except (ModelError, ValueError) as error:
            # Numpy raises a ValueError for ragged lists.
            raise PatternError(f"in box '{path}': {error}") from None


def _component(kind: Kind, values: Mapping[str, Any]) -> System | Component:
    for name in values:
        if name not in kind.parameters:
            raise PatternError(
                f"a {kind.name} has no parameter {name!r}; its parameters are "
                f"{', '.join(kind.parameters) or 'none'}"
            )
    for name, parameter in kind.parameters.items():
        if parameter.required and name not in values:
            raise PatternError(f"a {kind.name} needs the parameter '{name}'; give it")
    arguments = {}
    for name, value in values.items():
        parameter, label = kind.parameters[name], f"the {name} of a {kind.name}"
        if value is None and not parameter.required:
            continue
        value_type, unit = (
            value_type_of(parameter),
            parameter.number.unit if parameter.number else "",
        )
        arguments[name] = (
            number(value, unit, label)
            if value_type == "number"
            else _READERS[value_type](value, label)
        )
    return kind.make(**arguments)


def _mapping(data: Any, label: str, content: str) -> Mapping[Any, Any]:
    if not isinstance(data, Mapping):
        raise PatternError(f"{label} must be a mapping with {content}; given: {_short(data)}")
    return data


def _name(name: Any, where: str) -> str:
    text = str(name)
    if not text or not isinstance(name, (str, int)) or isinstance(name, bool):
        raise PatternError(f"a box of {where} must have a text as its name; given: {name!r}")
    return text


def _texts(data: Any, label: str) -> list[str]:
    if not isinstance(data, list) or not all(isinstance(entry, (str, int)) for entry in data):
        raise PatternError(
            f"{label} must be a list of ports such as [a.p, b.p]; given: {_short(data)}"
        )
    return [str(entry) for entry in data]


def _outer(data: Any, where: str) -> list[str] | dict[str, Port]:
    if isinstance(data, Mapping):
        return {str(name): port_named(text) for name, text in data.items()}
    return _texts(data, f"the entry 'outer' of {where}")


def _array(value: Any, label: str) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise PatternError(
            f"{label} must be numbers in a list or a list of lists; given: {_short(value)}"
        ) from None
    if not np.isfinite(array).all():
        raise PatternError(f"{label} must be finite numbers; given: {_short(value)}")
    return array


def _of_type(accepted: type, description: str) -> Callable[[Any, str], Any]:
    def read(value: Any, label: str) -> Any:
        if type(value) is not accepted:  # a flag is an integer too
            raise PatternError(f"{label} must be {description}; given: {_short(value)}")
        return value

    return read


def _ports(value: Any, label: str) -> dict[str, Port]:
    data = _mapping(value, label, "names with quantities, as {p: momentum}")
    return {str(name): port_named(text) for name, text in data.items()}


def _space(value: Any, label: str) -> Any:
    """Return a kinematic pair or the space R^n of its text, as ``"revolute"`` or ``"R^3"``."""
    text = str(value)
    if text == "R" or text.startswith("R^"):
        return quantity_named(f"relative_pose {text}").space
    return pair_named(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "array": _array,
    "pair": lambda value, what: pair_named(value),
    "ports": _ports,
    "quantity": lambda value, what: quantity_named(value),
    "space": _space,
    "text": _of_type(str, "a text"),
    "flag": _of_type(bool, "true or false"),
    "integer": _of_type(int, "an integer"),
}

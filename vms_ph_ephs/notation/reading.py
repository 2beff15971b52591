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
from .names import parse_number, parse_pair, parse_port, parse_quantity

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
        label = f"system '{path}'" if path else "the system"
        data = _mapping(data, label, "the entries boxes, junctions and outer")
        for key in data:
            accepted = _SYSTEM_KEYS if path else (*_SYSTEM_KEYS, *_ROOT_KEYS)
            if key not in accepted:
                raise PatternError(
                    f"{label} has the entry {key!r}; accepted are {', '.join(accepted)}"
                )
        for key in ("boxes", "junctions"):
            if key not in data:
                raise PatternError(f"{label} lacks the entry '{key}'; add it")
        boxes = _mapping(data["boxes"], f"the boxes of {label}", "names with kinds")
        fillings = {
            _box_name(name, label): self._filling(box, f"{path}.{name}" if path else str(name))
            for name, box in boxes.items()
        }
        junctions = _mapping(data["junctions"], f"the junctions of {label}", "names with ports")
        paths_by_junction = {
            str(name): _port_list(paths, f"junction '{name}' of {label}")
            for name, paths in junctions.items()
        }
        try:
            return compose(fillings, paths_by_junction, _outer_ports(data.get("outer", []), label))
        except PatternError as error:
            raise PatternError(f"in {label}: {error}") from None

    def _filling(self, data: Any, path: str) -> System | Component:
        data = _mapping(data, f"box '{path}'", "a kind and its parameters, or a system")
        if "kind" not in data:
            return self.build(data, path)
        kind = data["kind"]
        parameters = {str(key): value for key, value in data.items() if key != "kind"}
        try:
            if isinstance(kind, str) and kind in self._makers:
                return self._makers[kind](parameters)
            if not isinstance(kind, str) or kind not in KINDS:
                raise PatternError(
                    f"there is no kind {kind!r}; the kinds are {', '.join((*KINDS, *self._makers))}"
                )
            return _make_box(KINDS[kind], parameters)
        except (ModelError, ValueError) as error:
            # Numpy raises a ValueError for ragged lists.
            raise PatternError(f"in box '{path}': {error}") from None


def _make_box(kind: Kind, parameters: Mapping[str, Any]) -> System | Component:
    for name in parameters:
        if name not in kind.parameters:
            raise PatternError(
                f"a {kind.name} has no parameter {name!r}; its parameters are "
                f"{', '.join(kind.parameters) or 'none'}"
            )
    for name, parameter in kind.parameters.items():
        if parameter.required and name not in parameters:
            raise PatternError(f"a {kind.name} needs the parameter '{name}'; give it")
    arguments = {}
    for name, value in parameters.items():
        parameter, label = kind.parameters[name], f"the {name} of a {kind.name}"
        if value is None and not parameter.required:
            continue
        value_type, unit = (
            value_type_of(parameter),
            parameter.spec.unit if parameter.spec else "",
        )
        arguments[name] = (
            parse_number(value, unit, label)
            if value_type == "number"
            else _READERS[value_type](value, label)
        )
    return kind.make(**arguments)


def _mapping(data: Any, label: str, content: str) -> Mapping[Any, Any]:
    if not isinstance(data, Mapping):
        raise PatternError(f"{label} must be a mapping with {content}; given: {_excerpt(data)}")
    return data


def _box_name(name: Any, label: str) -> str:
    text = str(name)
    if not text or not isinstance(name, (str, int)) or isinstance(name, bool):
        raise PatternError(f"a box of {label} must have a text as its name; given: {name!r}")
    return text


def _port_list(data: Any, label: str) -> list[str]:
    if not isinstance(data, list) or not all(isinstance(entry, (str, int)) for entry in data):
        raise PatternError(
            f"{label} must be a list of ports such as [a.p, b.p]; given: {_excerpt(data)}"
        )
    return [str(entry) for entry in data]


def _outer_ports(data: Any, label: str) -> list[str] | dict[str, Port]:
    if isinstance(data, Mapping):
        return {str(name): parse_port(text) for name, text in data.items()}
    return _port_list(data, f"the entry 'outer' of {label}")


def _array(value: Any, label: str) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise PatternError(
            f"{label} must be numbers in a list or a list of lists; given: {_excerpt(value)}"
        ) from None
    if not np.isfinite(array).all():
        raise PatternError(f"{label} must be finite numbers; given: {_excerpt(value)}")
    return array


def _type_reader(accepted: type, description: str) -> Callable[[Any, str], Any]:
    def read(value: Any, label: str) -> Any:
        if type(value) is not accepted:  # a flag is an integer too
            raise PatternError(f"{label} must be {description}; given: {_excerpt(value)}")
        return value

    return read


def _ports(value: Any, label: str) -> dict[str, Port]:
    data = _mapping(value, label, "names with quantities, as {p: momentum}")
    return {str(name): parse_port(text) for name, text in data.items()}


def _space(value: Any, label: str) -> Any:
    """Return a kinematic pair or the space R^n of its text, as ``"revolute"`` or ``"R^3"``."""
    text = str(value)
    if text == "R" or text.startswith("R^"):
        return parse_quantity(f"relative_pose {text}").space
    return parse_pair(value)


def _excerpt(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_READERS: Mapping[str, Callable[[Any, str], Any]] = {
    "array": _array,
    "pair": lambda value, label: parse_pair(value),
    "ports": _ports,
    "quantity": lambda value, label: parse_quantity(value),
    "space": _space,
    "text": _type_reader(str, "a text"),
    "flag": _type_reader(bool, "true or false"),
    "integer": _type_reader(int, "an integer"),
}

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of nodes from YAML files in the schema of generate_parameter_library.

One file is the source of declaration, validation and documentation, and of the generated code of
the C++ plugins. The supported part of the schema is: scalar and array types, ``default_value``,
``description``, ``read_only``, and the validations ``bounds<>``, ``gt<>``, ``gt_eq<>``, ``lt<>``,
``lt_eq<>``, ``one_of<>`` and ``not_empty<>``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vms_ph_dynamics.errors import VmsPhError

from .bounded_text import read_yaml

_TYPES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "double": (float,),
    "string": (str,),
    "bool_array": (list,),
    "int_array": (list,),
    "double_array": (list,),
    "string_array": (list,),
}

_FIELDS = {
    "type",
    "default_value",
    "description",
    "read_only",
    "validation",
    "additional_constraints",
}


@dataclass(frozen=True)
class ParameterSpec:
    """One parameter.

    Attributes:
        name: name of the parameter with dots, as in push.force.
        type: type in the schema.
        default: default value.
        description: description in one line.
        read_only: whether the parameter cannot change while the node runs.
        validation: validation rules with their arguments.
    """

    name: str
    type: str
    default: Any
    description: str
    read_only: bool
    validation: Mapping[str, Any]

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Smallest and largest value, or None unless both are given."""
        limits = self.validation.get("bounds")
        return None if limits is None else (limits[0], limits[1])

    def complaint(self, value: Any) -> str:
        """Return the reason why a value is rejected; empty if it is accepted."""
        if not isinstance(value, _TYPES[self.type]) or (self.type == "int" and value is True):
            return f"{self.name} is a {self.type}; given: {value!r}"
        for rule, argument in self.validation.items():
            accepted, words = _RULES[rule]
            if not accepted(value, argument):
                return f"{self.name} must {words(argument)}; given: {value!r}"
        return ""


def _bounds(value: Any, limits: list[Any]) -> bool:
    return bool(limits[0] <= value <= limits[1])


# The check of each rule, and its wording in messages.
_RULES: dict[str, tuple[Callable[[Any, Any], bool], Callable[[Any], str]]] = {
    "bounds": (_bounds, lambda a: f"be from {a[0]} to {a[1]}"),
    "gt": (lambda v, a: v > a[0], lambda a: f"be greater than {a[0]}"),
    "gt_eq": (lambda v, a: v >= a[0], lambda a: f"be at least {a[0]}"),
    "lt": (lambda v, a: v < a[0], lambda a: f"be less than {a[0]}"),
    "lt_eq": (lambda v, a: v <= a[0], lambda a: f"be at most {a[0]}"),
    "one_of": (lambda v, a: v in a[0], lambda a: f"be one of {', '.join(map(str, a[0]))}"),
    "not_empty": (lambda v, a: len(v) > 0, lambda a: "not be empty"),
}


def load_parameters(path: Path) -> dict[str, ParameterSpec]:
    """Return the parameters of a file by name.

    Raises:
        VmsPhError: no such file, or a file that does not follow the schema.
    """
    content = read_yaml(path)
    if not isinstance(content, dict) or len(content) != 1:
        raise VmsPhError(f"{path} must have one top-level key, the name of the node")
    (tree,) = content.values()
    parameters: dict[str, ParameterSpec] = {}
    _collect(tree, "", parameters, path)
    return parameters


def _collect(tree: Any, prefix: str, parameters: dict[str, ParameterSpec], path: Path) -> None:
    if not isinstance(tree, dict):
        raise VmsPhError(f"{path}: {prefix.rstrip('.') or 'the file'} must contain parameters")
    for name, item in tree.items():
        full = f"{prefix}{name}"
        if isinstance(item, dict) and "type" in item:
            parameters[full] = _spec(full, item, path)
        else:
            _collect(item, f"{full}.", parameters, path)


def _spec(name: str, item: dict[str, Any], path: Path) -> ParameterSpec:
    unknown = sorted(map(str, item.keys() - _FIELDS))
    if unknown:
        raise VmsPhError(
            f"{path}: {name} has the unknown field {unknown[0]}; known are "
            f"{', '.join(sorted(_FIELDS))}"
        )
    if not isinstance(item["type"], str) or item["type"] not in _TYPES:
        raise VmsPhError(
            f"{path}: {name} has the type {item['type']}; accepted are {', '.join(_TYPES)}"
        )
    rules: dict[str, Any] = {}
    validation = item.get("validation") or {}
    if not isinstance(validation, dict):
        raise VmsPhError(f"{path}: the validation of {name} must hold rules; given: {validation!r}")
    for rule, argument in validation.items():
        short = str(rule).removesuffix("<>")
        if short not in _RULES:
            raise VmsPhError(
                f"{path}: {name} has the validation {rule}; accepted are "
                f"{', '.join(f'{name_of_rule}<>' for name_of_rule in _RULES)}"
            )
        rules[short] = argument if isinstance(argument, list) else [argument]
    if "default_value" not in item or not item.get("description"):
        raise VmsPhError(f"{path}: {name} requires a default_value and a description")
    default = item["default_value"]
    if item["type"] == "double" and isinstance(default, int) and default is not True:
        default = float(default)
    spec = ParameterSpec(
        name, item["type"], default, item["description"], bool(item.get("read_only", False)), rules
    )
    try:
        wrong = spec.complaint(default)
    except (TypeError, LookupError):
        raise VmsPhError(
            f"{path}: the validation of {name} does not fit its type {spec.type}: {validation!r}"
        ) from None
    if wrong:
        raise VmsPhError(f"{path}: the default is not accepted: {wrong}")
    return spec

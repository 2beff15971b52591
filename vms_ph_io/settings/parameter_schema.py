# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of nodes from YAML files in the schema of generate_parameter_library.

One file is the source of declaration, validation and documentation, and of the generated code of
the C++ plugins. What these files use of the schema: scalar types, arrays of numbers and texts,
``default_value``, ``description``, ``read_only``, and the validations ``bounds<>``, ``gt<>``,
``gt_eq<>``, ``one_of<>`` and ``not_empty<>``. A test holds all files to that.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .bounded_text import read_yaml

_TYPES: dict[str, type] = {
    "bool": bool,
    "int": int,
    "double": float,
    "string": str,
    "double_array": list,
    "string_array": list,
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
            is_accepted, wording = _RULES[rule]
            if not is_accepted(value, argument):
                return f"{self.name} must {wording(argument)}; given: {value!r}"
        return ""


# The check of each rule, and its wording in messages.
_RULES: dict[str, tuple[Callable[[Any, Any], bool], Callable[[Any], str]]] = {
    "bounds": (lambda v, a: a[0] <= v <= a[1], lambda a: f"be from {a[0]} to {a[1]}"),
    "gt": (lambda v, a: v > a[0], lambda a: f"be greater than {a[0]}"),
    "gt_eq": (lambda v, a: v >= a[0], lambda a: f"be at least {a[0]}"),
    "one_of": (lambda v, a: v in a[0], lambda a: f"be one of {', '.join(map(str, a[0]))}"),
    "not_empty": (lambda v, a: len(v) > 0, lambda a: "not be empty"),
}


def load_parameters(path: Path) -> dict[str, ParameterSpec]:
    """Return the parameters of a file of this project by name.

    Raises:
        VmsPhError: the file cannot be read.
    """
    (tree,) = read_yaml(path).values()
    return {spec.name: spec for spec in _specs(tree, "")}


def _specs(tree: Mapping[str, Any], prefix: str) -> Iterator[ParameterSpec]:
    for key, item in tree.items():
        name = f"{prefix}{key}"
        if "type" not in item:
            yield from _specs(item, f"{name}.")
            continue
        default, read_only = item["default_value"], item.get("read_only", False)
        default = float(default) if item["type"] == "double" else default
        rules = {
            rule.removesuffix("<>"): argument if isinstance(argument, list) else [argument]
            for rule, argument in item.get("validation", {}).items()
        }
        yield ParameterSpec(name, item["type"], default, item["description"], read_only, rules)

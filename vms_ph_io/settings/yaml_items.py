# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Checked entries of parameter files: numbers, vectors, lists and mappings with known keys."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vms_ph_dynamics.arrays import Array, vector
from vms_ph_dynamics.errors import ModelError

from .yaml_text import YamlError, read_yaml

_LARGEST = 1e12  # in SI units


def number(value: Any, name: str) -> float:
    """Return a finite number of moderate size.

    Raises:
        StateError: it is no number, or not finite.
        ModelError: it is too large.
    """
    return float(moderate(vector([value], 1, name), name)[0])


def moderate(values: Array, name: str) -> Array:
    """Return numbers of which no products overflow.

    Raises:
        ModelError: one is too large; the message names it.
    """
    if (abs(values) > _LARGEST).any():
        raise ModelError(f"{name} must be at most {_LARGEST:g}; given: {values.tolist()}")
    return values


def items(value: Any, name: str) -> Sequence[Any]:
    """Return a list that is not empty.

    Raises:
        ModelError: it is not; the message names it and states what is accepted.
    """
    if not isinstance(value, list) or not value:
        raise ModelError(f"'{name}' must be a list with at least one entry; given: {value!r}")
    return value


def check_keys(
    item: Any, subject: str, needed: Sequence[str], possible: Sequence[str] = ()
) -> None:
    """Reject an item that is not a mapping with exactly these keys."""
    accepted = (*needed, *possible)
    if not isinstance(item, Mapping):
        raise ModelError(f"{subject} must have the keys {', '.join(accepted)}; given: {item!r}")
    for key in item:
        if key not in accepted:
            raise ModelError(
                f"{subject} has the unknown key '{key}'; known are {', '.join(accepted)}"
            )
    for key in needed:
        if key not in item:
            raise ModelError(f"{subject} lacks '{key}'")


def read_mapping(path: str | Path) -> dict[str, Any]:
    """Return the mapping in a YAML file.

    Raises:
        VmsPhError: no such file.
        ModelError: it is not YAML, or no mapping.
    """
    try:
        content = read_yaml(path)
    except YamlError as error:
        raise ModelError(str(error)) from None
    if not isinstance(content, dict):
        raise ModelError(f"{path} must contain a mapping")
    return content

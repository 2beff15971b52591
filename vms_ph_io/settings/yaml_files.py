# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Checked entries of parameter files: numbers, vectors, lists and mappings with known keys."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from vms_ph_dynamics import Array, ModelError, OptionError, StateError
from vms_ph_dynamics.arrays import vector
from vms_ph_dynamics.errors import did_you_mean

from ..installation import share_directory
from .bounded_text import YamlError, read_yaml

_LARGEST_NUMBER = 1e12  # in SI units


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
    if (abs(values) > _LARGEST_NUMBER).any():
        raise ModelError(f"{name} must be at most {_LARGEST_NUMBER:g}; given: {values.tolist()}")
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
    item: Any, subject: str, needed: Sequence[str], optional: Sequence[str] = ()
) -> None:
    """Reject an item that is not a mapping with exactly these keys."""
    accepted = (*needed, *optional)
    if not isinstance(item, Mapping):
        raise ModelError(f"{subject} must have the keys {', '.join(accepted)}; given: {item!r}")
    if unknown_keys := [key for key in item if key not in accepted]:
        text = f"{subject} has the unknown key '{unknown_keys[0]}'; known are {', '.join(accepted)}"
        raise ModelError(text)
    if missing_keys := [key for key in needed if key not in item]:
        raise ModelError(f"{subject} lacks '{missing_keys[0]}'")


def positive_number(value: Any, name: str) -> float:
    """Return a number above zero.

    Raises:
        ModelError: it is not one.
        StateError: it is no number.
    """
    size = number(value, name)
    if size <= 0.0:
        raise ModelError(f"{name} must be above zero; given: {size:g}")
    return size


def numbers(value: Any, name: str) -> dict[str, float]:
    """Return a mapping from names to numbers."""
    entries = mapping(value, name, "numbers")
    return {str(key): number(entry, f"{name}: {key}") for key, entry in entries.items()}


def mapping(value: Any, name: str, content: str) -> Mapping[Any, Any]:
    """Return a mapping from names to what the message calls its content."""
    if not isinstance(value, Mapping):
        raise ModelError(f"{name} must be a mapping from names to {content}; given: {value!r}")
    return value


Reader = Callable[[Any, str], Any]
"""Returns what an entry means, from its content and its name in messages."""


def vector_of(size: int) -> Reader:
    """Return the reader of a vector (size,)."""
    return lambda value, name: moderate(vector(value, size, name), name)


_READERS: Mapping[Any, Reader] = {
    bool: lambda value, name: value is not False,
    str: lambda value, name: str(value),
    float: number,
    float | None: number,
    Array: vector_of(3),
    Array | None: vector_of(3),
    Mapping[str, float]: numbers,
    Mapping[str, float] | None: numbers,
}


def _unchanged(value: Any, _: str) -> Any:
    return tuple(value) if isinstance(value, list) else value


def key_of(record_field: Any) -> str:
    """Return the key of a field of a dataclass in files and parameters: its name, or another."""
    return str(record_field.metadata.get("key", record_field.name))


def fields_of(
    kind: type,
    item: Any,
    owner: str,
    readers: Mapping[str, Reader] | None = None,
    needed: Sequence[str] = (),
    names: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the fields of a dataclass that the keys of a mapping give.

    Numbers, vectors (3,), texts, truths and mappings from names to numbers are read by the types of
    the fields; of other types are lists, as tuples, and the rest as given. What is null has its
    default.

    Args:
        kind: the dataclass.
        item: the content of the file.
        owner: name of what has the keys, in messages.
        readers: functions that read fields with another type or another meaning, by their keys.
        needed: keys that must be given besides those of fields without a default.
        names: keys that may be given; all when None, and those without a default must be.

    Raises:
        ModelError: a key is missing or unknown, or its content is not accepted.
        StateError: no numbers are given where they should be.
    """
    accepted_fields = {key_of(f): f for f in fields(kind) if names is None or key_of(f) in names}
    needed = [
        key
        for key, f in accepted_fields.items()
        if key in needed or (names is None and f.default is f.default_factory is MISSING)
    ]
    check_keys(item, owner, needed, [key for key in accepted_fields if key not in needed])
    types = get_type_hints(kind)
    values = {}
    for key, value in item.items():
        if value is not None or key in needed:
            name = accepted_fields[key].name
            reader = (readers or {}).get(key) or _READERS.get(types[name], _unchanged)
            values[name] = reader(value, f"{key} of {owner}")
    return values


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


def user_mapping(name: str) -> dict[str, Any] | None:
    """Return the mapping in a YAML file of a user, or None where a name is not that of a file.

    It is empty where the file has none: what reads the file for good says what is wrong.
    """
    path = Path(os.path.expanduser(name))
    if path.suffix not in (".yaml", ".yml") or not path.is_file():
        return None
    try:
        return read_mapping(path)
    except ModelError:
        return {}


_Content = TypeVar("_Content")


def bundled_names(folder: str) -> tuple[str, ...]:
    """Return the names of the YAML files in a folder of the share directory."""
    return tuple(sorted(path.stem for path in (share_directory() / folder).glob("*.yaml")))


def load_named(
    name: str, folder: str, kind: str, read: Callable[[str, Any], _Content], hint: str = ""
) -> _Content:
    """Return what a bundled file, or a file of a user, contains.

    Args:
        name: of a bundled file, or path of a YAML file.
        folder: of the bundled ones, in the share directory.
        kind: they are called in messages.
        read: function from the name of the file and its content to what is returned.
        hint: added to the message about an unknown name.

    Raises:
        OptionError: there is no such file.
        ModelError: the file does not have the format.
    """
    path = Path(os.path.expanduser(name))
    if path.suffix not in (".yaml", ".yml"):
        available_names = bundled_names(folder)
        if name not in available_names:
            text = f"there is no {kind} '{name}'{did_you_mean(name, available_names)}; there are "
            text += f"{', '.join(available_names)}, and the path of a YAML file is accepted{hint}"
            raise OptionError(text)
        path = share_directory() / folder / f"{name}.yaml"
    elif not path.is_file():
        raise OptionError(f"there is no file {path}")
    try:
        return read(path.stem, read_yaml(path))
    except (ModelError, StateError, YamlError) as error:
        raise ModelError(f"{path} is not a valid {kind}: {error}") from None

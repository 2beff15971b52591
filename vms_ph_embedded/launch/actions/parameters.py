# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""``<param>`` inside ``<node>``: values, nested values and files, each in its order."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from vms_ph_embedded.launch import grammar, values
from vms_ph_embedded.launch.attributes import Text, literal, one_of, required
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.description import YamlFile
from vms_ph_embedded.launch.document import Element
from vms_ph_embedded.launch.errors import LaunchError
from vms_ph_embedded.launch.substitutions import check_calls, text
from vms_ph_io.settings.bounded_text import MAX_YAML_CHARACTERS, YamlError, parse_yaml, read_text


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """One parameter; the name of a nested one is given in parts, to be joined by dots."""

    name: tuple[Text, ...]
    value: values.TypedTemplate

    def evaluate(self, context: Context) -> tuple[str, values.Value]:
        """Its full name and its value."""
        name = ".".join(part.evaluate(context) for part in self.name)
        where = self.value.location
        return name, self.value.evaluate(lambda template: text(template, context, where))


@dataclass(frozen=True, slots=True)
class ParameterFile:
    """A file of parameters, handed to the node as it is, or with substitutions carried out."""

    file: Text
    allow_substitutions: bool

    def evaluate(self, context: Context) -> str | YamlFile:
        """The path of the file, or its text with substitutions carried out.

        Raises:
            LaunchError: The file is missing, or is no YAML after the substitutions.
        """
        path = Path(self.file.evaluate(context))
        where = self.file.location
        if not os.path.isfile(path):  # False, too, for a path that no file can have
            raise LaunchError(f"there is no parameter file {path}", where)
        if not self.allow_substitutions:
            return str(path)
        try:
            filled = text(
                grammar.parse(read_text(path, MAX_YAML_CHARACTERS), where), context, where
            )
            parse_yaml(filled)
        except (OSError, YamlError) as error:
            raise LaunchError(
                f"{path} is not YAML once its substitutions are carried out: {error}", where
            ) from None
        return YamlFile(filled)


def read(element: Element) -> Iterator[ParameterValue | ParameterFile]:
    """The parameters of a ``<param>`` tag.

    Raises:
        LaunchError: The attributes do not fit together.
    """
    has_value, has_file = "name" in element.attributes, "from" in element.attributes
    if has_value is has_file:
        raise LaunchError(
            "<param> needs either 'name' (and 'value') or 'from' (a file)", element.location
        )
    if has_value:
        yield from _values(element, ())
        return
    for name in ("value", "type"):
        if name in element.attributes:
            raise LaunchError(f"<param from=...> takes no {name!r}", element.at(name))
    if element.children:
        raise LaunchError("<param from=...> takes no parameters inside", element.location)
    substitute = literal(element, "allow_substs", values.BOOL) is True
    yield ParameterFile(required(element, "from"), substitute)


def _values(element: Element, prefix: tuple[Text, ...]) -> Iterator[ParameterValue]:
    for other in ("from", "allow_substs"):
        if other in element.attributes:
            raise LaunchError(f"<param name=...> takes no {other!r}", element.at(other))
    if "name" not in element.attributes:
        raise LaunchError("<param> lacks its attribute 'name'", element.location)
    name = (*prefix, required(element, "name"))
    value = element.text("value")
    if (value is None) is not bool(element.children):
        raise LaunchError("<param> needs either 'value' or parameters inside it", element.location)
    if value is None:
        if "type" in element.attributes:
            raise LaunchError("'type' goes to the parameters inside", element.at("type"))
        for child in element.children:
            yield from _values(child, name)
        return
    kind = one_of(element.text("type") or values.ANY.name, values.KINDS, "type", element.at("type"))
    typed = values.TypedTemplate.parse(value, values.KINDS[kind], element.at("value"))
    for template in typed.templates:
        check_calls(template, typed.location)
    yield ParameterValue(name, typed)


class _Quoted(yaml.SafeDumper):
    """Writes text with quotes, always: "1", "y" and "1e3" must not come back as numbers."""


_Quoted.add_representer(
    str, lambda dumper, data: dumper.represent_scalar("tag:yaml.org,2002:str", data, style='"')
)


def as_file(node: str, parameters: dict[str, values.Value]) -> YamlFile:
    """Parameters as a file for ``--params-file``.

    Args:
        node: The full name of the node; "/**" when it is not known.
        parameters: By their full names.
    """
    content = {node: {"ros__parameters": parameters}}
    return YamlFile(yaml.dump(content, Dumper=_Quoted, sort_keys=False, width=10_000))

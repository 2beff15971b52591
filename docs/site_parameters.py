# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The page of parameters, made from their files and the gains of the controllers.

`python docs/site_parameters.py` prints it.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import vms_ph_controllers
from vms_ph_controllers import Controller
from vms_ph_controllers.guard import EnergyGuardSettings
from vms_ph_io import share_directory
from vms_ph_io.wings import WINGS, hook
from vms_ph_nodes.node.parameters import parameters_of

_HEAD = """# Parameters

All parameters of the nodes, and the gains of the laws. Those that may change while a node runs are
marked; all others are read-only. The files `config/parameters/*.yaml` use the schema of
generate_parameter_library."""


def document() -> str:
    """Return the whole page."""
    lines = [_HEAD]
    for path in sorted((share_directory() / "config/parameters").glob("*.yaml")):
        lines += ["", f"## {path.stem}", *_TABLE]
        for spec in parameters_of(path.stem).values():
            lines.append(
                _row(spec.name, spec.type, spec.default, _accepted(spec.validation), spec.read_only)
                + f" {spec.description} |"
            )
    records: list[tuple[str, Any]] = [
        (f"Gains of {kind.__name__}, parameters of controller", kind.Gains)
        for kind in controllers()
    ]
    for title, record in [
        *records,
        ("Settings of EnergyGuard, parameters of energy_guard", EnergyGuardSettings),
    ]:
        lines += ["", f"## {title}", *_TABLE]
        for item in fields(record):
            low, high = item.metadata.get("low"), item.metadata.get("high")
            accepted = "" if low is None else f"{low:g} … {high:g}"
            lines.append(
                _row(item.name, _type(item.default), item.default, accepted, False)
                + f" {item.metadata['description']} |"
            )
    return "\n".join(lines)


def controllers() -> Iterator[type[Controller]]:
    """Return the controllers of the core and of the wings that are installed, by name."""
    wings = [hook(wing) for wing, entry in WINGS.items() if entry.is_installed]
    public = {
        name: getattr(package, name)
        for package in (vms_ph_controllers, *wings)
        for name in getattr(package, "__all__", ())
    }
    for _, kind in sorted(public.items()):
        # A law around another has the gains of that one.
        if isinstance(kind, type) and issubclass(kind, Controller) and fields(kind.Gains):
            yield kind


_TABLE = (
    "",
    "| name | type | default | accepted | may change | description |",
    "|---|---|---|---|---|---|",
)


def _row(name: str, kind: str, default: Any, accepted: str, fixed: bool) -> str:
    default_text = (
        "" if default in ("", [""]) else f"`{str(default).lower() if kind == 'bool' else default}`"
    )
    return f"| `{name}` | {kind} | {default_text} | {accepted} | {'' if fixed else 'yes'} |"


def _accepted(validation: Any) -> str:
    words = []
    for rule, argument in validation.items():
        if rule == "bounds":
            words.append(f"{argument[0]:g} … {argument[1]:g}")
        elif rule == "one_of":
            words.append(", ".join(f"`{item}`" if item else "empty" for item in argument[0]))
        elif rule == "not_empty":
            words.append("not empty")
        else:
            words.append(f"{rule} {argument[0]:g}")
    return "; ".join(words)


def _type(value: Any) -> str:
    return {bool: "bool", int: "int", float: "double", str: "string"}[type(value)]


if __name__ == "__main__":
    print(document())

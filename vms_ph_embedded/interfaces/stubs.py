# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Type stubs of the message packages, for editors and type checkers.

The classes are made when they are first used, so there are no files to look into. For an editor::

    python -m vms_ph_embedded.interfaces.stubs typings

and ``vms_ph_embedded/site`` as another place to search.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from vms_ph_embedded.interfaces import messages, store
from vms_ph_embedded.interfaces.fields import CollectionField, Field, NumericArrayField
from vms_ph_embedded.interfaces.names import STANDARD_PACKAGES

_HEAD = "from collections.abc import MutableSequence\nfrom typing import Any, ClassVar\n"


def write(folder: Path, packages: tuple[str, ...] = STANDARD_PACKAGES) -> None:
    """Write a stub of every message and service of some packages."""
    for package in packages:
        for kind in ("msg", "srv"):
            names = store.interfaces(package, kind)
            if not names:
                continue
            target = folder / package / kind
            target.mkdir(parents=True, exist_ok=True)
            (folder / package / "__init__.pyi").touch()
            text = "\n".join(_stub(package, kind, name) for name in names)
            others = sorted(_packages_in(package, kind, names))
            imports = "".join(f"import {other}.msg\n" for other in others)
            (target / "__init__.pyi").write_text(_HEAD + imports + "\n" + text, encoding="utf-8")


def _stub(package: str, kind: str, name: str) -> str:
    if kind == "msg":
        return _message_stub(messages.message_class(f"{package}/msg/{name}"))
    service = messages.service_class(f"{package}/srv/{name}")
    parts = _message_stub(service.Request) + "\n" + _message_stub(service.Response)
    return (
        f"{parts}\nclass {name}:\n"
        f"    Request = {service.Request.__name__}\n"
        f"    Response = {service.Response.__name__}\n"
    )


def _message_stub(cls: Any) -> str:
    fields = {field.name: _type(field) for field in cls.__fields__}
    constants = store.constants(cls.__msgtype__)
    arguments = "".join(f", {name}: {type_} = ..." for name, type_ in fields.items())
    lines = [
        f"class {cls.__name__}:",
        *(f"    {name}: ClassVar[{type(value).__name__}]" for name, value in constants.items()),
        *(f"    {name}: {type_}" for name, type_ in fields.items()),
        f"    def __init__(self{', *' if fields else ''}{arguments}) -> None: ...",
        "    @classmethod",
        "    def get_fields_and_field_types(cls) -> dict[str, str]: ...",
    ]
    return "\n".join(lines) + "\n"


def _type(field: Field) -> str:
    if isinstance(field, NumericArrayField):
        return "Any"  # takes any sequence, gives a numpy array
    python_type = field.element.python_type
    name = python_type.__name__
    if issubclass(python_type, messages.Message):
        name = f"{python_type.__module__}.{name}"
    return f"MutableSequence[{name}]" if isinstance(field, CollectionField) else name


def _packages_in(package: str, kind: str, names: list[str]) -> set[str]:
    parts = ("_Request", "_Response") if kind == "srv" else ("",)
    return {
        field.element.python_type.__module__.partition(".")[0]
        for name in names
        for part in parts
        for field in messages.message_class(f"{package}/{kind}/{name}{part}").__fields__
        if issubclass(field.element.python_type, messages.Message)
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m vms_ph_embedded.interfaces.stubs FOLDER")
    write(Path(sys.argv[1]))

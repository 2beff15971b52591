# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What the pages of the API have beyond docstrings: links and the descriptions of gains.

Roles, as :class:`.VMSModel`, become links; a field that is declared by ``gain`` or ``switch`` has
the description and the bounds given there.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import griffe

# Properties that are computed on first use are shown as properties, not as functions.
griffe.stdlib_decorators["vms_ph_dynamics.arrays.cached_property"] = {"cached", "property"}

ROLE = re.compile(r":(?:class|meth|func|mod|attr|data|exc|obj):`~?\.?([\w.]+)`")


@cache
def public() -> dict[str, dict[str, Any]]:
    """By every short name, the full names of the public objects that have it, and the objects."""
    sys.path.append(str(Path(__file__).parent))
    from site_pages import home, names_of, packages

    names: dict[str, dict[str, Any]] = {}
    for package in packages():
        for name in names_of(package):
            names.setdefault(name, {})[home(package, name)] = getattr(package, name)
    return names


class Roles(griffe.Extension):
    """Rewrites the docstring of every object as it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Describe a gain, and put a link, or the name as code, in place of each role."""
        if obj.docstring is None and obj.is_attribute:
            described = _description(obj)
            obj.docstring = griffe.Docstring(described, parent=obj) if described else None
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(lambda role: link(role[1], obj), obj.docstring.value)


def _description(attribute: griffe.Object) -> str:
    """Return what a gain or switch is, with its bounds; empty for other attributes."""
    value = attribute.value
    if not isinstance(value, griffe.ExprCall) or str(value.function) not in ("gain", "switch"):
        return ""
    call = ast.parse(str(value), mode="eval").body
    text = f"{ast.literal_eval(call.args[1])}"
    bounds = [ast.unparse(bound) for bound in call.args[2:4]]
    return text + (f"; from {bounds[0]} to {bounds[1]}" if bounds else "")


def link(name: str, place: griffe.Object) -> str:
    """Return a link to what a name means in the docstring of an object, or the name as code.

    Of several public objects of that name it is the one that the module imports, else the one whose
    package is nearest.
    """
    first, _, member = name.partition(".")
    owner = place if place.is_class else place.parent
    if owner is not None and owner.is_class and not member:
        first, member = (owner.name, first) if first in owner.members else (first, member)
    near = str(place.module.imports.get(first, place.path)).split(".")
    candidates = public().get(first, {})
    if first in place.module.members and first not in place.module.imports:  # defined there
        candidates = {
            full: value for full, value in candidates.items() if full.split(".")[0] == near[0]
        }

    def shared(full: str) -> int:
        pairs = zip(full.split("."), near, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    there = max(candidates, key=shared, default="")
    value = candidates.get(there)
    if not there or (member and not getattr(vars(value).get(member), "__doc__", None)):
        return f"`{name}`"
    return f"[`{name}`][{there}{'.' + member if member else ''}]"

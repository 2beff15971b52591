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
from pathlib import Path
from typing import Any

import griffe

# Properties that are computed on first use are shown as properties, not as functions.
griffe.stdlib_decorators["vms_ph_dynamics.arrays.cached_property"] = {"cached", "property"}

ROLE = re.compile(r":(?:class|meth|func|mod|attr|data|exc|obj):`~?\.?([\w.]+)`")


@cache
def public() -> dict[str, tuple[str, Any]]:
    """The full name of every public object, and the object, by its short name."""
    sys.path.append(str(Path(__file__).parent))
    from site_pages import home, packages

    return {
        name: (home(package, name), getattr(package, name))
        for package in packages()
        for name in package.__all__
    }


class Roles(griffe.Extension):
    """Rewrites the docstring of every object as it is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Describe a gain, and put a link, or the name as code, in place of each role."""
        if obj.docstring is None and obj.is_attribute:
            described = _description(obj)
            obj.docstring = griffe.Docstring(described, parent=obj) if described else None
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(_link, obj.docstring.value)


def _description(attribute: griffe.Object) -> str:
    """Return what a gain or switch is, with its bounds; empty for other attributes."""
    value = attribute.value
    if not isinstance(value, griffe.ExprCall) or str(value.function) not in ("gain", "switch"):
        return ""
    call = ast.parse(str(value), mode="eval").body
    text = f"{ast.literal_eval(call.args[1])}"
    bounds = [ast.unparse(bound) for bound in call.args[2:4]]
    return text + (f"; from {bounds[0]} to {bounds[1]}" if bounds else "")


def _link(role: re.Match[str]) -> str:
    name = role[1]
    first, _, member = name.partition(".")
    there, value = public().get(first, ("", None))
    if not there or (member and not getattr(vars(value).get(member), "__doc__", None)):
        return f"`{name}`"
    return f"[`{name}`][{there}{'.' + member if member else ''}]"

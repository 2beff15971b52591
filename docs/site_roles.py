# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The roles of docstrings, as :class:`.VMSModel`, become links to the pages of the API."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import griffe

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
        """Put a link, or the name as code, in place of each role."""
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(_link, obj.docstring.value)


def _link(role: re.Match[str]) -> str:
    name = role[1]
    first, _, member = name.partition(".")
    there, value = public().get(first, ("", None))
    if not there or (member and not getattr(vars(value).get(member), "__doc__", None)):
        return f"`{name}`"
    return f"[`{name}`][{there}{'.' + member if member else ''}]"

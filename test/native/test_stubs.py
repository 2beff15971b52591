# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The stub of the C++ module, for type checkers and editors, has what the module has."""

import ast
import inspect
import re
from pathlib import Path
from types import ModuleType

STUB = Path(__file__).parents[2] / "native/bindings/vms_ph_native.pyi"


def _arguments(docstring: str) -> list[str]:
    """The names of arguments in the signature that pybind11 writes."""
    text = re.sub(r" = (\[\]|\{\}|'[^']*')", "", docstring[docstring.index("(") + 1 :])
    names, depth = [], 0
    for part in re.split(r"([\[\](),])", "," + text):
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(part, 0)
        if depth < 0:
            break
        if names and names[-1] == "" and depth == 0:
            names[-1] = part.partition(":")[0].strip()
        if part == "," and depth == 0:
            names.append("")
    return [name for name in names if name]


def _of_module(scope: object) -> dict[str, object]:
    """Names, with the arguments of functions, of a module or class."""
    found: dict[str, object] = {}
    for name, value in vars(scope).items():
        function = getattr(value, "__func__", value)
        if inspect.isclass(value) and value.__module__ == "vms_ph_native":
            found[name] = _of_module(value)
        elif inspect.isroutine(function) and name in (function.__doc__ or ""):
            found[name] = _arguments(function.__doc__)
        elif not name.startswith("_"):
            found[name] = None
    return found


def _of_stub(body: list[ast.stmt]) -> dict[str, object]:
    found: dict[str, object] = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = _of_stub(node.body)
        elif isinstance(node, ast.FunctionDef):
            is_property = any(not ast.unparse(n).startswith("static") for n in node.decorator_list)
            found[node.name] = None if is_property else [a.arg for a in node.args.args]
        elif isinstance(node, ast.AnnAssign):
            found[ast.unparse(node.target)] = None
    return found


def test_the_stub_has_the_names_and_arguments_of_the_module(native: ModuleType) -> None:
    module = _of_module(native)
    assert module["Dynamics"]["momenta"] == ["self", "q", "v"]
    assert _of_stub(ast.parse(STUB.read_text()).body) == module

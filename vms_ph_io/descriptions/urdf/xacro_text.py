# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Processing of xacro files within bounds on what their macros and properties expand to.

A xacro file contains Python expressions, so it is a program and as trusted as one; the bounds
protect from macros that expand without end by mistake, not from an attacker.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import xacro
from xacro import substitution_args

from vms_ph_dynamics import ModelError
from vms_ph_dynamics.robot.description import LARGEST_TEXT

from ...settings.bounded_text import read_text
from ..bounded_arithmetic import BOUNDED_OPERATORS, BoundedOperators
from ..packages import installed_file, package_directory

MAX_ELEMENTS = 50_000
"""Largest number of elements that macros may expand to; a URDF of a humanoid has 5000."""


# What xacro makes of an error of its parts: its class, and its text twice.
_REPEATED_ERROR = re.compile(r"<class '[\w.]+'>: (?:(.+) \1)?| \[Errno \d+\] .*")

# What a URDF that xacro made has no longer, though xacro may have left elements of its own in it.
_TEMPLATE = re.compile(r"\$[({]|<xacro:(include|macro|property|arg)\b")

_UNDEFINED_ARGUMENT = re.compile(r"Undefined substitution argument (\w+)")


class _MissingPackageError(ModelError):
    """A package of ``$(find)`` that is nowhere."""


class _Arguments(dict[str, str]):
    """Arguments for xacro that record which of them xacro uses."""

    def __init__(self, arguments: Mapping[str, str]) -> None:
        super().__init__(arguments)
        self.used_names: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.used_names.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.used_names.add(name)
        return super().__getitem__(name)


def process_xacro(file: Path, arguments: Mapping[str, str]) -> str:
    """Return the URDF text that a xacro file expands to.

    Args:
        file: path of the file.
        arguments: values of ``<xacro:arg>``.

    Raises:
        OSError: an unreadable file.
        ModelError: xacro fails, expands beyond a bound, or does not use an argument.
    """
    mappings, reasons, kind = _Arguments(arguments), dict[str, None](), "files that it includes"
    problem = f"{file} is not a xacro file that can be processed: "
    try:
        with _bounded_xacro(file, reasons):
            text = str(xacro.process_file(str(file), mappings=mappings).toxml())
    except RecursionError:
        raise ModelError(f"{problem}a macro, file or tag contains itself or is too deep") from None
    except OSError:
        raise
    except Exception as error:  # its Python expressions raise anything
        reason = _REPEATED_ERROR.sub(r"\1", " ".join(str(error).split())) or repr(error)
        reason = _UNDEFINED_ARGUMENT.sub(r"its argument \1 has no default: give \1:=VALUE", reason)
        is_urdf = file.suffix != ".xacro" and reason.startswith("unknown macro name")
        if not is_urdf or _TEMPLATE.search(text := read_text(file)):
            raise ModelError(problem + "; ".join([reason, *reasons])) from None
        kind, reasons = "elements of xacro", {reason: None}
    if unknown_arguments := sorted(mappings.keys() - mappings.used_names):
        names = ", ".join(sorted(mappings.used_names))
        accepted = f"its arguments are {names}" if names else "it has none"
        raise ModelError(f"{file.name} has no argument '{unknown_arguments[0]}'; {accepted}")
    notes = "".join(f"<left_out>{kind}: {reason}</left_out>" for reason in reasons)
    return text.replace("</robot>", f"<xacro>{notes}</xacro></robot>") if notes else text


@contextmanager
def _bounded_xacro(file: Path, missing_files: dict[str, None]) -> Iterator[None]:
    """Count what xacro evaluates; it has no bound of its own, and its state is global anyway.

    A file of a package that is missing is not included: most such files only have macros of parts
    that an argument selects. What says so is added to ``missing_files``.
    """
    names = ("eval_all", "eval_text", "safe_eval", "get_include_files", "abs_filename_spec")
    originals = {name: getattr(xacro, name) for name in names}
    find_in_ros = substitution_args._eval_find
    evaluate_element, evaluate_text, evaluate_expression, find_files, abs_path = originals.values()
    element_count = character_count = 0

    def eval_all(*args: Any) -> Any:
        nonlocal element_count
        element_count += 1
        if element_count > MAX_ELEMENTS:
            raise xacro.XacroException(f"it expands to more than {MAX_ELEMENTS} elements")
        return evaluate_element(*args)

    def eval_text(*args: Any) -> Any:
        nonlocal character_count
        value = evaluate_text(*args)
        character_count += len(value) if isinstance(value, str) else 0
        if character_count > LARGEST_TEXT:
            raise xacro.XacroException(f"its texts have more than {LARGEST_TEXT} characters")
        return value

    def safe_eval(expression: str, names: Any, *local: Any) -> Any:
        names.update(BOUNDED_OPERATORS)
        return evaluate_expression(_with_bounded_operators(expression), names, *local)

    def get_include_files(*args: Any) -> Iterator[str]:
        try:
            yield from find_files(*args)
        except xacro.XacroException as error:
            if not isinstance(error.exc, _MissingPackageError):
                raise
            missing_files[str(error.exc)] = None

    def abs_filename_spec(specification: str) -> str:
        return str(installed_file(Path(abs_path(specification))))

    replacements = eval_all, eval_text, safe_eval, get_include_files, abs_filename_spec
    substitution_args._eval_find = cache(partial(_package_folder, file))
    try:
        vars(xacro).update({function.__name__: function for function in replacements})
        yield
    finally:
        vars(xacro).update(originals)
        substitution_args._eval_find = find_in_ros


def _package_folder(file: Path, package: str) -> str:
    """Return what ``$(find package)`` stands for, also where the package is one of Python's."""
    if (folder := package_directory(package, file)) is None:
        raise _MissingPackageError(
            f"there is no package '{package}'; source the ROS 2 workspace that has it, or put its "
            "sources beside these, or name their folder in ROS_PACKAGE_PATH"
        )
    return str(folder)


def _with_bounded_operators(expression: str) -> str:
    with suppress(SyntaxError, ValueError):
        return ast.unparse(BoundedOperators().visit(ast.parse(expression.strip(), mode="eval")))
    return expression  # xacro says what is wrong with it

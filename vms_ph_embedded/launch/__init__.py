# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Launch files in XML without ROS 2, with the semantics of ``ros2 launch``.

``load`` turns a file and its arguments into a description, which is plain data; a ``Launcher`` runs
a description.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from vms_ph_dynamics.errors import did_you_mean
from vms_ph_embedded.launch import packages
from vms_ph_embedded.launch.actions import carry_out, declarations, read
from vms_ph_embedded.launch.context import Context, FindShare, Resolver
from vms_ph_embedded.launch.description import (
    DeclaredArgument,
    LaunchDescription,
    ProcessDescription,
)
from vms_ph_embedded.launch.errors import LaunchError
from vms_ph_embedded.launch.launcher import Launcher
from vms_ph_embedded.launch.process import Process

__all__ = [
    "LaunchDescription",
    "LaunchError",
    "Launcher",
    "Process",
    "ProcessDescription",
    "declared_arguments",
    "load",
    "show_arguments",
]


def load(
    file: str | Path,
    arguments: Mapping[str, str] | Sequence[str] = (),
    *,
    resolve: Resolver | None = None,
    find_share: FindShare | None = None,
) -> LaunchDescription:
    """Read a launch file and decide every variable and condition in it. Nothing is started.

    Args:
        file: A ``*.launch.xml`` file.
        arguments: By name, or as the words ``name:=value`` of a command line.
        resolve: Gives the command for (package, executable) of a node, or raises LookupError;
            default: ``packages.find_executable``.
        find_share: Gives the share folder of a package, or raises LookupError.

    Raises:
        LaunchError: The file is not in the accepted subset, an argument is missing, unknown or not
            accepted, or something the file refers to does not exist. The message begins with
            file, line and column.
    """
    assignments = arguments if isinstance(arguments, Mapping) else _assignments(arguments)
    root = read(file)
    context = _context(resolve, find_share)
    declared = list(declarations(root, context.without_variables(), frozenset(assignments)))
    for argument, is_demanded in declared:
        if is_demanded:
            raise LaunchError(
                f"{root.location.file} needs a value for its argument {argument.name!r} "
                f"({argument.description or 'no description'}); give {argument.name}:=value"
            )
    context.configurations.update(assignments)
    carry_out(root, context)
    # Those of an <include> that a condition leaves out are declared, too.
    known_names = list(dict.fromkeys([*(a.name for a, _ in declared), *context.declared_names]))
    for name in assignments:
        if name not in known_names:
            raise LaunchError(
                f"no launch file declares the argument {name!r}{did_you_mean(name, known_names)}; "
                f"declared are: "
                f"{', '.join(known_names) or 'none'}"
            )
    return LaunchDescription(root.location.file, tuple(context.steps), tuple(context.warnings))


def _context(resolve: Resolver | None, find_share: FindShare | None) -> Context:
    context = Context(find_share or packages.find_share, resolve or packages.find_executable)
    # The default lookups see what set_env has changed, as they would in ros2 launch.
    if find_share is None:
        context.find_share = lambda name: packages.find_share(name, context.environment)
    if resolve is None:
        context.resolve = lambda package, name: packages.find_executable(
            package, name, context.environment
        )
    return context


def _assignments(words: Sequence[str]) -> dict[str, str]:
    """Read ``name:=value`` words; of duplicates the last counts."""
    assignments = {}
    for word in words:
        name, separator, value = word.partition(":=")
        if not name or not separator or not value:
            raise LaunchError(f"argument {word!r} is not of the form name:=value")
        assignments[name] = value
    return assignments


def declared_arguments(
    file: str | Path, *, find_share: FindShare | None = None
) -> tuple[DeclaredArgument, ...]:
    """The arguments that a launch file accepts, without carrying it out.

    Files it includes count too, where their path depends on no variable.

    Raises:
        LaunchError: The file is not in the accepted subset.
    """
    arguments_by_name: dict[str, DeclaredArgument] = {}
    for argument, _ in declarations(read(file), _context(None, find_share)):
        arguments_by_name.setdefault(argument.name, argument)
    return tuple(arguments_by_name.values())


def show_arguments(file: str | Path, *, find_share: FindShare | None = None) -> str:
    """The arguments of a launch file as a listing for the user, laid out as ``ros2 launch`` does.

    Raises:
        LaunchError: The file is not in the accepted subset.
    """
    arguments = declared_arguments(file, find_share=find_share)
    lines = ["Arguments (pass arguments as '<name>:=<value>'):"]
    for argument in arguments:
        lines += ["", f"    '{argument.name}':{'*' if argument.conditional else ''}"]
        lines.append(f"        {_argument_help(argument)}")
        if argument.default is not None:
            lines.append(f"        (default: '{argument.default}')")
    if not arguments:
        lines += ["", "  No arguments."]
    if any(argument.conditional for argument in arguments):
        lines += ["", "* argument(s) which are only used if specific conditions occur"]
    return "\n".join(lines)


def _argument_help(argument: DeclaredArgument) -> str:
    choices = str(list(argument.choices))
    if not argument.description:
        return f"One of: {choices}" if argument.choices else "no description given"
    if not argument.choices:
        return argument.description
    return f"{argument.description.removesuffix('.')}. Valid choices are: {choices}"

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""From a launch file and its arguments to a description of what is to be run."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from vms_ph_embedded.launch import packages
from vms_ph_embedded.launch.actions.structure import LaunchFile
from vms_ph_embedded.launch.context import Context, FindShare, Resolver
from vms_ph_embedded.launch.description import DeclaredArgument, LaunchDescription
from vms_ph_embedded.launch.errors import LaunchError

# Variables that ros2 launch itself reads; a user may give them although no file declares them.
_BUILT_IN = {"launch-prefix", "launch-prefix-filter", "sigterm_timeout", "sigkill_timeout"}


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
        find_share: Gives the share folder of a package, or raises LookupError;
            default: ``packages.find_share``.

    Raises:
        LaunchError: The file is not in the accepted subset, an argument is missing, unknown or not
            accepted, or something the file refers to does not exist. The message begins with
            file, line and column.
    """
    assignments = dict(arguments) if isinstance(arguments, Mapping) else parse_arguments(arguments)
    launch_file = LaunchFile.read(Path(file))
    context = _context(resolve, find_share)
    for argument in launch_file.missing(set(assignments), context.without_variables()):
        raise LaunchError(
            f"{launch_file.file} needs a value for its argument {argument.name!r} "
            f"({argument.description or 'no description'}); give {argument.name}:=value"
        )
    context.configurations.update(assignments)
    context.file_for_ros = launch_file.file
    launch_file.run(context)
    declared = {argument.name: argument for argument in reversed(context.arguments)}
    in_order = tuple(dict.fromkeys(argument.name for argument in context.arguments))
    # Those of an <include> that a condition leaves out are declared, too.
    bare_context = _context(resolve, find_share)
    everywhere = [a.name for f in launch_file.with_includes(bare_context) for a in f.declared()]
    argument_names = dict.fromkeys((*in_order, *everywhere))
    for name in assignments:
        if name not in argument_names.keys() | _BUILT_IN:
            raise LaunchError(_unknown(name, tuple(argument_names)))
    return LaunchDescription(
        launch_file.file,
        tuple(declared[name] for name in in_order),
        tuple(context.steps),
        tuple(context.warnings),
    )


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


def parse_arguments(words: Sequence[str]) -> dict[str, str]:
    """Read ``name:=value`` words; of duplicates the last counts.

    Raises:
        LaunchError: A word is not of that form.
    """
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
    """The arguments a launch file accepts, without carrying it out.

    Files it includes count too, where their path depends on no variable.

    Raises:
        LaunchError: The file is not in the accepted subset.
    """
    by_name: dict[str, DeclaredArgument] = {}
    context = _context(None, find_share)
    for launch_file in LaunchFile.read(Path(file)).with_includes(context):
        for argument in launch_file.declared():
            by_name.setdefault(argument.name, argument)
    return tuple(by_name.values())


def show_arguments(file: str | Path, *, find_share: FindShare | None = None) -> str:
    """The arguments of a launch file as a listing for the user, laid out as ``ros2 launch`` does.

    Raises:
        LaunchError: The file is not in the accepted subset.
    """
    declared = declared_arguments(file, find_share=find_share)
    lines = ["Arguments (pass arguments as '<name>:=<value>'):"]
    for argument in declared:
        lines += ["", f"    '{argument.name}':{'*' if argument.conditional else ''}"]
        lines.append(f"        {_described(argument)}")
        if argument.default is not None:
            lines.append(f"        (default: '{argument.default}')")
    if not declared:
        lines += ["", "  No arguments."]
    if any(argument.conditional for argument in declared):
        lines += ["", "* argument(s) which are only used if specific conditions occur"]
    return "\n".join(lines)


def _described(argument: DeclaredArgument) -> str:
    choices = str(list(argument.choices))
    if not argument.description:
        return f"One of: {choices}" if argument.choices else "no description given"
    if not argument.choices:
        return argument.description
    return f"{argument.description.removesuffix('.')}. Valid choices are: {choices}"


def _unknown(name: str, declared: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, declared, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    listing = ", ".join(declared) or "none"
    return f"no launch file declares the argument {name!r}{hint}; declared are: {listing}"

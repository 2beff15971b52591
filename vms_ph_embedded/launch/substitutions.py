# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The substitutions ``$(...)`` that are accepted, and carrying them out.

Those of ``ros2 launch`` that mean the same with and without ROS 2. Results are text; where a number
or a truth value is required, the text is read as YAML afterwards (values.py).
"""

import math
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from vms_ph_dynamics.errors import did_you_mean
from vms_ph_embedded.launch import expression, values
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.document import Element
from vms_ph_embedded.launch.errors import EXIT_CONFIG_ERROR, SUBSET_REMARK, LaunchError, Location
from vms_ph_embedded.launch.grammar import Call, Template, parse

_MAX_LENGTH = 2**20  # characters that a text with substitutions may come to
_NO_DEFAULT = object()
Default = TypeVar("Default")


class _Failure(Exception):
    """A substitution cannot be carried out; the text says why."""


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The arguments of one call; each is carried out only when it is asked for."""

    templates: tuple[Template, ...]
    context: Context
    location: Location | None

    def __len__(self) -> int:
        return len(self.templates)

    def __getitem__(self, index: int) -> str:
        return _evaluated(self.templates[index], self.context, self.location)

    def truth(self, index: int) -> bool:
        argument = self[index]
        try:
            return bool(values.coerce(argument, values.Kind.BOOL))
        except ValueError:
            raise _Failure(f"{argument!r} is neither true nor false") from None


def evaluate(text: str, context: Context, location: Location | None = None) -> str:
    """Carry out the substitutions of a text.

    Args:
        text: As the launch file has it.
        context: The variables and files to look up.
        location: Where the text stands, for error messages.

    Raises:
        LaunchError: A variable, file, package or command is missing or fails.
    """
    return _evaluated(parse(text, location), context, location)


def attribute(
    element: Element,
    name: str,
    context: Context,
    default: Default = _NO_DEFAULT,  # type: ignore[assignment]
) -> str | Default:
    """An attribute with its substitutions carried out, or the default if it is not given."""
    if default is not _NO_DEFAULT and name not in element.attributes:
        return default
    return evaluate(element.attributes[name], context, element.location)


def words(element: Element, name: str, context: Context) -> list[str]:
    """The words of a command line in an attribute, by the rules of ``ros2 launch``.

    Only text is split, with the quoting of a shell; what a substitution gives is never split, so a
    path with a space stays one word. A word ends where text has a space, also next to a
    substitution.

    Raises:
        LaunchError: A quote is not closed within its piece of text.
    """
    if name not in element.attributes:
        return []
    command_words: list[str] = []
    word_pieces: list[str] = []  # pieces of the one that goes on

    def end_word() -> None:
        command_words.append("".join(word_pieces))
        word_pieces.clear()

    for part in parse(element.attributes[name], element.location):
        if not isinstance(part, str):
            word_pieces.append(_evaluated((part,), context, element.location))
            continue
        try:
            pieces = shlex.split(part)
        except ValueError as error:
            raise LaunchError(
                f"{part!r} cannot be split into words: {error}; a quote cannot reach across a "
                "substitution",
                element.location,
            ) from None
        if not pieces or (part[0].isspace() and word_pieces):
            end_word()
        for index, piece in enumerate(pieces):
            if index:
                end_word()
            word_pieces.append(piece)
        if pieces and part[-1].isspace():
            end_word()
    if word_pieces:
        end_word()
    return command_words


def _evaluated(template: Template, context: Context, location: Location | None) -> str:
    pieces: list[str] = []
    for piece in template:
        if isinstance(piece, str):
            pieces.append(piece)
            continue
        function = _substitution(piece, location).function
        try:
            pieces.append(function(_Arguments(piece.arguments, context, location), context))
        except (_Failure, expression.ExpressionError) as error:
            raise LaunchError(f"$({piece.name}): {error}", location) from None
    if sum(map(len, pieces)) > _MAX_LENGTH:
        raise LaunchError(f"the substitutions give more than {_MAX_LENGTH} characters", location)
    return "".join(pieces)


def check_calls(template: Template, location: Location | None) -> None:
    """Refuse unknown substitutions and wrong numbers of arguments, without carrying anything out.

    Raises:
        LaunchError: With the list of what is accepted.
    """
    for part in template:
        if isinstance(part, Call):
            _substitution(part, location)
            for argument in part.arguments:
                check_calls(argument, location)


def _substitution(call: Call, location: Location | None) -> "_Substitution":
    definition = SUBSTITUTIONS.get(call.name)
    if definition is None:
        raise LaunchError(
            f"substitution $({call.name} ...) is not supported; accepted are "
            f"{', '.join(sorted(SUBSTITUTIONS))}"
            f"{did_you_mean(call.name, SUBSTITUTIONS)}; {SUBSET_REMARK}",
            location,
        )
    if not definition.min_arguments <= len(call.arguments) <= definition.max_arguments:
        raise LaunchError(
            f"$({call.name} ...) has {len(call.arguments)} arguments; write $({definition.usage})",
            location,
        )
    return definition


@dataclass(frozen=True, slots=True)
class _Substitution:
    usage: str
    function: Callable[[_Arguments, Context], str]

    @property
    def min_arguments(self) -> int:
        return len([word for word in self.usage.split()[1:] if not word.startswith("[")])

    @property
    def max_arguments(self) -> int:
        return len(self.usage.split()) - 1


def _var(arguments: _Arguments, context: Context) -> str:
    name = arguments[0]
    if name in context.configurations:
        return context.configurations[name]
    if len(arguments) == 2:
        return arguments[1]
    defined_names = ", ".join(sorted(context.configurations)) or "none"
    raise _Failure(f"no variable {name!r} is set here; set are: {defined_names}")


def _env(arguments: _Arguments, context: Context) -> str:
    default_text = arguments[1] if len(arguments) == 2 else None
    value = context.environment.get(arguments[0], default_text)
    if value is None:
        raise _Failure(
            f"environment variable {arguments[0]!r} is not set; a default may follow its name"
        )
    return value


def _find_package_share(arguments: _Arguments, context: Context) -> str:
    try:
        return str(context.find_share(arguments[0]))
    except LookupError as error:
        raise _Failure(str(error.args[0] if error.args else error)) from None


def _find_executable(arguments: _Arguments, context: Context) -> str:
    program = shutil.which(arguments[0], path=context.environment.get("PATH"))
    if program is None:
        raise _Failure(f"no executable {arguments[0]!r} on the PATH")
    return program


def _command(arguments: _Arguments, context: Context) -> str:
    command = arguments[0]
    on_stderr = arguments[1] if len(arguments) == 2 else "fail"
    if on_stderr not in ("fail", "ignore", "warn", "capture"):
        raise _Failure(f"on_stderr is {on_stderr!r}; it may be fail, ignore, warn or capture")
    try:
        words = shlex.split(command)
        # In an environment that is not activated, python3 is not the interpreter of the nodes.
        if words[0] == "python3":
            words[0] = sys.executable
        process = subprocess.run(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if on_stderr == "capture" else subprocess.PIPE,
            text=True,
            errors="replace",
            env=context.environment,
            check=False,
        )
    except (OSError, ValueError, IndexError) as error:
        raise _Failure(f"command {command!r} cannot be run: {error}") from None
    stderr = (process.stderr or "").strip()
    if process.returncode == EXIT_CONFIG_ERROR and stderr:
        raise LaunchError(stderr)
    if process.returncode != 0:
        raise _Failure(f"command {command!r} failed with exit code {process.returncode}: {stderr}")
    if stderr and on_stderr == "fail":
        raise _Failure(f"command {command!r} wrote to stderr: {stderr}")
    if stderr and on_stderr == "warn":
        context.warnings.append(f"command {command!r} wrote to stderr: {stderr}")
    return process.stdout


def _dirname(_arguments: _Arguments, context: Context) -> str:
    if not context.open_files:
        raise _Failure("is known only while the file is carried out")
    folder, ros_folder = context.open_files[-1].parent, context.ros_current_file.parent
    if folder != ros_folder:
        raise _Failure(
            f"in and after an <include>, ros2 launch takes this for the included file's "
            f"({ros_folder}); keep it in a variable before: "
            '<let name="here" value="$(dirname)"/>, then $(var here)'
        )
    return str(folder)


def _are_equal(arguments: _Arguments) -> bool:
    left, right = arguments[0], arguments[1]
    truth_values = {"true": True, "1": True, "false": False, "0": False}
    if left.lower() in truth_values and right.lower() in truth_values:
        return truth_values[left.lower()] == truth_values[right.lower()]
    try:
        return math.isclose(float(left), float(right))
    except ValueError:
        return left == right


def _if_else(arguments: _Arguments, _context: Context) -> str:
    if arguments.truth(0):
        return arguments[1]
    return arguments[2] if len(arguments) == 3 else ""


def _as_text(truth: Callable[[_Arguments], bool]) -> Callable[[_Arguments, Context], str]:
    return lambda arguments, _context: str(truth(arguments)).lower()


SUBSTITUTIONS: dict[str, _Substitution] = {
    substitution.usage.split()[0]: substitution
    for substitution in (
        _Substitution("var NAME [DEFAULT]", _var),
        _Substitution("env NAME [DEFAULT]", _env),
        _Substitution("find-pkg-share PACKAGE", _find_package_share),
        _Substitution("find-exec NAME", _find_executable),
        _Substitution("command 'LINE' [ON_STDERR]", _command),
        _Substitution("dirname", _dirname),
        _Substitution("eval 'EXPRESSION'", lambda arguments, _: expression.evaluate(arguments[0])),
        _Substitution("equals A B", _as_text(_are_equal)),
        _Substitution("not-equals A B", _as_text(lambda arguments: not _are_equal(arguments))),
        _Substitution("not A", _as_text(lambda arguments: not arguments.truth(0))),
        _Substitution("and A B", _as_text(lambda args: all([args.truth(0), args.truth(1)]))),
        _Substitution("or A B", _as_text(lambda args: any([args.truth(0), args.truth(1)]))),
        _Substitution("if CONDITION THEN [ELSE]", _if_else),
    )
}
"""What is accepted, by name."""

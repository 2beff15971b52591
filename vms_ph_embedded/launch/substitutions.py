# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The substitutions ``$(...)`` that are accepted, and carrying them out.

Those of ``ros2 launch`` that mean the same with and without ROS 2. Results are text; where a number
or a truth value is required, the text is read as YAML afterwards (values.py).
"""

import difflib
import math
import os
import random
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_embedded.launch import expression, values
from vms_ph_embedded.launch.context import Context
from vms_ph_embedded.launch.errors import NOT_USABLE, LaunchError, Location
from vms_ph_embedded.launch.grammar import Call, Template
from vms_ph_io.settings.bounded_text import read_text


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
        return text(self.templates[index], self.context, self.location)

    def truth(self, index: int) -> bool:
        argument = self[index]
        try:
            return bool(values.coerce(argument, values.BOOL))
        except ValueError:
            raise _Failure(f"{argument!r} is neither true nor false") from None


def text(template: Template, context: Context, location: Location | None = None) -> str:
    """Carry out the substitutions of a template and join the pieces.

    Args:
        template: From ``grammar.parse``.
        context: The variables and files to look up.
        location: Where the template stands, for error messages.

    Raises:
        LaunchError: A variable, file, package or command is missing or fails.
    """
    pieces: list[str] = []
    for part in template:
        if isinstance(part, str):
            pieces.append(part)
            continue
        entry = _checked(part, location)
        try:
            pieces.append(entry.function(_Arguments(part.arguments, context, location), context))
        except (_Failure, expression.ExpressionError) as error:
            raise LaunchError(f"$({part.name}): {error}", location) from None
    context.effort.produce(sum(map(len, pieces)), location)
    return "".join(pieces)


def check_calls(template: Template, location: Location | None) -> None:
    """Refuse unknown substitutions and wrong numbers of arguments, without carrying anything out.

    Raises:
        LaunchError: With the list of what is accepted.
    """
    for part in template:
        if isinstance(part, Call):
            _checked(part, location)
            for argument in part.arguments:
                check_calls(argument, location)


def _checked(call: Call, location: Location | None) -> "_Entry":
    entry = _ENTRIES.get(call.name)
    if entry is None:
        close = difflib.get_close_matches(call.name, _ENTRIES, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise LaunchError(
            f"substitution $({call.name} ...) is not supported; accepted are "
            + ", ".join(sorted(_ENTRIES))
            + hint,
            location,
        )
    if not entry.fewest <= len(call.arguments) <= entry.most:
        raise LaunchError(
            f"$({call.name} ...) has {len(call.arguments)} arguments; write $({entry.usage})",
            location,
        )
    return entry


@dataclass(frozen=True, slots=True)
class _Entry:
    usage: str
    function: Callable[[_Arguments, Context], str]

    @property
    def fewest(self) -> int:
        return len([word for word in self.usage.split()[1:] if not word.startswith("[")])

    @property
    def most(self) -> int:
        return len(self.usage.split()) - 1


def _var(arguments: _Arguments, context: Context) -> str:
    name = arguments[0]
    if name in context.configurations:
        return context.configurations[name]
    if len(arguments) == 2:
        return arguments[1]
    defined = ", ".join(sorted(context.configurations)) or "none"
    raise _Failure(f"no variable {name!r} is set here; set are: {defined}")


def _env(arguments: _Arguments, context: Context) -> str:
    default = arguments[1] if len(arguments) == 2 else None
    value = context.environment.get(arguments[0], default)
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
    line = arguments[0]
    on_stderr = arguments[1] if len(arguments) == 2 else "fail"
    if on_stderr not in ("fail", "ignore", "warn", "capture"):
        raise _Failure(f"on_stderr is {on_stderr!r}; it may be fail, ignore, warn or capture")
    try:
        words = shlex.split(line)
        # In an environment that is not activated, python3 is not the interpreter of the nodes.
        if words[0] == "python3":
            words[0] = sys.executable
        result = subprocess.run(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if on_stderr == "capture" else subprocess.PIPE,
            text=True,
            errors="replace",
            env=context.environment,
            check=False,
        )
    except (OSError, ValueError, IndexError) as error:
        raise _Failure(f"command {line!r} cannot be run: {error}") from None
    complaint = (result.stderr or "").strip()
    if result.returncode == NOT_USABLE and complaint:
        raise LaunchError(complaint)
    if result.returncode != 0:
        raise _Failure(f"command {line!r} failed with exit code {result.returncode}: {complaint}")
    if complaint and on_stderr == "fail":
        raise _Failure(f"command {line!r} wrote to stderr: {complaint}")
    if complaint and on_stderr == "warn":
        context.warnings.append(f"command {line!r} wrote to stderr: {complaint}")
    return result.stdout


def _this_file(kind: str, part: Callable[[Path], Path]) -> Callable[[_Arguments, Context], str]:
    def this(_arguments: _Arguments, context: Context) -> str:
        if not context.files:
            raise _Failure("is known only while the file is carried out")
        mine, for_ros = part(context.file), part(context.file_for_ros)
        if mine != for_ros:
            raise _Failure(
                f"in and after an <include>, ros2 launch takes this for the included file's "
                f"({for_ros}); keep it in a variable before: "
                f'<let name="here" value="$({kind})"/>, then $(var here)'
            )
        return str(mine)

    return this


def _anonymous(arguments: _Arguments, context: Context) -> str:
    key = "anon" + arguments[0]
    if key not in context.configurations:
        name = (
            f"{arguments[0]}_{socket.gethostname()}_{os.getpid()}_{random.randint(0, sys.maxsize)}"
        )
        for character in ".-:":
            name = name.replace(character, "_")
        context.configurations[key] = name
    return context.configurations[key]


def _file_content(arguments: _Arguments, context: Context) -> str:
    try:
        return read_text(arguments[0])
    except (OSError, VmsPhError) as error:
        raise _Failure(f"cannot read {arguments[0]}: {error}") from None


def _eval(arguments: _Arguments, context: Context) -> str:
    if len(arguments) == 2 and arguments[1].strip() not in ("", "math"):
        raise _Failure(f"module {arguments[1]!r} is not available in expressions; only math is")
    return expression.evaluate(
        arguments[0], with_math=len(arguments) == 1 or bool(arguments[1].strip())
    )


def _equal(left: str, right: str) -> bool:
    truths = {"true": True, "1": True, "false": False, "0": False}
    if left.lower() in truths and right.lower() in truths:
        return truths[left.lower()] == truths[right.lower()]
    try:
        return math.isclose(float(left), float(right))
    except ValueError:
        return left == right


def _lower(value: bool) -> str:
    return str(value).lower()


_ENTRIES: dict[str, _Entry] = {
    entry.usage.split()[0]: entry
    for entry in (
        _Entry("var NAME [DEFAULT]", _var),
        _Entry("env NAME [DEFAULT]", _env),
        _Entry("find-pkg-share PACKAGE", _find_package_share),
        _Entry("find-exec NAME", _find_executable),
        _Entry("command 'LINE' [ON_STDERR]", _command),
        _Entry("dirname", _this_file("dirname", lambda file: file.parent)),
        _Entry("filename", _this_file("filename", lambda file: file)),
        _Entry("anon NAME", _anonymous),
        _Entry("file-content PATH", _file_content),
        _Entry("eval 'EXPRESSION' [MODULES]", _eval),
        _Entry("equals A B", lambda arguments, _: _lower(_equal(arguments[0], arguments[1]))),
        _Entry(
            "not-equals A B", lambda arguments, _: _lower(not _equal(arguments[0], arguments[1]))
        ),
        _Entry("not A", lambda arguments, _: _lower(not arguments.truth(0))),
        _Entry(
            "and A B", lambda arguments, _: _lower(all([arguments.truth(0), arguments.truth(1)]))
        ),
        _Entry(
            "or A B", lambda arguments, _: _lower(any([arguments.truth(0), arguments.truth(1)]))
        ),
        _Entry(
            "if CONDITION THEN [ELSE]",
            lambda arguments, _: (
                arguments[1] if arguments.truth(0) else arguments[2] if len(arguments) == 3 else ""
            ),
        ),
    )
}

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The content of a launch file with every variable and condition evaluated, as plain values.

Nothing here runs anything. Tests and the launcher read the same description.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DeclaredArgument:
    """One ``<arg>`` of a launch file.

    Args:
        name: Name in ``name:=value``.
        description: Description; empty if the file has none.
        default: Text in the file, with substitutions; None if a value is required.
        choices: Accepted values; empty for any.
        conditional: Whether it is used only under a condition.
    """

    name: str
    description: str
    default: str | None
    choices: tuple[str, ...]
    conditional: bool


@dataclass(frozen=True, slots=True)
class LogLine:
    """A ``<log>`` line."""

    message: str


@dataclass(frozen=True, slots=True)
class YamlFile:
    """An argument of a command: the path of a file with this text, written when it is started."""

    text: str


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """Package and node names of a process, for tools that list processes.

    Args:
        package: Package of the executable; None if it was given by path.
        executable: Name of the executable.
        name: Name of the node; None if the program sets it.
        namespace: Absolute namespace; None if the program sets it.
    """

    package: str | None
    executable: str
    name: str | None
    namespace: str | None

    @property
    def full_name(self) -> str:
        """The name of the node with its namespace; "/**" when it is not known."""
        if self.name is None or self.namespace is None:
            return "/**"
        return f"{self.namespace.rstrip('/')}/{self.name}"


@dataclass(frozen=True, slots=True)
class ProcessDescription:
    """One process to be run.

    Args:
        name: Name of the process and prefix of its output, as in "simulator-1".
        command: The program and its arguments.
        environment: The whole environment of the process.
        output: Destination of its output: "screen", "log" or "both".
        respawn: Whether it is restarted when it ends by itself.
        respawn_delay: Delay of the restart, s.
        respawn_max_retries: Largest number of restarts; negative: no limit.
        shutdown_on_exit: Whether its end stops the whole launch.
        sigterm_timeout: Seconds from SIGINT to SIGTERM when it is stopped.
        sigkill_timeout: Seconds from SIGTERM to SIGKILL.
        node: Its ROS names; None for an ``<executable>``.
    """

    name: str
    command: tuple[str | YamlFile, ...]
    environment: Mapping[str, str]
    output: str = "log"
    respawn: bool = False
    respawn_delay: float = 0.0
    respawn_max_retries: int = -1
    shutdown_on_exit: bool = False
    sigterm_timeout: float = 5.0
    sigkill_timeout: float = 5.0
    node: NodeIdentity | None = None


@dataclass(frozen=True, slots=True)
class LaunchDescription:
    """A launch file with its arguments applied.

    Args:
        file: The launch file.
        steps: What is logged and started, in the order of the file.
        warnings: Remarks for the user: a misspelt argument, two nodes of one name.
    """

    file: Path
    steps: tuple[LogLine | ProcessDescription, ...]
    warnings: tuple[str, ...] = ()

    @property
    def processes(self) -> tuple[ProcessDescription, ...]:
        """The processes among the steps."""
        return tuple(step for step in self.steps if isinstance(step, ProcessDescription))

    @property
    def messages(self) -> tuple[str, ...]:
        """The log lines among the steps."""
        return tuple(step.message for step in self.steps if isinstance(step, LogLine))

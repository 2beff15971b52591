"""The content of a launch file with every variable and condition evaluated, as plain values.

Nothing here runs anything. A test, ``--print`` and the supervisor read the same description.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vms_ph_embedded.launch.errors import Location


@dataclass(frozen=True, slots=True)
class DeclaredArgument:
    """One ``<arg>`` of a launch file.

    Args:
        name: To be given as ``name:=value``.
        description: In words; empty when the file gives none.
        default: As the file writes it, substitutions included; None when a value must be given.
        choices: The values accepted; empty when any is.
        conditional: Whether it is used only when a condition holds.
    """

    name: str
    description: str
    default: str | None
    choices: tuple[str, ...]
    conditional: bool


@dataclass(frozen=True, slots=True)
class Log:
    """A ``<log>`` line."""

    message: str


@dataclass(frozen=True, slots=True)
class YamlFile:
    """An argument of a command: the path of a file with this text, written when it is started."""

    text: str


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """The ROS side of a process, for tools that show what runs.

    Args:
        package: Of the executable; None when the executable was given by path.
        executable: Its name.
        name: Of the node; None when the program decides.
        namespace: Absolute; None when the program decides.
    """

    package: str | None
    executable: str
    name: str | None
    namespace: str | None


@dataclass(frozen=True, slots=True)
class ProcessDescription:
    """One process to be run.

    Args:
        name: Of the process, as in the prefix of its output: "simulator-1".
        command: The program and its arguments.
        environment: The whole environment of the process.
        working_directory: None for the launcher's own.
        shell: Whether a shell reads the command, joined with spaces.
        output: Where its lines go: "screen", "log", "both", "own_log" or "full".
        respawn: Whether it is started again when it ends by itself.
        respawn_delay: Seconds before that.
        respawn_max_retries: How often at most; negative: without limit.
        shutdown_on_exit: Whether its end stops the whole launch.
        sigterm_timeout: Seconds from SIGINT to SIGTERM when it is stopped.
        sigkill_timeout: Seconds from SIGTERM to SIGKILL.
        node: What it is in ROS; None for an ``<executable>``.
        location: The tag it comes from.
    """

    name: str
    command: tuple[str | YamlFile, ...]
    environment: Mapping[str, str]
    working_directory: str | None = None
    shell: bool = False
    output: str = "log"
    respawn: bool = False
    respawn_delay: float = 0.0
    respawn_max_retries: int = -1
    shutdown_on_exit: bool = False
    sigterm_timeout: float = 5.0
    sigkill_timeout: float = 5.0
    node: NodeIdentity | None = None
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class LaunchDescription:
    """A launch file with its arguments applied.

    Args:
        file: The launch file.
        arguments: Those that it and the files it includes declare, in order.
        steps: What is logged and started, in the order of the file.
        warnings: Remarks for the user: a misspelt argument, two nodes of one name.
    """

    file: Path
    arguments: tuple[DeclaredArgument, ...]
    steps: tuple[Log | ProcessDescription, ...]
    warnings: tuple[str, ...] = ()

    @property
    def processes(self) -> tuple[ProcessDescription, ...]:
        """The processes among the steps."""
        return tuple(step for step in self.steps if isinstance(step, ProcessDescription))

    @property
    def messages(self) -> tuple[str, ...]:
        """The log lines among the steps."""
        return tuple(step.message for step in self.steps if isinstance(step, Log))

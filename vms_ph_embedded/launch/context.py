# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""State while a launch file is evaluated: variables, environment, namespace, files."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vms_ph_embedded.launch.description import DeclaredArgument, Log, ProcessDescription
from vms_ph_embedded.launch.errors import LaunchError, Location

FindShare = Callable[[str], Path]
"""Gives the share folder of a package, or raises LookupError with a sentence."""

Resolver = Callable[[str, str], Sequence[str]]
"""Gives the command that runs (package, executable), or raises LookupError with a sentence."""


MAX_FILES = 1000
"""Largest number of files that includes may read, repeated ones counted each time."""

MOST_CHARACTERS = 2**26
"""Largest number of characters that all substitutions of a launch may give together."""


@dataclass
class Effort:
    """What a launch has read and produced so far, so that no file can make it endless."""

    files: int = 0
    characters: int = 0

    def read_file(self, location: Location | None) -> None:
        """Count an included file.

        Raises:
            LaunchError: There are too many.
        """
        self.files += 1
        if self.files > MAX_FILES:
            raise LaunchError(f"more than {MAX_FILES} files are included", location)

    def produce(self, characters: int, location: Location | None) -> None:
        """Count characters that a substitution is about to give.

        Raises:
            LaunchError: There are too many.
        """
        self.characters += characters
        if self.characters > MOST_CHARACTERS:
            raise LaunchError(
                f"the substitutions give more than {MOST_CHARACTERS} characters", location
            )


@dataclass
class Context:
    """The state of the evaluation, which tags modify in order; the only mutable object of a launch.

    Args:
        find_share: Resolves ``$(find-pkg-share ...)``.
        resolve: Resolves the ``pkg`` and ``exec`` of a node.
        configurations: The variables, by name; arguments are variables too.
        environment: Environment of the processes and of ``$(env ...)``.
        steps: Log lines and processes, in order.
        warnings: Remarks for the user.
        remaps: Remappings of the following nodes.
        parameters: Parameters of the following nodes.
        arguments: Arguments declared by the files so far.
        nodes: Full names of the nodes so far.
        files: Files being evaluated, innermost last.
        file_for_ros: The file that ``ros2 launch`` takes for the current one: it never goes back
            to the including file.
        processes: Number of processes so far.
        effort: What was read and produced so far.
    """

    find_share: FindShare
    resolve: Resolver
    configurations: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    steps: list[Log | ProcessDescription] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    remaps: tuple[tuple[str, str], ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    arguments: list[DeclaredArgument] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)
    files: list[Path] = field(default_factory=list)
    file_for_ros: Path = field(default_factory=Path)
    processes: int = 0
    effort: Effort = field(default_factory=Effort)
    _depth: int = 0
    _depth_of_rules: dict[str, int] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        """The launch file being carried out."""
        return self.files[-1]

    def without_variables(self) -> "Context":
        """The state before anything is evaluated: packages and environment only."""
        return Context(
            self.find_share, self.resolve, environment=self.environment, effort=self.effort
        )

    def next_name(self, name: str) -> str:
        """The name of the next process: numbered in the order of the file, from one."""
        self.processes += 1
        return f"{name}-{self.processes}"

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Restore variables, environment, namespace and rules at the end of a block."""
        configurations, environment = dict(self.configurations), dict(self.environment)
        remaps, parameters, depths = self.remaps, self.parameters, dict(self._depth_of_rules)
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            self.configurations, self.environment = configurations, environment
            self.remaps, self.parameters, self._depth_of_rules = remaps, parameters, depths

    def add_remap(self, source: str, target: str, location: Location) -> None:
        """A remapping of every node from here to the end of the scope."""
        self._note_rule("set_remap", location)
        self.remaps = (*self.remaps, (source, target))

    def add_parameter(self, name: str, value: str, location: Location) -> None:
        """A parameter of every node from here to the end of the scope."""
        self._note_rule("set_parameter", location)
        self.parameters = (*self.parameters, (name, value))

    def _note_rule(self, tag: str, location: Location) -> None:
        """Refuse the one arrangement in which a scope does not end these rules in ``ros2 launch``.

        There, a rule added inside a group to rules from outside stays after the group. Whatever we
        did, it would be wrong for one of the two launchers or for the reader of the file.
        """
        if self._depth_of_rules.setdefault(tag, self._depth) < self._depth:
            raise LaunchError(
                f"this <{tag}> stands in a group, another <{tag}> before the group: ros2 launch "
                "would carry this one on after the group. Put the earlier one into a group too",
                location,
            )

    @contextmanager
    def inside(self, file: Path, location: Location | None) -> Iterator[None]:
        """Carry out another file; variables stay as it leaves them, as in ``ros2 launch``."""
        if file in self.files:
            chain = " -> ".join(f.name for f in (*self.files, file))
            raise LaunchError(f"a file includes itself: {chain}", location)
        self.files.append(file)
        self.file_for_ros = file
        try:
            yield
        finally:
            self.files.pop()

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""State while a launch file is evaluated: variables, environment, namespace, files."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vms_ph_embedded.launch.description import Log, ProcessDescription
from vms_ph_embedded.launch.errors import LaunchError, Location

FindShare = Callable[[str], Path]
"""Gives the share folder of a package, or raises LookupError with a sentence."""

Resolver = Callable[[str, str], Sequence[str]]
"""Gives the command that runs (package, executable), or raises LookupError with a sentence."""

MAX_FILES = 1000
"""Largest number of files that includes may read, repeated ones counted each time."""


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
        parameters: Parameters of the following nodes.
        outer_parameters: Those of them that come from outside the current group.
        declared: Names of the arguments declared so far.
        nodes: Full names of the nodes so far.
        files: Files being evaluated, innermost last.
        file_for_ros: The file that ``ros2 launch`` takes for the current one: it never goes back
            to the including file.
        processes: Number of processes so far.
        files_read: Number of files read so far.
    """

    find_share: FindShare
    resolve: Resolver
    configurations: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    steps: list[Log | ProcessDescription] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    parameters: tuple[tuple[str, str], ...] = ()
    outer_parameters: tuple[tuple[str, str], ...] = ()
    declared: list[str] = field(default_factory=list)
    nodes: set[str] = field(default_factory=set)
    files: list[Path] = field(default_factory=list)
    file_for_ros: Path = field(default_factory=Path)
    processes: int = 0
    files_read: int = 0

    def without_variables(self) -> "Context":
        """The state before anything is evaluated: packages and environment only."""
        return Context(
            self.find_share,
            self.resolve,
            environment=self.environment,
            files=list(self.files),
            files_read=self.files_read,
        )

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Restore variables, environment, namespace and parameters at the end of a block."""
        configurations, environment = dict(self.configurations), dict(self.environment)
        parameters, outer = self.parameters, self.outer_parameters
        self.outer_parameters = parameters
        try:
            yield
        finally:
            self.configurations, self.environment = configurations, environment
            self.parameters, self.outer_parameters = parameters, outer

    @contextmanager
    def include(self, file: Path, location: Location | None) -> Iterator[None]:
        """Carry out another file; variables stay as it leaves them, as in ``ros2 launch``."""
        self.files_read += 1
        if self.files_read > MAX_FILES:
            raise LaunchError(f"more than {MAX_FILES} files are included", location)
        if file in self.files:
            chain = " -> ".join(f.name for f in (*self.files, file))
            raise LaunchError(f"a file includes itself: {chain}", location)
        self.files.append(file)
        self.file_for_ros = file
        try:
            yield
        finally:
            self.files.pop()

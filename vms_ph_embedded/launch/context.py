# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""State while a launch file is evaluated: variables, environment, namespace, files."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vms_ph_embedded.launch.description import LogLine, ProcessDescription
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
        declared_names: Names of the arguments declared so far.
        node_names: Full names of the nodes so far.
        open_files: Files being evaluated, innermost last.
        ros_current_file: The file that ``ros2 launch`` takes for the current one: it never
            goes back to the including file.
        process_count: Number of processes so far.
        files_read: Number of files read so far.
    """

    find_share: FindShare
    resolve: Resolver
    configurations: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    steps: list[LogLine | ProcessDescription] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    parameters: tuple[tuple[str, str], ...] = ()
    outer_parameters: tuple[tuple[str, str], ...] = ()
    declared_names: list[str] = field(default_factory=list)
    node_names: set[str] = field(default_factory=set)
    open_files: list[Path] = field(default_factory=list)
    ros_current_file: Path = field(default_factory=Path)
    process_count: int = 0
    files_read: int = 0

    def without_variables(self) -> "Context":
        """The state before anything is evaluated: packages and environment only."""
        return Context(
            self.find_share,
            self.resolve,
            environment=self.environment,
            open_files=list(self.open_files),
            files_read=self.files_read,
        )

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Restore variables, environment, namespace and parameters at the end of a block."""
        configurations, environment = dict(self.configurations), dict(self.environment)
        parameters, outer_parameters = self.parameters, self.outer_parameters
        self.outer_parameters = parameters
        try:
            yield
        finally:
            self.configurations, self.environment = configurations, environment
            self.parameters, self.outer_parameters = parameters, outer_parameters

    @contextmanager
    def include(self, file: Path, location: Location | None) -> Iterator[None]:
        """Carry out another file; variables stay as it leaves them, as in ``ros2 launch``."""
        self.files_read += 1
        if self.files_read > MAX_FILES:
            raise LaunchError(f"more than {MAX_FILES} files are included", location)
        if file in self.open_files:
            chain = " -> ".join(open_file.name for open_file in (*self.open_files, file))
            raise LaunchError(f"a file includes itself: {chain}", location)
        self.open_files.append(file)
        self.ros_current_file = file
        try:
            yield
        finally:
            self.open_files.pop()

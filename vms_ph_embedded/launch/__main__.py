# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m vms_ph_embedded.launch FILE [name:=value ...]``: what ``ros2 launch FILE`` does."""

import argparse
import shlex
import sys

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_embedded.launch import load, show_arguments
from vms_ph_embedded.launch.description import LaunchDescription, ProcessDescription, YamlFile
from vms_ph_embedded.launch.launcher import Launcher


def main() -> int:
    """Run a launch file from the command line.

    Returns:
        The exit code: of the launch, or 1 when the file or the arguments are not accepted.
    """
    parser = argparse.ArgumentParser(
        prog="python -m vms_ph_embedded.launch",
        description="Run a launch file without ROS 2. Ctrl-C stops every process it started.",
    )
    parser.add_argument("file", help="a *.launch.xml file")
    parser.add_argument("arguments", nargs="*", help="its arguments: name:=value")
    parser.add_argument(
        "-s",
        "--show-args",
        action="store_true",
        help="list the arguments of the launch file and exit",
    )
    parser.add_argument("-p", "--print", action="store_true", help="print the actions and exit")
    options = parser.parse_intermixed_args()
    try:
        if options.show_args:
            print(show_arguments(options.file))
            return 0
        description = load(options.file, options.arguments)
    except VmsPhError as error:
        print(error, file=sys.stderr)
        return 1
    if options.print:
        print(show(description))
        return 0
    return Launcher(description).run()


def show(description: LaunchDescription) -> str:
    """The actions of a launch, as text."""
    lines = [f"warning: {warning}" for warning in description.warnings]
    for step in description.steps:
        if isinstance(step, ProcessDescription):
            words = [
                f"<{w.text!r}>" if isinstance(w, YamlFile) else shlex.quote(w) for w in step.command
            ]
            lines.append(f"{step.name}: {' '.join(words)}")
        else:
            lines.append(f"log: {step.message}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

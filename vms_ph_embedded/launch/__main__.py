# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""``python -m vms_ph_embedded.launch FILE [name:=value ...]``: what ``ros2 launch FILE`` does."""

import argparse
import sys

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_embedded.launch import Launcher, load, show_arguments


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
    options = parser.parse_intermixed_args()
    try:
        if options.show_args:
            print(show_arguments(options.file))
            return 0
        description = load(options.file, options.arguments)
    except VmsPhError as error:
        print(error, file=sys.stderr)
        return 1
    return Launcher(description).run()


if __name__ == "__main__":
    sys.exit(main())

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Runs a program by its name: ``python3 -m vms_ph_nodes simulator --ros-args ...``."""

import sys
from importlib import import_module

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_io.wings import find_program

if __name__ == "__main__":
    del sys.argv[0]
    try:
        module = find_program("".join(sys.argv[:1]))
    except VmsPhError as error:
        sys.exit(f"error: {error}")
    import_module(module).main()

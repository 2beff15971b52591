# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The builds of the C++ core that are tested; as a program it makes both."""

import contextlib
import os
from pathlib import Path

from vms_ph_io.build import native_build


def plain() -> Path:
    """Build what users get, with its tests; return the folder.

    Those of the host of Python objects are built with the sanitizers only.
    """
    from vms_ph_studies.benchmarks.native import PROGRAMS

    targets = ("vms_ph_native_module", "core_tests", *PROGRAMS)
    return native_build.build(tests=True, targets=targets)


def sanitized(*targets: str) -> Path:
    """Build for debugging, so that Eigen checks every size and index as well."""
    return native_build.build(
        native_build.FOLDER.with_name("native-sanitized"),
        bindings=False,
        tests=True,
        sanitize=True,
        build_type="Debug",
        targets=targets or ("all",),
    )


def sanitized_host() -> Path:
    """Build the host of Python objects and its tests: what has threads and shared memory."""
    return sanitized("python_host_tests")


if __name__ == "__main__":
    with contextlib.suppress(PermissionError):  # it is the leader of its group already
        os.setpgrp()
    plain()
    sanitized_host()

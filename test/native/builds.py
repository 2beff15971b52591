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
    return _sanitized("native-sanitized", "ON", *(targets or ("all",)))


def sanitized_host() -> Path:
    """Build the host of Python objects and its tests: what has threads and shared memory."""
    return sanitized("python_host_tests")


def sanitized_module() -> Path:
    """Build what Python imports."""
    return _sanitized("native-sanitized-module", "ON", "vms_ph_native_module", bindings=True)


def thread_sanitized_host() -> Path:
    """Build the host of Python objects for the sanitizer of threads."""
    return _sanitized("native-threads", "thread", "python_host_tests")


def _sanitized(folder: str, sanitize: str, *targets: str, bindings: bool = False) -> Path:
    return native_build.build(
        native_build.FOLDER.with_name(folder),
        bindings=bindings,
        tests=not bindings,
        sanitize=sanitize,
        build_type="Debug",
        targets=targets,
    )


if __name__ == "__main__":
    with contextlib.suppress(PermissionError):  # it is the leader of its group already
        os.setpgrp()
    plain()
    sanitized_host()

"""The builds of the C++ core that are tested; as a program it makes both, behind other work."""

import os
from pathlib import Path

from vms_ph_io import native_build


def plain() -> Path:
    """Build what users get, with its tests; return the folder."""
    return native_build.build(tests=True)


def sanitized() -> Path:
    """Build for debugging, so that Eigen checks every size and index as well."""
    folder = native_build.FOLDER.with_name("native-sanitized")
    return native_build.build(folder, bindings=False, tests=True, sanitize=True, build_type="Debug")


if __name__ == "__main__":
    os.nice(19)
    plain()
    sanitized()

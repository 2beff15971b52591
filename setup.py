# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Installs the shared files (interfaces, launch files, robots) beside the Python packages.

Everything else is in pyproject.toml. An editable install leaves them out: it finds them in the
checkout, where they cannot be out of date.
"""

import sys
from pathlib import Path

from setuptools import find_packages, setup

SHARED = ("msg", "srv", "launch", "urdf", "config", "rviz")
ROOT = Path(__file__).parent


def shared_files() -> list[tuple[str, list[str]]]:
    if "editable_wheel" in sys.argv:
        return []
    files: list[tuple[str, list[str]]] = [("share/vms_ph", ["package.xml"])]
    for folder in SHARED:
        for directory in [
            ROOT / folder,
            *sorted(p for p in (ROOT / folder).rglob("*") if p.is_dir()),
        ]:
            here = sorted(str(p.relative_to(ROOT)) for p in directory.glob("*") if p.is_file())
            if here:
                files.append((f"share/vms_ph/{directory.relative_to(ROOT)}", here))
    return files


setup(
    packages=find_packages(include=["vms_ph_*"]),
    package_data={"": ["py.typed", "*.srv", "*.msg"]},
    data_files=shared_files(),
)

# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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

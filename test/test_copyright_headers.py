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

"""Every source file starts with the copyright header that ament_copyright asks for."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOTICE = "Copyright 2026 The vms_ph authors"
LICENSE = 'Licensed under the Apache License, Version 2.0 (the "License");'
TOKENS = {".cpp": "//", ".hpp": "//", ".h": "//", ".c": "//", ".py": "#", ".cmake": "#"}
# What is built or installed here, beside folders that start with a dot or an underscore.
MADE = {"build", "dist", "install", "log"}


def test_every_source_file_starts_with_the_copyright_header() -> None:
    missing, checked = [], 0
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if f[0] not in "._" and f not in MADE]
        for name in files:
            path = Path(folder, name)
            token = TOKENS.get(path.suffix)
            if token is None or path.stat().st_size == 0:
                continue
            checked += 1
            lines = path.read_text(encoding="utf-8").splitlines()
            start = 1 if lines[0].startswith("#!") else 0
            wanted = [f"{token} {NOTICE}", token, f"{token} {LICENSE}"]
            if lines[start : start + 3] != wanted:
                missing.append(str(path.relative_to(ROOT)))
    assert not missing, f"give these the header of {Path(__file__).name}: {missing[:20]}"
    assert checked > 1000

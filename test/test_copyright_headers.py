# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Every source file starts with its two lines of copyright and license."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADER = ("Copyright The vms_ph authors", "SPDX-License-Identifier: Apache-2.0")
COMMENTS = {".cpp": "//", ".hpp": "//", ".h": "//", ".c": "//", ".py": "#", ".cmake": "#"}


def test_every_source_file_starts_with_copyright_and_license() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    missing, checked = [], 0
    for path in map(Path, listed.stdout.splitlines()):
        comment = COMMENTS.get(path.suffix)
        if comment is None or not (ROOT / path).is_file() or (ROOT / path).stat().st_size == 0:
            continue
        checked += 1
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        first = 1 if lines[0].startswith("#!") else 0
        if lines[first : first + 2] != [f"{comment} {line}" for line in HEADER]:
            missing.append(str(path))
    assert not missing, f"give these the two lines of {Path(__file__).name}: {missing[:20]}"
    assert checked > 1000

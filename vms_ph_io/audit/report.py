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

"""All files of an audit in one folder."""

import json
from pathlib import Path

from vms_ph_dynamics.errors import VmsPhError

from .audit import Audit
from .document import document
from .page import write_page
from .picture import draw
from .tables import write_bag, write_csv


def write_report(audit: Audit, folder: Path) -> list[Path]:
    """Write audit.html, audit.png, audit.csv, audit.json and the bag ``derived``.

    Args:
        audit: the audit.
        folder: made if it does not exist; it must not contain a bag ``derived``.

    Raises:
        VmsPhError: the folder cannot be written, or has such a bag.
        ImportError: plotly is not installed.
    """
    files = [folder / f"audit.{suffix}" for suffix in ("html", "png", "csv", "json")]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_page(audit, files[0])
        draw(audit, files[1])
        write_csv(audit, files[2])
        files[3].write_text(json.dumps(document(audit), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise VmsPhError(f"{folder} cannot be written: {error.strerror or error}") from None
    write_bag(audit, folder / "derived")
    return [*files, folder / "derived"]

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

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

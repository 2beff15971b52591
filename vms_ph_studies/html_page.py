# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Pages of HTML in one file: tables and a style."""

import os
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1250px; margin: 2em auto; padding: 0 1em }
table { border-collapse: collapse; margin: 0.5em 0 }
td, th { border-bottom: 1px solid #ddd; padding: 0.15em 0.8em; text-align: left }
td.number { text-align: right; font-variant-numeric: tabular-nums }
pre { background: #f4f4f4; padding: 0.8em; overflow-x: auto }
img { max-width: 100% }
"""


def write_page(title: str, parts: Iterable[str], file: Path) -> Path:
    """Write a page of some parts, at once or not at all, and return its file."""
    page = (
        "<!doctype html>\n<html lang='en'><head><meta charset='utf-8'>"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )
    partial_file = file.with_suffix(".part")
    partial_file.write_text(page, encoding="utf-8")
    os.replace(partial_file, file)
    return file


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts; numbers stand to the right."""
    header_cells = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "\n".join(
        "<tr>" + "".join(f"<td{_cell_class(cell)}>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{header_cells}</tr>\n{body}</table>"


def _cell_class(cell: str) -> str:
    return " class='number'" if re.fullmatch(r"[-+\d.einfa]+", cell) else ""

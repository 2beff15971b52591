# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Text files of golden vectors: a key a line, then numbers or words; a dash stands for nothing.

``native/test/golden.hpp`` reads the same in C++.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent.parent / "golden" / "native"


@dataclass(frozen=True)
class Line:
    """A key with what follows it: words, or numbers in twelve digits."""

    key: str
    text: str

    @property
    def numbers(self) -> np.ndarray:
        return np.array([float(word) for word in self.text.split()])


def line(key: str, content: object) -> Line:
    if isinstance(content, str):
        return Line(key, content)
    return Line(key, " ".join(f"{x:.12g}" for x in np.ravel(np.asarray(content, dtype=float))))


def write(path: Path, title: str, lines: Iterable[Line]) -> None:
    text = [f"# {title}", *(f"{entry.key} {entry.text}".rstrip() for entry in lines)]
    path.write_text("\n".join(text) + "\n")


def read(path: Path) -> list[Line]:
    rows = path.read_text().splitlines()
    return [Line(*row.partition(" ")[::2]) for row in rows if row and not row.startswith("#")]

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bounds on MJCF files, checked before MuJoCo reads them.

A short MJCF can expand: ``<replicate>`` repeats its content, ``<include>`` and ``<model>`` read
further files, and numbers give the sizes of what is generated.
"""

import math
import os
from pathlib import Path
from xml.parsers import expat

from vms_ph_dynamics import ModelError

from ...settings.bounded_text import MAX_FILE_BYTES, read_bytes

MAX_DEPTH = 512
"""Largest nesting depth of elements; bodies of a chain are nested."""

MAX_ELEMENTS = 200_000
"""Largest number of elements after includes and repetitions; published robots have 5000."""

MAX_FILES = 200
"""Largest number of files that include each other."""

MAX_GENERATED = 100.0
"""Largest parameter of a generated mesh."""

_DEFORMABLE_TAGS = ("flexcomp", "composite", "flex", "skin")
_GENERATED_TAGS = ("mesh", "hfield", "texture")


def check_bounds(path: Path) -> None:
    """Check an MJCF file and those that it includes against the bounds.

    Raises:
        ModelError: a file exceeds a bound, is not well-formed, or has deformable bodies.
    """
    _Scan(path.parent).scan(path, (), 1.0)


class _Scan:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file_count = self._byte_count = 0
        self._element_count = 0.0

    def scan(self, path: Path, ancestors: tuple[Path, ...], multiplicity: float) -> None:
        real_path = Path(os.path.realpath(path))
        if real_path in ancestors:
            raise ModelError(f"{path.name} includes itself")
        self._file_count += 1
        if self._file_count > MAX_FILES:
            raise ModelError(f"it includes more than {MAX_FILES} files")
        content = read_bytes(path)
        self._byte_count += len(content)
        if self._byte_count > MAX_FILE_BYTES:
            raise ModelError(f"its files have more than {MAX_FILE_BYTES} bytes")
        includes: list[tuple[str, float]] = []
        multiplicities = [multiplicity]

        def start_element(tag: str, attributes: dict[str, str]) -> None:
            if len(multiplicities) > MAX_DEPTH:
                raise ModelError(f"its elements are nested more than {MAX_DEPTH} deep")
            _check_element(tag, attributes)
            count = _number(attributes.get("count", "1")) if tag == "replicate" else 1.0
            multiplicities.append(multiplicities[-1] * max(count, 1.0))
            self._element_count += multiplicities[-1]
            if not self._element_count <= MAX_ELEMENTS:
                raise ModelError(
                    f"it has more than {MAX_ELEMENTS} elements with all files and repetitions"
                )
            if tag in ("include", "model") and "file" in attributes:
                includes.append((attributes["file"], multiplicities[-1]))

        parser = expat.ParserCreate()
        parser.StartElementHandler = start_element
        parser.EndElementHandler = lambda _tag: multiplicities.pop() and None
        try:
            parser.Parse(content, True)
        except ModelError:  # is a ValueError, too
            raise
        except (expat.ExpatError, ValueError, LookupError) as error:
            raise ModelError(f"{path.name} is not well-formed XML: {error}") from None
        for name, count in includes:
            # MuJoCo takes the folder of the main file, newer ones that of the including file too.
            for folder in (path.parent, self._folder):
                if os.path.exists(folder / name):
                    require_file(folder / name)
                    self.scan(folder / name, (*ancestors, real_path), count)
                    break


def require_file(path: Path) -> None:
    """Check that a path is that of a file, not of a device or pipe, which may have no end.

    Raises:
        ModelError: it is not.
    """
    if not os.path.isfile(path):
        raise ModelError(f"{path} is not a file")


def _check_element(tag: str, attributes: dict[str, str]) -> None:
    if tag in _DEFORMABLE_TAGS[:3]:
        text = f"<{tag}> '{attributes.get('name', attributes.get('prefix', ''))}' is deformable; "
        text += "accepted are rigid bodies: remove it"
        raise ModelError(text)
    if tag in _GENERATED_TAGS:
        for key in ("params", "nrow", "ncol", "width", "height"):
            for word in attributes.get(key, "").split():
                limit = MAX_GENERATED if key == "params" else 1e5
                if not abs(_number(word)) <= limit:
                    raise ModelError(f"{key} of <{tag}> must be at most {limit:g}; given: {word}")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan if not text.strip() else 1.0  # MuJoCo says what is wrong with it

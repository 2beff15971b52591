# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Bounded reading of text files: no path that a user or a file gives can hang a program."""

from pathlib import Path

from vms_ph_dynamics.errors import VmsPhError


class NotTextError(VmsPhError):
    """A file that is not text in UTF-8."""


LARGEST_TEXT = 32 * 2**20
"""Largest accepted size of a text file, bytes; robot descriptions have less than a million."""


def read_bytes(path: str | Path, largest: int = LARGEST_TEXT) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: no such file, or an unreadable one.
        VmsPhError: a path that no file can have, or a file that is too large or endless.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(largest + 1)
    except ValueError as error:  # a null character
        raise VmsPhError(f"{str(path)[:80]!r} is not the path of a file: {error}") from None
    if len(content) > largest:
        raise VmsPhError(f"{path} is too large: at most {largest} bytes are accepted")
    return content


def read_text(path: str | Path, largest: int = LARGEST_TEXT) -> str:
    """Return the content of a file as text, with line feeds for all kinds of line ends.

    Raises:
        OSError: no such file, or an unreadable one.
        NotTextError: a file that is not UTF-8.
        VmsPhError: a file that is too large or endless.
    """
    content = read_bytes(path, largest)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotTextError(
            f"{path} is not UTF-8 text: {error.reason} at byte {error.start}"
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")

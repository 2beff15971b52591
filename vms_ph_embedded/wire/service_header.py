# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The header that rmw_cyclonedds puts before a request or reply: who asked, and which time."""

from __future__ import annotations

import struct

from vms_ph_embedded.interfaces.messages import DecodingError

_HEADER = struct.Struct("<Qq")
_ENCAPSULATION_SIZE = 4  # Cyclone hands out everything in the byte order of this machine
# The header is a multiple of eight bytes long, so the fields after it are aligned as without it.


def add(body: bytes, guid: int, sequence_number: int) -> bytes:
    """CDR bytes with the header before the fields."""
    header = _HEADER.pack(guid, sequence_number)
    return body[:_ENCAPSULATION_SIZE] + header + body[_ENCAPSULATION_SIZE:]


def split(data: bytes) -> tuple[bytes, int, int]:
    """CDR bytes without the header, and what the header held.

    Raises:
        DecodingError: there are fewer bytes than a header has.
    """
    header_end = _ENCAPSULATION_SIZE + _HEADER.size
    if len(data) < header_end:
        raise DecodingError(f"{len(data)} bytes are too few for a request or reply")
    guid, sequence_number = _HEADER.unpack(data[_ENCAPSULATION_SIZE:header_end])
    return data[:_ENCAPSULATION_SIZE] + data[header_end:], guid, sequence_number

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Random numbers that depend on a seed, a name and a number only, on every machine the same."""

import hashlib

_BITS = 53


def uniform(seed: int, name: str, run: int, component: int = 0) -> float:
    """Return a number in the open interval (0, 1).

    It does not depend on other draws: further runs or parameters leave those there are as they are.
    """
    return (_digest(f"{seed}/{name}/{run}/{component}", _BITS) + 0.5) / 2**_BITS


def seed_of(text: str) -> int:
    """Return a seed below 2^63 for a text."""
    return _digest(text, 63)


def identifier_of(text: str) -> str:
    """Return a name of 20 hexadecimal digits for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _digest(text: str, bits: int) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - bits)

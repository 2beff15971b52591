# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Deterministic mutation of bytes and of text with structure."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Sequence

NUMBERS = (
    *(
        b"0 -0 1 -1 0.0 1e308 -1e308 1e-308 5e-324 1e155 1e999 nan NaN inf -inf 2147483648 1e400 "
        b"4294967295 18446744073709551616 1e-16 0x10 1_000 1,5 +1 .5 1e 9**9**9 3.14159265"
    ).split(),
    *(b"", b" ", b"1 2", b"9" * 5000),
)
"""Numbers, and what looks like one, that readers tend to get wrong."""

TEXTS = (
    b"",
    b" ",
    b"\n",
    b"a\nb",
    b"\xc2\xb0",
    b"\xb0",
    b"\x00",
    b"../../../../etc/passwd",
    b"http://127.0.0.1:9/a.stl",
    b"package://no_such_package/a.stl",
    b"package://",
    b"file://",
    b"/dev/zero",
    b"/dev/stdin",
    b"\xf0\x9f\xa6\xbe",
    b"\xed\xa0\x80",
    b"a" * 3000,
    b"&amp;",
    b"&a;",
    b"'\"<>",
    b"%s%n",
    b"{0}",
    b"\\",
)
"""Names, paths and texts that readers tend to get wrong."""

_LENGTHS = (0, 1, 2, 3, 4, 5, 8, 127, 128, 255, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32 - 1)
_LONG_LENGTHS = (*_LENGTHS, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
_DOUBLES = (float("nan"), float("inf"), -float("inf"), 1e308, 1e155, 5e-324, -0.0, 1e9)
_LARGEST = 1 << 20

Rng = random.Random
Operation = Callable[[Rng, bytes], bytes]


def _span(rng: Rng, data: bytes) -> tuple[int, int]:
    begin = rng.randrange(len(data) + 1)
    most = rng.choice((1, 4, 16, 64, len(data)))
    return begin, min(len(data), begin + rng.randint(0, max(most, 1)))


def _flip(rng: Rng, data: bytes) -> bytes:
    if not data:
        return data
    found = bytearray(data)
    found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _byte(rng: Rng, data: bytes) -> bytes:
    i = rng.randrange(len(data) + 1)
    return (
        data[:i] + bytes([rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))]) + data[i + 1 :]
    )


def _number(rng: Rng, data: bytes) -> bytes:
    form = rng.choice(("<B", "<H", "<I", ">I", "<Q", ">Q", "<d", "<f"))
    if form in ("<d", "<f"):
        value: float = rng.choice(_DOUBLES if form == "<d" else _DOUBLES[:3])
    else:
        bits = 8 * struct.calcsize(form)
        value = rng.choice(_LONG_LENGTHS) & (2**bits - 1)
    packed = struct.pack(form, value)
    i = rng.randrange(len(data) + 1)
    if rng.random() < 0.7:
        i -= i % len(packed)  # numbers on the wire are aligned
    return data[:i] + packed + data[i + len(packed) :]


def _cut(rng: Rng, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _remove(rng: Rng, data: bytes) -> bytes:
    i, j = _span(rng, data)
    return data[:i] + data[j:]


def _repeat(rng: Rng, data: bytes) -> bytes:
    i, j = _span(rng, data)
    times = rng.choice((2, 2, 2, 3, 10, 300))
    return data[:j] + data[i:j] * (times - 1) + data[j:]


def _move(rng: Rng, data: bytes) -> bytes:
    i, j = _span(rng, data)
    rest = data[:i] + data[j:]
    k = rng.randrange(len(rest) + 1)
    return rest[:k] + data[i:j] + rest[k:]


BINARY: tuple[Operation, ...] = (
    _flip,
    _flip,
    _byte,
    _number,
    _number,
    _cut,
    _remove,
    _repeat,
    _move,
)

_VALUE = re.compile(rb"""(?<==)\s*("[^"]*"|'[^']*')|(?<=: )[^\n{}\[\],]+""")
_FIGURE = re.compile(rb"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
_TAG = re.compile(rb"<[^<>]*>")
_ELEMENT = re.compile(rb"<(\w[\w:]*)[^<>]*/>|<(\w[\w:]*)[^<>]*>(?:(?!<\2\b).)*?</\2>", re.DOTALL)


def _replace(
    rng: Rng, data: bytes, pattern: re.Pattern[bytes], by: Callable[[bytes], bytes]
) -> bytes:
    found = list(pattern.finditer(data))
    if not found:
        return data
    match = rng.choice(found)
    return data[: match.start()] + by(match[0]) + data[match.end() :]


def _figure(rng: Rng, data: bytes) -> bytes:
    return _replace(rng, data, _FIGURE, lambda _: rng.choice(NUMBERS))


def _value(rng: Rng, data: bytes) -> bytes:
    """Put another value, of the text itself or a strange one, in the place of one."""
    others = [match[0] for match in _VALUE.finditer(data)]

    def by(old: bytes) -> bytes:
        if others and rng.random() < 0.5:
            return rng.choice(others)
        new = rng.choice(TEXTS)
        return old[:1] + new + old[:1] if old[:1] in (b'"', b"'") else new

    return _replace(rng, data, _VALUE, by)


def _element(rng: Rng, data: bytes) -> bytes:
    """Remove, double, nest or move an element."""
    found = list(_ELEMENT.finditer(data))
    if not found:
        return data
    one, other = rng.choice(found), rng.choice(found)
    what = rng.randrange(4)
    if what == 0:
        return data[: one.start()] + data[one.end() :]
    if what == 1:
        return data[: one.end()] + one[0] + data[one.end() :]
    if what == 2:
        return data[: other.start()] + one[0] + data[other.end() :]
    tag = (one[1] or one[2]).split(b":")[-1]
    deep = rng.choice((1, 2, 100, 3000))
    nested = b"<" + tag + b">" + one[0] + b"</" + tag + b">"
    if deep > 2:
        nested = (b"<" + tag + b">") * deep + (b"</" + tag + b">") * deep
    return data[: one.start()] + nested + data[one.end() :]


def _tag(rng: Rng, data: bytes) -> bytes:
    tags = _TAG.findall(data)
    return _replace(rng, data, _TAG, lambda _: rng.choice(tags))


def _line(rng: Rng, data: bytes) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    if rng.random() < 0.3:
        lines[i] = b" " * rng.randrange(6) + lines[i].lstrip()
    else:
        lines.insert(i, lines[j])
    return b"\n".join(lines)


TEXT: tuple[Operation, ...] = (_figure, _figure, _value, _value, _element, _tag, _line)


def mutated(
    rng: Rng, seeds: Sequence[bytes], words: Sequence[bytes] = (), *, text: bool = False
) -> bytes:
    """Return one of the seeds after a few random changes.

    Args:
        rng: source of all choices; the same state gives the same result.
        seeds: valid inputs.
        words: pieces that mean something to the reader; they are inserted as they are.
        text: whether the structure of XML and YAML is changed too, not bytes alone.
    """
    data = rng.choice(seeds)
    for _ in range(1 + int(rng.expovariate(1.1))):
        kind = rng.random()
        if words and kind < 0.15:
            i, j = _span(rng, data)
            data = data[:i] + rng.choice(words) + data[rng.choice((i, j)) :]
        elif kind < 0.2:
            other = rng.choice(seeds)
            data = data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]
        else:
            data = rng.choice(TEXT if text and kind < 0.9 else BINARY)(rng, data)
        data = data[:_LARGEST]
    return data

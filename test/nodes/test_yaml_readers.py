# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""No YAML text, in whichever place it is read, can hang or crash a program."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from vms_ph_dynamics import VmsPhError
from vms_ph_io.bag import BagError
from vms_ph_io.bag.messages import parse_profiles
from vms_ph_io.bag.metadata import BagMetadata
from vms_ph_io.settings.actuators_file import load_actuators
from vms_ph_io.settings.bounded_text import YamlError, parse_yaml

_TENFOLD = "\n".join(
    f"{name}: &{name} [{', '.join([f'*{of}' if of else 'x'] * 10)}]"
    for of, name in zip(("", *"abcdefgh"), "abcdefghi", strict=True)
)

BOMBS = {
    "nested too deeply": "[" * 3000,
    "mappings nested too deeply": "{a: " * 500,
    "an alias of itself": "&a [*a]",
    "aliases of aliases": _TENFOLD,
    "merged aliases of aliases": _TENFOLD.replace("[x", "[{x: 1}"),
    "a number of too many digits": "1" * 5000,
    "an octal number of too many digits": "0" + "1" * 5000,
    "a truth value that is none": "!!bool x",
    "a date that is none": "2001-99-99",
    "a time that is none": "!!timestamp x",
    "an integer that is none": "!!int x",
    "a Python object": "!!python/object/apply:os.getcwd []",
    "a control character": "\0",
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_such_a_text_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(YamlError) as caught:
        parse_yaml(text)
    assert str(caught.value)
    assert "\n" not in str(caught.value)


def test_plain_values_are_those_of_pyyaml() -> None:
    text = "a: &a {x: 1, y: [1.5, true, ~, 'text', 2001-01-01]}\nb: *a\nc: {<<: *a, z: 0b11}\n"
    assert parse_yaml(text) == yaml.safe_load(text)


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(YamlError, match="at most 1048576"):
        parse_yaml(" " * (2**20 + 1))


def _metadata(path: Path) -> None:
    BagMetadata.read(path.rename(path.with_name("metadata.yaml")).parent)


READERS: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "rotors": (load_actuators, VmsPhError),
    "metadata of a bag": (_metadata, BagError),
}
if (
    find_spec("rclpy._arguments") is not None
):  # the embedded runtime; a ROS 2 has readers of its own
    from rclpy._arguments import parse as parse_arguments
    from rclpy.exceptions import RCLError

    from vms_ph_embedded.commands.message_text import parse

    READERS["values of a message"] = (lambda path: parse(path.read_text()), VmsPhError)
    READERS["parameter file"] = (
        lambda path: parse_arguments(["n", "--ros-args", "--params-file", str(path)]),
        RCLError,
    )


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", [b"[" * 3000, b"1" * 5000, b"a: !!bool x", b"a: \xb0"])
def test_every_reader_refuses_it_with_its_own_error(
    reader: str, text: bytes, tmp_path: Path
) -> None:
    read, error = READERS[reader]
    path = tmp_path / "text.yaml"
    path.write_bytes(text)
    if reader == "values of a message" and b"\xb0" in text:
        return  # arrives as text, not as a file
    with pytest.raises(error):
        read(path)


@pytest.mark.parametrize("reader", sorted(READERS.keys() & {"rotors", "parameter file"}))
def test_an_endless_file_is_refused(reader: str) -> None:
    read, error = READERS[reader]
    with pytest.raises(error, match="too large"):
        read(Path("/dev/zero"))


def test_a_profile_that_is_no_yaml_is_skipped() -> None:
    assert parse_profiles("[" * 3000) == ()

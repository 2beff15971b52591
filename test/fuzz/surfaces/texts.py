# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""YAML texts: values of messages on the command line, schemas, rotors, fluids and bag metadata."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from fuzz.surface import Surface
from fuzz.surfaces.cdr import types
from fuzz.surfaces.launch import YAML_WORDS

from vms_ph_dynamics import VmsPhError
from vms_ph_embedded.commands.message_text import parse, set_fields, to_yaml
from vms_ph_embedded.interfaces.messages import serialize
from vms_ph_io import share_directory
from vms_ph_io.bag.messages import parse_profiles
from vms_ph_io.bag.metadata import BagMetadata
from vms_ph_io.settings.actuators_file import load_actuators
from vms_ph_io.settings.fluid_file import load_fluid

_METADATA = """rosbag2_bagfile_information:
  version: 9
  storage_identifier: mcap
  duration: {nanoseconds: 1000}
  starting_time: {nanoseconds_since_epoch: 1000}
  message_count: 3
  topics_with_message_count:
    - topic_metadata:
        name: /a
        type: std_msgs/msg/String
        serialization_format: cdr
        offered_qos_profiles:
          - history: keep_last
            depth: 10
            reliability: 1
            durability: volatile
            deadline: {sec: 9223372036, nsec: 854775807}
            lifespan: {sec: 9223372036, nsec: 854775807}
            liveliness: automatic
            liveliness_lease_duration: {sec: 9223372036, nsec: 854775807}
            avoid_ros_namespace_conventions: false
        type_description_hash: RIHS01_0
      message_count: 3
  compression_format: ""
  compression_mode: ""
  relative_file_paths: [a_0.mcap]
  files:
    - path: a_0.mcap
      starting_time: {nanoseconds_since_epoch: 1000}
      duration: {nanoseconds: 1000}
      message_count: 3
  custom_data: {a: b}
  ros_distro: jazzy
"""


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="vms_ph_fuzz_"))


def _file(data: bytes, name: str = "text.yaml") -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path


def _values(data: bytes) -> None:
    """Values of the fields of a message, as for ``vms-ph topic pub``."""
    kinds = types()
    kind = kinds[int.from_bytes(data[:2], "little") % len(kinds)]
    message = set_fields(kind(), parse(data[4:].decode(errors="replace")))
    serialize(message)
    to_yaml(message)


def _value_seeds() -> list[bytes]:
    return [
        number.to_bytes(4, "little") + to_yaml(kind()).encode()
        for number, kind in enumerate(types())
    ]


def _config(*folders: str) -> list[bytes]:
    config = share_directory() / "config"
    return [
        path.read_bytes() for name in folders for path in sorted((config / name).glob("*.yaml"))
    ]


def _vehicle(data: bytes) -> None:
    """As rotors and as a fluid."""
    path = _file(data)
    refused: list[VmsPhError] = []
    for read in (load_actuators, load_fluid):
        try:
            read(path)
        except VmsPhError as error:
            refused.append(error)
    if len(refused) == 2:
        raise refused[0]


def _metadata(data: bytes) -> None:
    _file(data, "metadata.yaml")
    found = BagMetadata.read(_folder())
    found.as_text()
    assert all(isinstance(topic.message_count, int) for topic in found.topics)


def _qos(data: bytes) -> None:
    parse_profiles(data.decode(errors="replace"))


def _qos_seeds() -> list[bytes]:
    lines: list[Any] = _METADATA.split("\n")
    begin = next(i for i, line in enumerate(lines) if "history" in line)
    return ["\n".join(line[10:] for line in lines[begin : begin + 9]).encode()]


VALUES = Surface("values", _values, _value_seeds, YAML_WORDS, text=True, short=30, long=20_000)
VEHICLES = Surface(
    "vehicles", _vehicle, lambda: _config("actuators", "fluids"), YAML_WORDS, text=True, short=12,
    long=8_000,
)  # fmt: skip
METADATA = Surface(
    "metadata", _metadata, lambda: [_METADATA.encode()], YAML_WORDS, text=True, short=12,
    long=8_000,
)  # fmt: skip
QOS = Surface("qos", _qos, _qos_seeds, YAML_WORDS, text=True, short=20, long=10_000)

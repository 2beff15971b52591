# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Definitions and hashes of message types."""

from pathlib import Path

import pytest
from bag_samples import SHARE
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from vms_ph_io.bag import BagError, MessageTypes


@pytest.mark.parametrize(
    ("type_name", "hash_"),
    [
        ("std_msgs/msg/String", "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"),
        # A type with a char, which ROS 2 treats as uint8.
        ("std_msgs/msg/Char", "3ad2d04dd29ba19d04b16659afa3ccaedd691914b02a64e82e252f2fa6a586a9"),
        (
            "service_msgs/msg/ServiceEventInfo",
            "41bcbbe07a75c9b52bc96bfd5c24d7f0fc0a08c0cb7921b3373c5732345a6f45",
        ),
        (
            "sensor_msgs/msg/JointState",
            "a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e",
        ),
    ],
)
def test_the_hash_is_that_of_a_ros2_installation(
    type_name: str, hash_: str, types: MessageTypes
) -> None:
    assert types.definition(type_name).hash == f"RIHS01_{hash_}"


@pytest.mark.parametrize("file", sorted((SHARE / "msg").glob("*.msg")), ids=lambda f: f.stem)
def test_our_definitions_keep_their_comments_and_are_self_contained(
    file: Path, types: MessageTypes
) -> None:
    name = f"vms_ph/msg/{file.stem}"
    definition = types.definition(name)
    assert definition.text.startswith(file.read_text().rstrip())
    assert definition.encoding == "ros2msg"
    alone = get_typestore(Stores.EMPTY)
    alone.register(get_types_from_msg(definition.text, name))
    assert alone.hash_rihs01(name) == definition.hash
    assert "std_msgs/msg/Header" in alone.fielddefs


def test_a_type_that_uses_another_one_includes_its_comments(tmp_path: Path) -> None:
    (tmp_path / "Inner.msg").write_text("float64 x  # the inner remark\n")
    (tmp_path / "Outer.msg").write_text("Inner[2] pair  # the outer remark\n")
    types = MessageTypes()
    assert types.register_folder("mine", tmp_path) == ("mine/msg/Inner", "mine/msg/Outer")
    text = types.definition("mine/msg/Outer").text
    assert text == (
        "Inner[2] pair  # the outer remark\n" + "=" * 80 + "\n"
        "MSG: mine/Inner\nfloat64 x  # the inner remark\n"
    )


def test_an_unknown_type_is_rejected_with_the_way_to_register_it(types: MessageTypes) -> None:
    with pytest.raises(BagError, match=r"'sensor_msgs/JointState' is not known; register"):
        types.definition("sensor_msgs/JointState")


@pytest.mark.parametrize("text", ["float64", "nonsense!"])
def test_a_malformed_definition_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "Bad.msg").write_text(text)
    with pytest.raises(BagError, match="malformed"):
        MessageTypes().register_folder("mine", tmp_path)


def test_a_registered_type_cannot_change(tmp_path: Path) -> None:
    types, file = MessageTypes(), tmp_path / "One.msg"
    file.write_text("float64 x\n")
    types.register_folder("mine", tmp_path)
    types.register_folder("mine", tmp_path)
    file.write_text("float32 x\n")
    with pytest.raises(BagError, match="different definition"):
        types.register_folder("mine", tmp_path)


def test_a_folder_without_definitions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BagError, match=r"no \.msg files"):
        MessageTypes().register_folder("mine", tmp_path)

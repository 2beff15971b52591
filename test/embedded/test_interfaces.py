# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Every interface of the store: its bytes, its hash, its class."""

import hashlib
import importlib
import json
import random
from pathlib import Path

import numpy as np
import pytest
from vms_ph.msg import Energy, PortEnergy
from vms_ph.srv import GetDynamics

from vms_ph_embedded.interfaces import messages, store
from vms_ph_embedded.interfaces.names import STANDARD_PACKAGES

# The hash of every type, and a digest of the bytes of five random messages of each, as a ROS 2
# Jazzy with rmw_cyclonedds gives them.
JAZZY = json.loads(Path(__file__).with_name("golden").joinpath("jazzy_types.json").read_text())


def every_type():
    for package in STANDARD_PACKAGES:
        yield from (f"{package}/msg/{name}" for name in store.interface_names(package, "msg"))
        for name in store.interface_names(package, "srv"):
            yield from (f"{package}/srv/{name}_{part}" for part in ("Request", "Response"))


def random_message(cls, rng):
    message = cls()
    for name, kind in cls.get_fields_and_field_types().items():
        setattr(message, name, random_value(kind, rng))
    return message


def random_value(kind, rng):
    if kind.startswith("sequence<"):
        inner, _, limit = kind[len("sequence<") : -1].partition(", ")
        count = rng.randrange(min(int(limit or 5), 5) + 1)
        return [random_scalar(inner, rng) for _ in range(count)]
    if kind.endswith("]"):
        inner, length = kind[:-1].split("[")
        return [random_scalar(inner, rng) for _ in range(int(length))]
    return random_scalar(kind, rng)


def random_scalar(kind, rng):
    if kind == "boolean":
        return rng.random() < 0.5
    if kind == "octet":
        return bytes([rng.randrange(256)])
    if kind.startswith("uint"):
        return rng.randrange(2 ** int(kind[4:]))
    if kind.startswith("int"):
        return rng.randrange(-(2 ** (int(kind[3:]) - 1)), 2 ** (int(kind[3:]) - 1))
    if kind == "float":
        return float(np.float32(rng.uniform(-1e3, 1e3)))
    if kind == "double":
        return rng.uniform(-1e9, 1e9)
    if kind.startswith("string"):
        limit = int(kind[7:-1]) if "<" in kind else 12
        return "".join(
            rng.choice("abcäß€ z") for _ in range(rng.randrange(min(limit, 12) // 3 + 1))
        )
    package, name = kind.split("/")
    return random_message(getattr(importlib.import_module(f"{package}.msg"), name), rng)


def test_the_packages_of_the_store_are_all_served():
    known = {name.split("/")[0] for name in store._store().fielddefs}
    assert {*STANDARD_PACKAGES, "vms_ph"} == known | {"std_srvs", "vms_ph"}


@pytest.mark.parametrize("package", STANDARD_PACKAGES)
def test_messages_of_every_type_survive_serialisation(package):
    for typename in every_type():
        if not typename.startswith(f"{package}/"):
            continue
        cls, rng = messages.message_class(typename), random.Random(typename)
        for _ in range(3):
            message = random_message(cls, rng)
            back = messages.deserialize(messages.serialize(message), cls)
            assert repr(back) == repr(message)
            assert back == message


def test_the_bytes_are_those_of_a_real_ros():
    different = []
    for typename in every_type():
        if typename not in JAZZY:
            continue
        cls, rng = messages.message_class(typename), random.Random(typename)
        data = b"".join(messages.serialize(random_message(cls, rng)) for _ in range(5))
        if hashlib.sha256(data).hexdigest() != JAZZY[typename]["cdr"]:
            different.append(typename)
    assert different == []
    assert len(JAZZY.keys() & set(every_type())) == 182


def test_the_type_hashes_are_those_of_a_real_ros():
    hashes = {name: store.type_hash(name) for name in every_type() if name in JAZZY}
    assert hashes == {name: JAZZY[name]["hash"] for name in hashes}


def test_our_own_interfaces_come_from_their_files():
    assert Energy.__msgtype__ == "vms_ph/msg/Energy"
    assert Energy.get_fields_and_field_types()["header"] == "std_msgs/Header"
    work = PortEnergy(torque=1.5, resets=3)
    assert messages.deserialize(messages.serialize(work), PortEnergy) == work
    response = GetDynamics.Response(success=True, mass_matrix=[1.0, 0.0, 0.0, 1.0])
    back = messages.deserialize(messages.serialize(response), GetDynamics.Response)
    assert list(back.mass_matrix) == [1.0, 0.0, 0.0, 1.0]
    assert GetDynamics.Request().joint_state.name == []


def test_a_default_in_a_definition_is_kept(tmp_path, monkeypatch):
    (tmp_path / "msg").mkdir()
    (tmp_path / "msg" / "Thing.msg").write_text(
        "# a thing\n"
        "uint8 KIND=3     # a constant\n"
        "int32 count 7    # a default\n"
        'string name "it"\n'
        "float64 gain 2\n"
        "bool on true\n"
        "float64[3] axis [0.0, 0.0, 1.0]\n"
        "Other other\n"
        "char letter\n"
    )
    (tmp_path / "msg" / "Other.msg").write_text("builtin_interfaces/Time stamp\n")
    monkeypatch.setitem(store._share_folders, "made_up", tmp_path)
    thing = messages.message_class("made_up/msg/Thing")
    made = thing()
    assert (made.KIND, made.count, made.name, made.gain, made.on) == (3, 7, "it", 2.0, True)
    assert made.axis.tolist() == [0.0, 0.0, 1.0]
    assert thing.get_fields_and_field_types()["other"] == "made_up/Other"
    assert thing.get_fields_and_field_types()["letter"] == "uint8"
    assert thing.COUNT__DEFAULT == 7
    assert messages.deserialize(messages.serialize(made), thing) == made


def test_a_sequence_that_numpy_cannot_pass_on_is_copied():
    from nav_msgs.msg import Odometry

    grid = np.arange(72.0)[::2]
    odometry = Odometry()
    odometry.pose.covariance = grid
    back = messages.deserialize(messages.serialize(odometry), Odometry)
    assert back.pose.covariance.tolist() == grid.tolist()


def test_damaged_bytes_are_refused():
    from sensor_msgs.msg import JointState

    data = messages.serialize(JointState(name=["a"], position=[1.0]))
    for wrong in (data[:20], b"", b"\x07\x07\0\0" + data[4:]):
        with pytest.raises(messages.DecodingError):
            messages.deserialize(wrong, JointState)

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The rclpy of ROS 2 from PyPI, with Fast DDS: an oracle of the contract, and a peer."""

from __future__ import annotations

import inspect
import itertools
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from cyclonedds.core import Policy, Qos
from cyclonedds.idl import make_idl_struct
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

from vms_ph_embedded.interfaces import store
from vms_ph_embedded.interfaces.names import STANDARD_PACKAGES
from vms_ph_embedded.wire.participant import Participant

pytestmark = pytest.mark.wire

_CONTRACT = Path(__file__).with_name("contract")
_PEER = str(Path(__file__).with_name("peer.py"))
_CLONE = str(Path(__file__).parents[2])
_MESSAGES = ("diagnostic", "geometry", "lifecycle", "nav", "sensor", "std", "visualization")
_PACKAGES = ["rclpy", "rmw-fastrtps-cpp", "std-srvs", *(f"{name}-msgs" for name in _MESSAGES)]
_RELEASES = ("jazzy", "kilted")
_SERVICES = ("switch", "get_state", "get_parameters")


class _Prepared(NamedTuple):
    """What of a release is made meanwhile: its Python, and the run of the contract on it."""

    python: Future[Path]
    contract: Future[subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def prepared() -> Iterator[dict[str, _Prepared]]:
    """All releases, each with an environment of its own that is kept.

    They mostly wait, for the network and the clock, and do so at the same time.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        pytest.skip("PyPI has rclpy for Linux on x86-64 only")
    with ThreadPoolExecutor() as pool:
        pythons = {release: pool.submit(_install, release) for release in _RELEASES}
        yield {
            release: _Prepared(python, pool.submit(_run_contract, python))
            for release, python in pythons.items()
        }


def _install(release: str) -> Path:
    folder = Path(sys.prefix) / f"rclpy-{release}"
    python = folder / "bin/python"
    finished = folder / "finished"
    if not finished.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        # numpy and pytest are those of the tests.
        purelib = folder.joinpath(*Path(pytest.__file__).parents[1].relative_to(sys.prefix).parts)
        (purelib / "of_the_tests.pth").write_text(str(Path(pytest.__file__).parents[1]))
        # Few of the modules are imported: they are compiled then.
        install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q"]
        install += ["--no-compile", "--no-warn-conflicts"]
        install += [f"ros-{release}-{name}" for name in _PACKAGES]
        done = subprocess.run(install, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"rclpy of {release} cannot be installed: {done.stderr[-300:]}")
        finished.touch()
    return python


def _run_contract(python: Future[Path]) -> subprocess.CompletedProcess[str]:
    # tf2_ros is not on PyPI.
    files = [str(f) for f in _CONTRACT.glob("test_*.py") if f.name != "test_transforms.py"]
    options = ["-q", "-c", os.devnull, "--confcutdir", str(_CONTRACT.parent)]
    return subprocess.run(
        [str(python.result()), "-m", "pytest", *options, "-p", "no:cacheprovider", *files],
        capture_output=True,
        text=True,
        env=_environment(),
        timeout=600,
    )


def _environment() -> dict[str, str]:
    """Variables for processes of other runtimes, in the domain of this session."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTEST_ADDOPTS")}


@pytest.fixture(scope="module", params=_RELEASES)
def fast_dds(request: pytest.FixtureRequest, prepared: dict[str, _Prepared]) -> _Prepared:
    """A release of ROS 2 with rmw_fastrtps."""
    return prepared[request.param]


class _Conversation(NamedTuple):
    """What an embedded peer and one on Fast DDS report, by how the embedded one is called there.

    `logs` is what the embedded peer said, `overheard` the requests to it as others read them.
    """

    embedded: dict[str, Any]
    fast: dict[str, Any]
    logs: str
    overheard: list[Any]


@pytest.fixture(scope="module")
def conversation(fast_dds: _Prepared, ros_domain: int) -> Iterator[_Conversation]:
    """Two peers that talk, listen, serve and call, and a third that reads along."""
    python = str(fast_dds.python.result())
    third = Participant(ros_domain)
    request_type = make_idl_struct(
        "SetBool_Request_", "std_srvs::srv::dds_::SetBool_Request_", {"data": bool}
    )
    topic = Topic(third.entity, "rq/one/switchRequest", request_type)
    reliable = Policy.Reliability.Reliable(duration(seconds=1))
    v0 = Policy.DataRepresentation(use_cdrv0_representation=True)
    reader = DataReader(third.entity, topic, Qos(reliable, v0, Policy.History.KeepAll))
    commands = (
        [sys.executable, _PEER, "one", "two", _CLONE],
        [python, _PEER, "two", "one"],
    )
    pipe = subprocess.PIPE
    peers = [
        subprocess.Popen(c, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=_environment())
        for c in commands
    ]
    try:
        met = [peer.stdout.readline() for peer in peers if peer.stdout is not None]
        deadline = time.monotonic() + 30.0  # s; it only ends what has failed
        while not (overheard := reader.take(100)) and time.monotonic() < deadline:
            time.sleep(0.05)
        ends = [peer.communicate(timeout=60) for peer in peers]
        assert met == ["met\n"] * 2, ends
        outcomes = [json.loads(output) for output, _ in ends]
        yield _Conversation(*outcomes, logs=ends[0][1], overheard=overheard)
    finally:
        for peer in peers:
            peer.kill()
        third.close()


@pytest.mark.parametrize("hearer", ["embedded", "fast"])
def test_topics_names_and_qos_go_both_ways(conversation: _Conversation, hearer: str) -> None:
    outcome = getattr(conversation, hearer)
    assert outcome["heard"]
    assert outcome["knows the other"]
    assert outcome["position"] == [1.0, -2.5]
    assert outcome["effort"] == [3.0, 1e300]
    assert outcome["latched"] == [["once"]]
    assert outcome["types"] == ["sensor_msgs/msg/JointState"]


@pytest.mark.parametrize("hearer", ["embedded", "fast"])
def test_clock_changes_of_parameters_and_transitions_go_both_ways(
    conversation: _Conversation, hearer: str
) -> None:
    outcome = getattr(conversation, hearer)
    assert outcome["time"] == {"embedded": 2_500_000_000, "fast": 1_500_000_000}[hearer]
    assert outcome["gain"] == [2.0]
    assert outcome["told of transitions"]


def test_qos_that_does_not_match_is_warned_of_and_carries_nothing(
    conversation: _Conversation,
) -> None:
    # Messages heard, and publishers matched, of a reliable subscription to best effort.
    assert conversation.embedded["unheard"] == conversation.fast["unheard"] == [0, 0]
    assert "topic '/two/fast', offering incompatible QoS" in conversation.logs
    assert "topic '/one/fast', requesting incompatible QoS" in conversation.logs


def test_a_call_to_it_ends_with_a_sentence_and_sends_nothing(conversation: _Conversation) -> None:
    assert conversation.fast["requests"] == []
    assert list(conversation.embedded["answers"]) == [*_SERVICES]
    for service, answer in conversation.embedded["answers"].items():
        assert f"the service /two/{service} has a peer that runs rmw_fastrtps" in answer
        assert "RMW_IMPLEMENTATION=rmw_cyclonedds_cpp" in answer


def test_a_call_from_it_is_warned_of_and_not_mistaken_for_one_of_ours(
    conversation: _Conversation,
) -> None:
    assert conversation.embedded["requests"] == []
    assert conversation.fast["answers"] == dict.fromkeys(_SERVICES, "no answer")
    for service in _SERVICES:
        assert f"the service /one/{service} has a peer that runs rmw_fastrtps" in conversation.logs


def test_what_identifies_a_request_is_where_cyclone_neither_reads_nor_writes(
    conversation: _Conversation,
) -> None:
    # The bytes are the fields alone: who asks, and which time, is in the inline QoS of RTPS.
    assert conversation.overheard
    assert all(request.data is True for request in conversation.overheard)
    info = conversation.overheard[0].sample_info
    info_fields = {field.name for field in fields(info)}
    assert not {name for name in info_fields if "identity" in name or "sequence" in name}
    assert [*inspect.signature(DataWriter.write).parameters] == ["self", "sample", "timestamp"]


def test_its_types_have_the_hashes_of_ours(fast_dds: _Prepared) -> None:
    # So they are the same, although only their names are compared when endpoints match.
    share = fast_dds.python.result().parents[1] / "share"
    ours, theirs = {}, {}
    for package, kind in itertools.product(STANDARD_PACKAGES, ("msg", "srv")):
        for name in store.interface_names(package, kind):
            parts = [name] if kind == "msg" else [f"{name}_Request", f"{name}_Response"]
            if (file := share / package / kind / f"{name}.json").exists():
                ours |= {(t := f"{package}/{kind}/{part}"): store.type_hash(t) for part in parts}
                type_hashes = json.loads(file.read_text())["type_hashes"]
                theirs |= {entry["type_name"]: entry["hash_string"] for entry in type_hashes}
    assert ours == {typename: theirs[typename] for typename in ours}
    assert len(ours) > 150


def test_the_contract_holds_on_it(fast_dds: _Prepared) -> None:
    done = fast_dds.contract.result()
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout

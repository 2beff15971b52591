# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Programs for launch files to start, each a few lines of Python."""

import shlex
import sys
from xml.sax.saxutils import quoteattr

# Tells that it is ready, and how often it was interrupted; ends half a second of quiet later.
COUNTS_INTERRUPTS = """
import signal, sys, time
count = 0
def on_interrupt(*_):
    global count
    count += 1
signal.signal(signal.SIGINT, on_interrupt)
print("ready", flush=True)
while not count:
    signal.pause()
time.sleep(0.3)
print("interrupted", count, flush=True)
"""

POLITE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    print("ready", flush=True)
    while True:
        signal.pause()
except KeyboardInterrupt:
    print("bye", flush=True)
"""

STUBBORN = """
import signal
signal.signal(signal.SIGINT, lambda *_: print("not yet", flush=True))
print("ready", flush=True)
while True:
    signal.pause()
"""

DEAF = (
    "import signal; signal.signal(signal.SIGTERM, lambda *_: print('never', flush=True))" + STUBBORN
)


def executable(program: str, *arguments: object, **attributes: object) -> str:
    """An ``<executable>`` tag that runs a program of this file."""
    command = shlex.join([sys.executable, "-S", "-c", program, *map(str, arguments)])
    command = command.replace("\\", "\\\\").replace("$", "\\$")
    attributes = {"output": "screen", **attributes}
    given = " ".join(f"{name}={quoteattr(str(value))}" for name, value in attributes.items())
    return f"<executable cmd={quoteattr(command, {chr(10): '&#10;'})} {given}/>"

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A process of the campaign: reads many inputs of one surface within bounded memory and time.

``python -m fuzz.worker <surface> <first> <count>`` prints how many were accepted and refused. With
``--all`` it goes on after a crash and prints one example of each kind.
"""

from __future__ import annotations

import faulthandler
import resource
import sys
import time
from collections import Counter

MEMORY = 3 * 2**30
"""Address space of a worker, bytes; libraries alone take a third."""


def main() -> int:
    """Run the worker."""
    from fuzz.surface import CrashError
    from fuzz.surfaces import SURFACES

    name, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    surface, go_on = SURFACES[name], "--all" in sys.argv
    surface.input(0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    begin = time.perf_counter()
    for number in range(first, first + count):
        if surface.seconds > 1.0 or number % 1000 == 0:
            # Ends the process where an input hangs in code that no signal reaches.
            faulthandler.dump_traceback_later(20 * surface.seconds + 60, exit=True)
        try:
            counts[surface.run(surface.input(number))] += 1
        except CrashError as error:
            if not go_on:
                print(f"number {number}: {error}", file=sys.stderr)
                return 1
            kind = str(error).split("\ninput of")[0][-700:]
            kinds[kind] += 1
            if kinds[kind] == 1:
                print(f"--- number {number}: {error}", flush=True)
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name}: {count} inputs, {counts['accepted']} accepted, {counts['refused']} refused, "
        f"{sum(kinds.values())} crashed in {len(kinds)} kinds, {seconds:.0f} s, {peak:.0f} MB",
        flush=True,
    )
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())

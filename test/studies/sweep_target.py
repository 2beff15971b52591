# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A target of the tests of sweeps: it waits, so that many points take time but no processor."""

import math
import random
import time


def waited(
    *, stiffness: float, push: float, pause: float = 0.0, seed: int = 0
) -> dict[str, object]:
    """Return numbers that depend on the parameters and on the seed."""
    time.sleep(pause)
    if push > 2.5:
        raise ValueError(f"a push of {push:.3f} N is too large")
    noise = random.Random(seed).random()
    return {"moved": push / stiffness + noise, "root": math.sqrt(stiffness), "far": push > 1.0}

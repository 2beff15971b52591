# Copyright 2026 The vms_ph authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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

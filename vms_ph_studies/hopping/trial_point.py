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

"""A target of sweeps: the outcome of a trial of a hopping leg."""

import inspect

from vms_ph_dynamics.errors import OptionError

from ..reproduce.feurstein.experiments import EXPERIMENTS, trial_of
from ..study import Value
from .basin import LOOSE, START
from .outcome import outcome_of


def hopping(experiment: str = START.id, **changed: Value) -> dict[str, object]:
    """Return the outcome of a trial of a hopping leg: falls, stands, or converges to a gait.

    Args:
        experiment: id of the experiment of source B that is changed.
        **changed: values that override those of the experiment, as ``--set`` of its study does;
            ``tilt`` is an angle in rad.

    Raises:
        VmsPhError: there is no such experiment, or a value is not accepted.
    """
    if experiment not in EXPERIMENTS:
        raise OptionError(f"there is no experiment '{experiment}'; {', '.join(EXPERIMENTS)} exist")
    known = EXPERIMENTS[experiment].parameters()
    values = {name: known[name].parse(name, str(value)) for name, value in changed.items()}
    found = outcome_of(trial_of(experiment, **{**LOOSE, **values}))
    return {
        "ending": found.ending.value,
        "hops_on": found.hops_on,
        "hops": found.hops,
        "drift": found.drift,
        "time": found.time,
    }


# All experiments have the same parameters; with them in the signature a study is checked at once.
hopping.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in {
            "experiment": START.id,
            **{name: p.default for name, p in START.parameters().items()},
        }.items()
    ]
)

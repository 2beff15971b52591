# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

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

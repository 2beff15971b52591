# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A target of sweeps: the outcome of a trial of a hopping leg."""

import inspect

from vms_ph_dynamics.errors import OptionError

from ..reproduce.feurstein.experiments import EXPERIMENTS, trial_of
from ..study import Value
from .basin import COARSE_TOLERANCES, START
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
    defaults = EXPERIMENTS[experiment].parameters()
    values = {name: defaults[name].parse(name, str(value)) for name, value in changed.items()}
    trial_outcome = outcome_of(trial_of(experiment, **{**COARSE_TOLERANCES, **values}))
    return {
        "ending": trial_outcome.ending.value,
        "keeps_hopping": trial_outcome.keeps_hopping,
        "hops": trial_outcome.hops,
        "drift": trial_outcome.drift,
        "time": trial_outcome.time,
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

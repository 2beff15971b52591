# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Gaits on a floor with a friction cone, and their basins of attraction."""

from collections.abc import Sequence
from pathlib import Path

from vms_ph_dynamics.errors import VmsPhError
from vms_ph_io.progress import Progress, Stages

from ..check import Check, required
from ..reproduce.feurstein.experiments import EXPERIMENTS, SOURCE, trial_of
from ..reproduce.feurstein.gait import multipliers
from ..study import Outcome, Parameter, Settings, Study, Value, list_of_numbers
from .basin import COARSE_TOLERANCES, PARAMETERS, basin, draw_basin, processes_of
from .controller_iii import upright_frame_angle
from .outcome import Ending, TrialOutcome, outcome_of, outcomes
from .outcome_map import draw_map

_GAIT = EXPERIMENTS["feurstein-revolute-6"]


def _compute(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    friction = float(settings["friction"])
    if friction < 0.0:
        raise VmsPhError(f"friction={friction:g}: it must not be negative")
    floor: dict[str, Value] = {**COARSE_TOLERANCES, "friction": friction}
    upright = upright_frame_angle()
    stiffnesses, dampings = (list_of_numbers(settings, name) for name in ("K_p", "D_p"))
    gains = [{"K_p": k, "D_p": d} for k in stiffnesses for d in dampings]
    laws: dict[str, list[dict[str, Value]]] = {
        kind: [{**floor, "controller": kind, "alpha_des": angle, **pair} for pair in gains]
        for kind, angle in (("II", 0.0), ("III", upright))
    }
    original = outcome_of(trial_of(_GAIT.id, **floor))
    tried = {"duration": float(settings["duration"])}
    stages = Stages(progress, 2)
    every = outcomes(
        _GAIT.id,
        [{**law, **tried} for kind in laws for law in laws[kind]],
        processes_of(settings),
        stages.begin("gains"),
    )
    second, third = every[: len(gains)], every[len(gains) :]
    checks: list[Check] = [
        required(
            "the source's gait on this floor",
            "does not persist",
            f"{original.ending.value} after {original.hops} hops",
            not original.keeps_hopping,
            "The source's floor holds the foot sideways without normal force; without that force "
            "the leg slips at lift-off.",
        ),
        required(
            "controller II, gains of the polar spring that keep hopping",
            "none",
            f"{sum(trial_outcome.keeps_hopping for trial_outcome in second)} of {len(gains)}",
            not any(trial_outcome.keeps_hopping for trial_outcome in second),
        ),
        required(
            "controller III with the angle of the vertical leg, gains that keep hopping",
            "at least one",
            f"{sum(trial_outcome.keeps_hopping for trial_outcome in third)} of {len(gains)}",
            any(trial_outcome.keeps_hopping for trial_outcome in third),
        ),
    ]
    if not any(trial_outcome.keeps_hopping for trial_outcome in third):
        return Outcome(checks)
    best = _fastest(third)
    law = laws["III"][best]
    checks.append(_forward(law, third[best]))
    starts = basin(law, settings, stages.begin("starts"))
    checks.append(
        required(
            "gaits reached under its law",
            "some starts keep hopping",
            starts.summary(),
            starts.share(Ending.GAIT, Ending.HOPS) > 0.0,
        )
    )
    checks.append(starts.stability())
    if out is None:
        return Outcome(checks)
    by_gains = draw_map(
        third,
        (dampings, "polar damping D_p (N m s/rad)"),
        (stiffnesses, "polar stiffness K_p (N m/rad)"),
        f"Friction {friction:g}, controller III: outcome by gains",
        out / "hopping-physical-floor-gains.png",
        marked=best,
    )
    title = f"Friction {friction:g}, controller III, K_p {law['K_p']:g}, D_p {law['D_p']:g}"
    by_start = draw_basin(
        starts, f"{title}: outcome by start", out / "hopping-physical-floor-basin.png"
    )
    return Outcome(checks, [by_gains, by_start])


def _fastest(third: Sequence[TrialOutcome]) -> int:
    """Return the index of the gains with the fastest forward motion, in a gait if there is one."""
    ranks = [(f.keeps_hopping, f.ending is Ending.GAIT, f.drift) for f in third]
    return max(range(len(ranks)), key=ranks.__getitem__)


def _forward(law: dict[str, Value], fastest: TrialOutcome) -> Check:
    if fastest.gait is None:
        return required("the fastest of them", "a stable gait", fastest.ending.value, False)
    worst = abs(multipliers(trial_of(_GAIT.id, **law), fastest.gait)[0])
    return required(
        "the fastest of them",
        "a stable forward gait",
        f"{fastest.drift:+.3f} N s at {law['K_p']:g} N m/rad and {law['D_p']:g} N m s/rad, "
        f"Floquet multiplier {worst:.3f}",
        worst < 1.0 and fastest.drift > 0.0,
    )


STUDIES = [
    Study(
        "hopping-physical-floor",
        f"beyond {SOURCE}",
        "A floor with a friction cone: the gaits that remain, and their basins of attraction",
        {
            "friction": Parameter(0.6, "coefficient"),
            "K_p": Parameter("2;3;4;6;8", "polar stiffnesses to try, N m/rad"),
            "D_p": Parameter("0.1;0.2;0.3;0.5;0.7", "polar dampings to try, N m s/rad"),
            "duration": Parameter(8.0, "longest trial of the gains, s"),
            **PARAMETERS,
        },
        _compute,
    )
]

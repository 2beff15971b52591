"""Beyond the source: a floor that does not pull, which gaits it leaves, and from which starts."""

from collections.abc import Sequence
from pathlib import Path

from vms_ph_dynamics.errors import VmsPhError

from ..study import Check, Outcome, Parameter, Settings, Study, Value
from .basin import LOOSE, PARAMETERS, basin, draw_basin, processes_of
from .common import said, series
from .controller_iii import upright_frame_angle
from .experiments import EXPERIMENTS, SOURCE
from .fate import Ending, Fate, fate, fates, trial_of
from .gait import multipliers
from .maps import draw_map

_GAIT = EXPERIMENTS["feurstein-revolute-6"]


def _run(settings: Settings, out: Path | None) -> Outcome:
    friction = float(settings["friction"])
    if friction < 0.0:
        raise VmsPhError(f"friction={friction:g}: it must not be negative")
    floor: dict[str, Value] = {**LOOSE, "friction": friction}
    upright = upright_frame_angle()
    stiffnesses, dampings = (series(str(settings[name]), name) for name in ("K_p", "D_p"))
    gains = [{"K_p": k, "D_p": d} for k in stiffnesses for d in dampings]
    laws: dict[str, list[dict[str, Value]]] = {
        kind: [{**floor, "controller": kind, "alpha_des": angle, **pair} for pair in gains]
        for kind, angle in (("II", 0.0), ("III", upright))
    }
    original = fate(trial_of(_GAIT.id, **floor))
    tried = {"duration": float(settings["duration"])}
    every = fates(
        _GAIT.id, [{**law, **tried} for kind in laws for law in laws[kind]], processes_of(settings)
    )
    second, third = every[: len(gains)], every[len(gains) :]
    checks: list[Check] = [
        said(
            "the source's gait on this floor",
            "not reported",
            f"{original.ending.value} after {original.hops} hops",
            not original.hops_on,
            "Its floor holds the foot sideways while nothing presses it down; without that pull "
            "the leg slips away at lift-off.",
        ),
        said(
            "controller II, stiffness and damping of the polar spring",
            "not reported",
            f"{sum(found.hops_on for found in second)} of {len(gains)} hop on",
            True,
        ),
        said(
            "controller III with the angle of the vertical leg",
            "not reported",
            f"{sum(found.hops_on for found in third)} of {len(gains)} hop on",
            any(found.hops_on for found in third),
        ),
    ]
    if not any(found.hops_on for found in third):
        return Outcome(checks)
    best = _fastest(third)
    law = laws["III"][best]
    checks.append(_forward(law, third[best]))
    starts = basin(law, settings)
    checks.append(
        said(
            "where starts lead under its law",
            "not reported",
            starts.in_words(),
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
        f"Friction {friction:g}, controller III: where the gains lead",
        out / "hopping-physical-floor-gains.png",
        marked=best,
    )
    title = f"Friction {friction:g}, controller III, K_p {law['K_p']:g}, D_p {law['D_p']:g}"
    by_start = draw_basin(
        starts, f"{title}: where a start leads", out / "hopping-physical-floor-basin.png"
    )
    return Outcome(checks, [by_gains, by_start])


def _fastest(third: Sequence[Fate]) -> int:
    """Which gains move the leg forward fastest, in a gait if any do."""
    ranks = [(f.hops_on, f.ending is Ending.GAIT, f.drift) for f in third]
    return max(range(len(ranks)), key=ranks.__getitem__)


def _forward(law: dict[str, Value], found: Fate) -> Check:
    if found.gait is None:
        return said("the fastest of them", "not reported", found.ending.value, False)
    worst = abs(multipliers(trial_of(_GAIT.id, **law), found.gait)[0])
    return said(
        "the fastest of them is a stable gait",
        "not reported",
        f"{found.drift:+.3f} N s at {law['K_p']:g} N m/rad and {law['D_p']:g} N m s/rad, "
        f"Floquet multiplier {worst:.3f}",
        worst < 1.0 and found.drift > 0.0,
    )


STUDIES = [
    Study(
        "hopping-physical-floor",
        f"beyond {SOURCE}",
        "A floor with a friction cone: which gaits are left, and from where they are reached",
        {
            "friction": Parameter(0.6, "coefficient"),
            "K_p": Parameter("2;3;4;6;8", "polar stiffnesses to try, N m/rad"),
            "D_p": Parameter("0.1;0.2;0.3;0.5;0.7", "polar dampings to try, N m s/rad"),
            "duration": Parameter(8.0, "longest trial of the gains, s"),
            **PARAMETERS,
        },
        _run,
    )
]

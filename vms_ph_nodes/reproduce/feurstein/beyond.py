"""Beyond the source: controller III, which it never tried, and a floor that is a floor."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vms_ph_dynamics.errors import VmsPhError

from ..study import Check, Outcome, Parameter, Settings, Study, compared
from .common import balance, degrees, largest_multiplier, said, settled
from .experiments import EXPERIMENTS, SOURCE, Trial
from .gait import flights
from .pictures import draw_basin, draw_run

_GAIT = EXPERIMENTS["feurstein-revolute-6"]
_IN_PLACE = EXPERIMENTS["feurstein-revolute-4"]


@dataclass(frozen=True)
class Fate:
    """What became of a leg.

    Attributes:
        stands: whether it still hops at the end.
        hops: flights after the first fall.
        drift: horizontal momentum of the last flight, N s.
    """

    stands: bool
    hops: int
    drift: float


def _trial(experiment: str, **changed: float | str) -> Trial:
    chosen = EXPERIMENTS[experiment]
    values = {name: p.default for name, p in chosen.parameters().items()}
    return Trial.of(chosen, {**values, **changed})


def _fate(trial: Trial) -> Fate:
    run = trial.run()
    hops = flights(run)
    return Fate(not run.stopped, len(hops) - 1, hops[-1].drift if hops else 0.0)


def upright_frame_angle() -> float:
    """Return alpha_c of the bent leg whose line to the foot is vertical, rad."""
    trial = _trial(_IN_PLACE.id)
    start = trial.start()
    return trial.controller.frame_angle(start) - start.angle


def _controller_iii(settings: Settings, out: Path | None) -> Outcome:
    damping, duration = float(settings["D_p"]), float(settings["duration"])
    upright = upright_frame_angle()
    angle = upright + float(np.radians(float(settings["lean"])))
    literal = [
        _fate(_trial(e, controller="III", duration=3.0, alpha_des=0.0))
        for e in (_IN_PLACE.id, "feurstein-revolute-5")
    ]
    undamped = _fate(_trial(_IN_PLACE.id, controller="III", duration=3.0, alpha_des=angle))
    mended = _trial(_IN_PLACE.id, controller="III", D_p=damping, alpha_des=angle, duration=duration)
    run = mended.run()
    hops = flights(run)
    worst = largest_multiplier(mended, hops)
    checks = [
        compared(
            "frame angle of the vertical bent leg",
            0.0,
            degrees(upright),
            1.0,
            "deg",
            "Controller III holds the frame, whose angle is zero for a straight leg. That of a "
            "bent leg leans by this much: commanding zero asks the leg to fall over.",
        ),
        said(
            "with the commanded angle zero",
            "not reported",
            f"falls after {literal[0].hops} and {literal[1].hops} hops",
            not literal[0].stands and not literal[1].stands,
        ),
        said(
            "with the angle of the vertical leg, undamped",
            "not reported",
            f"falls after {undamped.hops} hops" if not undamped.stands else "hops on",
            not undamped.stands,
            "The spring turns the whole robot and takes nothing out of the turn.",
        ),
        said(
            f"with that angle and D_p = {damping:g} N m s/rad",
            "not reported",
            f"{len(hops) - 1} hops"
            + ("" if worst is None else f", Floquet multiplier {abs(worst):.3f}"),
            not run.stopped and worst is not None and abs(worst) < 1.0,
        ),
        balance(run),
    ]
    files = []
    if out is not None:
        files.append(draw_run(mended, run, out / "hopping-controller-iii.png"))
    return Outcome(checks, files)


def _physical_floor(settings: Settings, out: Path | None) -> Outcome:
    friction, duration = float(settings["friction"]), float(settings["duration"])
    points = int(settings["points"])
    if points < 2 or friction < 0.0:
        raise VmsPhError(
            f"points={points}, friction={friction:g}: at least 2 points and no negative friction"
        )
    # Coarser than for the ledgers: legs that bounce and slide change phase a hundred times a hop.
    loose = {"friction": friction, "tolerance": 1e-6, "skin": 1e-6, "duration": duration}
    original = _fate(_trial(_GAIT.id, **loose))
    upright = upright_frame_angle()
    stands: dict[str, list[tuple[float, float, Fate]]] = {"II": [], "III": []}
    tried = 0
    for stiffness in _series(str(settings["K_p"])):
        for damping in _series(str(settings["D_p"])):
            tried += 1
            for kind, angle in (("II", 0.0), ("III", upright)):
                trial = _trial(
                    _GAIT.id,
                    **loose,
                    controller=kind,
                    alpha_des=angle,
                    K_p=stiffness,
                    D_p=damping,
                )
                fate = _fate(trial)
                if fate.stands:
                    stands[kind].append((stiffness, damping, fate))
    checks: list[Check] = [
        said(
            "the source's gait on this floor",
            "not reported",
            "hops on" if original.stands else f"falls after {original.hops} hops",
            not original.stands,
            "Its floor holds the foot sideways while nothing presses it down; without that pull "
            "the leg slips away at lift-off.",
        ),
        said(
            "controller II, stiffness and damping of the polar spring",
            "not reported",
            f"{len(stands['II'])} of {tried} hop on",
            True,
        ),
        said(
            "controller III with the angle of the vertical leg",
            "not reported",
            f"{len(stands['III'])} of {tried} hop on: " + _listed(stands["III"]),
            bool(stands["III"]),
        ),
    ]
    files: list[Path] = []
    if stands["III"]:
        stiffness, damping, _ = max(stands["III"], key=lambda item: item[2].drift)
        law = {"controller": "III", "alpha_des": upright, "K_p": stiffness, "D_p": damping}
        checks += _forward(law, loose)
        grid = _basin(law, loose, points, float(settings["basin_duration"]))
        share = float(np.mean([fate.stands for row in grid for fate in row]))
        checks.append(
            said(
                "basin of attraction: starts that hop on",
                "not reported",
                f"{100 * share:.0f} % of {points} x {points}, leaning by up to "
                f"{_LEAN:g} deg with up to {_SPEED:g} m/s",
                share > 0.0,
            )
        )
        if out is not None:
            stand = np.array([[fate.stands for fate in row] for row in grid])
            drift = np.array([[fate.drift for fate in row] for row in grid])
            files.append(
                draw_basin(stand, drift, (_LEAN, _SPEED), out / "hopping-physical-floor-basin.png")
            )
    return Outcome(checks, files)


def _forward(law: dict[str, float | str], loose: dict[str, float]) -> list[Check]:
    trial = _trial(_GAIT.id, **{**loose, **law, "duration": 8.0})
    run = trial.run()
    hops = flights(run)
    gait, worst = settled(hops), largest_multiplier(trial, hops)
    if gait is None or worst is None:
        return [said("the fastest of them", "not reported", "reaches no gait in 8 s", False)]
    return [
        said(
            "the fastest of them is a stable gait",
            "not reported",
            f"{gait.drift:+.3f} N s at {law['K_p']:g} N m/rad and {law['D_p']:g} N m s/rad, "
            f"Floquet multiplier {abs(worst):.3f}",
            abs(worst) < 1.0 and gait.drift > 0.0,
        ),
        balance(run),
    ]


# Half widths of the map of starts.
_LEAN, _SPEED = 20.0, 0.3


def _basin(
    law: dict[str, float | str], loose: dict[str, float], points: int, duration: float
) -> list[list[Fate]]:
    """The fate from leaning starts with a horizontal speed: rows are leans, columns speeds."""
    rows = []
    for lean in np.radians(np.linspace(-_LEAN, _LEAN, points)):
        row = []
        for speed in np.linspace(-_SPEED, _SPEED, points):
            theta = float(_IN_PLACE.coordinates[2] + lean)
            trial = _trial(_IN_PLACE.id, **{**loose, **law, "theta": theta, "duration": duration})
            c, s = np.cos(theta), np.sin(theta)
            trial.v[:2] = c * speed, -s * speed
            row.append(_fate(trial))
        rows.append(row)
    return rows


def _series(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(";")]
    except ValueError:
        raise VmsPhError(f"'{text}': numbers with semicolons between them are wanted") from None


def _listed(stands: list[tuple[float, float, Fate]]) -> str:
    return ", ".join(f"K_p {k:g} D_p {d:g} ({fate.drift:+.2f} N s)" for k, d, fate in stands)


STUDIES = [
    Study(
        "hopping-controller-iii",
        f"beyond {SOURCE}",
        "Controller III: why it falls, and how it hops on",
        {
            "D_p": Parameter(0.3, "polar damping, N m s/rad"),
            "lean": Parameter(0.0, "commanded beyond the vertical leg, deg"),
            "duration": Parameter(7.0, "s"),
        },
        _controller_iii,
    ),
    Study(
        "hopping-physical-floor",
        f"beyond {SOURCE}",
        "A floor with a friction cone: which gaits are left, and from where they are reached",
        {
            "friction": Parameter(0.6, "coefficient"),
            "K_p": Parameter("3;6", "polar stiffnesses to try, N m/rad"),
            "D_p": Parameter("0.1;0.3;0.5", "polar dampings to try, N m s/rad"),
            "duration": Parameter(5.0, "of each trial of the gains, s"),
            "points": Parameter(7, "of the map of starts in each direction"),
            "basin_duration": Parameter(3.0, "of each trial of the map, s"),
        },
        _physical_floor,
    ),
]

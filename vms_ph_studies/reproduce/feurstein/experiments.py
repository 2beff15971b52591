# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The nine experiments of source B, by its tables 4.4 to 4.13, and how one is run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_hopping import Floor, HoppingRun, Leg, LegOnFloor, LegState, hop
from vms_ph_hopping.flights import FALLEN_HEIGHT
from vms_ph_hopping.hopper import LIFTOFF_HEIGHT
from vms_ph_hopping.laws.hopping import KINDS, HoppingController
from vms_ph_io import robots

from ...study import Parameter, Settings, Value

SOURCE = "Feurstein, Decoupled Dynamics of Floating Base Robots, TU Munich 2021"


# Parameters that are gains of the controller, with their names there.
_GAINS = {
    "K_r": ("radial_stiffness", "radial stiffness, N/m"),
    "D_r": ("flight_damping", "radial damping in flight, N s/m"),
    "D_r_stance": ("stance_damping", "radial damping in stance, N s/m"),
    "K_p": ("polar_stiffness", "polar stiffness in stance, N m/rad"),
    "D_p": ("polar_damping", "polar damping in stance, N m s/rad"),
    "K_E": ("energy_gain", "energy gain, s/m^2"),
    "r_des": ("length", "desired r_cf, m"),
    "alpha_des": ("angle", "desired angle, rad"),
    "E_des": ("energy", "desired energy, J"),
}


@dataclass(frozen=True)
class Experiment:
    """One experiment.

    Attributes:
        id: of its study.
        robot: name of the bundled robot.
        kind: of the controller.
        coordinates: (x, y, theta, joint) at the start, m and rad.
        velocity: base twist in base axes and joint rate at the start.
        gains: what differs from the controller's defaults.
        duration: s.
        tilt: added to theta, rad.
    """

    id: str
    robot: str
    kind: str
    coordinates: tuple[float, float, float, float]
    velocity: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    gains: Mapping[str, float] = field(default_factory=dict)
    duration: float = 4.0
    tilt: float = 0.0

    def parameters(self) -> dict[str, Parameter]:
        """Return what ``--set`` can change, with the values of this experiment."""
        gains = HoppingController.Gains(**self.gains)
        _, y, theta, joint = self.coordinates
        return {
            **{key: Parameter(getattr(gains, name), text) for key, (name, text) in _GAINS.items()},
            "y": Parameter(y, "height of the base at the start, m"),
            "theta": Parameter(theta, "angle of the base at the start, rad"),
            "joint": Parameter(joint, "joint at the start, m or rad"),
            "tilt": Parameter(self.tilt, "disturbance of theta at the start, rad"),
            "speed": Parameter(0.0, "horizontal, added at the start, m/s"),
            "controller": Parameter(self.kind, "which of the three", KINDS),
            "gravity": Parameter(9.81, "m/s^2"),
            "K_floor": Parameter(10000.0, "stiffness of the floor, N/m"),
            "D_floor": Parameter(1000.0, "damping of the floor, N s/m"),
            "friction": Parameter(-1.0, "floor coefficient; negative: no cone, as in the source"),
            "duration": Parameter(self.duration, "s"),
            "tolerance": Parameter(1e-7, "of a step of the integrator"),
            "skin": Parameter(LIFTOFF_HEIGHT, "height at which the foot has left the floor, m"),
        }


@dataclass(frozen=True)
class Trial:
    """An experiment with the values of a run.

    Attributes:
        controller: with its gains.
        system: leg, law and floor.
        q, v: where it starts.
        tolerance: of the integrator.
        skin: height at which the foot counts as lifted off, m.
        duration: s.
    """

    controller: HoppingController
    system: LegOnFloor
    q: np.ndarray
    v: np.ndarray
    tolerance: float
    skin: float
    duration: float

    @classmethod
    def of(cls, experiment: Experiment, settings: Settings) -> "Trial":
        """Return the trial with the values of settings.

        Raises:
            VmsPhError: a value out of its range.
        """

        def number(name: str) -> float:
            return float(settings[name])

        for name in ("duration", "tolerance", "gravity", "skin"):
            if number(name) <= 0.0:
                raise VmsPhError(f"{name}={settings[name]}: it must be positive")
        model = _model(experiment.robot, number("gravity"))
        gains = HoppingController.Gains(**{name: number(key) for key, (name, _) in _GAINS.items()})
        controller = HoppingController(model, gains=gains, kind=str(settings["controller"]))
        k, damping, friction = number("K_floor"), number("D_floor"), number("friction")
        floor = Floor((k, k), (damping, damping), None if friction < 0.0 else friction)
        start = (
            experiment.coordinates[0],
            number("y"),
            number("theta") + number("tilt"),
            number("joint"),
        )
        v = np.array(experiment.velocity)
        v[:2] += number("speed") * np.array([np.cos(start[2]), -np.sin(start[2])])
        return cls(
            controller,
            LegOnFloor(controller.leg, controller.law, floor),
            controller.leg.configuration(np.array(start)),
            v,
            number("tolerance"),
            number("skin"),
            number("duration"),
        )

    @property
    def leg(self) -> Leg:
        """The robot as a leg."""
        return self.controller.leg

    def initial_state(self) -> LegState:
        """Return the leg at the start."""
        return self.leg.at(self.q, self.v)

    def run(
        self, duration: float | None = None, progress: Callable[[float], None] | None = None
    ) -> HoppingRun:
        """Return the run from the start until the leg has fallen or the time is over.

        Args:
            duration: s; that of the trial when None.
            progress: receives the share of the duration that has passed.
        """
        run_time = self.duration if duration is None else duration
        return hop(
            self.system,
            self.q,
            self.v,
            run_time,
            tolerance=self.tolerance,
            liftoff_height=self.skin,
            stop=lambda leg: bool(leg.centre[1] < FALLEN_HEIGHT),
            progress=None if progress is None else lambda time: progress(time / run_time),
        )

    def tilted_configuration(self, angle: float, is_absolute: bool = False) -> np.ndarray:
        """Return the start with theta changed by an angle, or with the leg's angle set to it."""
        coordinates = self.leg.coordinates(self.q)
        coordinates[2] += angle - (self.initial_state().angle if is_absolute else 0.0)
        return self.leg.configuration(coordinates)

    def spring_energy(self, leg: LegState) -> float:
        """Return the energy in the radial spring, J."""
        gains = self.controller.gains
        return 0.5 * gains.radial_stiffness * (leg.length - gains.length) ** 2


def trial_of(experiment: str, **changed_values: Value) -> Trial:
    """Return the trial of an experiment with some of its values changed."""
    chosen_experiment = EXPERIMENTS[experiment]
    values = {name: parameter.default for name, parameter in chosen_experiment.parameters().items()}
    return Trial.of(chosen_experiment, {**values, **changed_values})


@lru_cache(maxsize=4)
def _model(robot: str, gravity: float) -> VMSModel:
    """Return a hopper; its description is expanded once, and not at every point of a sweep."""
    bundled_robot = robots.get(robot)
    return VMSModel.from_urdf(
        bundled_robot.description(), "planar", bundled_robot.end_effector, (0.0, -gravity, 0.0)
    )


# Table 4.7 gives q1(0) = 0.114, which is r_cf: with it E0 is 2.9077 J instead of the published
# 2.9047 J, and r_cf 0.108 m. With q1(0) = 0.12, the rest length of the text, both are met.
_PRISMATIC_GAINS = {"flight_damping": 0.0, "energy_gain": 0.0, "length": 0.114, "energy": 2.9047}
_VERTICAL_START = (0.0, 0.3, -np.pi / 2, 0.12)
_BENT_START = (0.0, 0.3, -2.5174, 1.7802)
_UNDAMPED_GAINS = {"flight_damping": 0.0, "energy_gain": 0.0}


def _prismatic_leg(number: int, kind: str, duration: float, **options: Any) -> Experiment:
    gains = {**_PRISMATIC_GAINS, **options.pop("gains", {})}
    name = f"feurstein-prismatic-{number}"
    return Experiment(
        name, "prismatic_hopper", kind, _VERTICAL_START, gains=gains, duration=duration, **options
    )


def _revolute_leg(number: int, kind: str, duration: float, **options: Any) -> Experiment:
    options = {"coordinates": _BENT_START, **options}
    name = f"feurstein-revolute-{number}"
    return Experiment(name, "revolute_hopper", kind, duration=duration, **options)


EXPERIMENTS = {
    e.id: e
    for e in (
        _prismatic_leg(1, "I", 3.2, tilt=1e-8),
        _prismatic_leg(2, "II", 3.6),
        _prismatic_leg(3, "II", 4.0, gains={"energy_gain": 20.0}),
        _revolute_leg(1, "I", 1.5, gains=_UNDAMPED_GAINS),
        _revolute_leg(2, "II", 3.0, gains=_UNDAMPED_GAINS),
        _revolute_leg(3, "II", 5.0, gains={"flight_damping": 0.0}),
        _revolute_leg(4, "II", 20.0),
        _revolute_leg(5, "II", 20.0, coordinates=(0.0, 0.3, -1.9938, 1.7802)),
        _revolute_leg(
            6,
            "II",
            20.0,
            coordinates=(2.7676, 0.2574, -2.5243, 1.7802),
            # Table 4.13 heads them as velocities of the inertial frame; as such the momentum is
            # (-.19, .13) N s instead of that of the gait, (.234, 0): they are body velocities.
            velocity=(-0.1919, 0.1263, 0.3301, 0.0),
        ),
    )
}

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Studies of a free-floating satellite: reorientation, reactionless motion, capture."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from vms_ph_controllers import AttitudeControl, Reference, RobotState
from vms_ph_controllers.controller import Command
from vms_ph_controllers.laws.attitude_and_shape import centre_and_inertia
from vms_ph_controllers.laws.resolved_motion import ResolvedMotion
from vms_ph_dynamics import Array, DecoupledForm, VMSModel, VmsPhError, momenta
from vms_ph_dynamics.actuation import Actuators, Motor, ReactionWheel
from vms_ph_dynamics.capture import Body, capture
from vms_ph_dynamics.groups import SE3, SO3
from vms_ph_dynamics.simulation import Simulation
from vms_ph_io import Trajectory, robots, simulate
from vms_ph_io.progress import Progress

from .check import bounded, required
from .reorientation import EllipticLoop, displace, plan_reorientation
from .study import Outcome, Parameter, Settings, Stages, Study

_SE3, _SO3 = SE3(), SO3()

# A small satellite; the bundled robot is that of ETS-VII, of 2550 kg.
_BUS = {
    "bus_mass": Parameter(60.0, "of the satellite without its arm, kg", above=0.0),
    "bus_ixx": Parameter(3.0, "its inertia about x, kg m^2", above=0.0),
    "bus_iyy": Parameter(2.5, "its inertia about y, kg m^2", above=0.0),
    "bus_izz": Parameter(3.5, "its inertia about z, kg m^2", above=0.0),
}

_SETTLING_TIME = 2.0  # time after the last loop in which the joints come to rest, s

# The diagonals of a cube: any one of four wheels may fail.
_WHEEL_AXES = ([1.0, 1.0, 1.0], [-1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [1.0, -1.0, 1.0])


def satellite(settings: Settings) -> tuple[VMSModel, Array]:
    """Return the robot of the settings and its home configuration (nq,)."""
    model = robots.load("satellite_panda", **{name: str(settings[name]) for name in _BUS})
    return model, model.configuration(robots.get("satellite_panda").home)


class ComputedTorque:
    """Inverse dynamics of the shape along a path of the joints, held over every sample.

    ``tau = M_hat_m (qddot_d + 2 w edot + w^2 e) + bias``: on a base without actuators.
    """

    def __init__(self, model: VMSModel, start: Array, path: EllipticLoop, bandwidth: float) -> None:
        """Follow ``path`` from a configuration ``start`` (nq,); the bandwidth w is in 1/s."""
        self._model, self._start, self._path, self._bandwidth = model, start, path, bandwidth
        self._time = 0.0

    def __call__(self, q: Array, v: Array, dt: float) -> Command:
        """Return the torques for the sample that begins at a state."""
        d, b, path = self._model.evaluate(q, v), self._model.b, self._path
        motion = path(min(self._time, path.duration))
        # The torque is held: the mean acceleration of the sample is that at its middle.
        feedforward = path(min(self._time + 0.5 * dt, path.duration)).acceleration
        self._time += dt
        desired_q = displace(self._model, self._start, motion.offset)
        error = self._model.difference(q, desired_q)[b:]
        w = self._bandwidth
        acceleration = feedforward + 2.0 * w * (motion.rate - v[b:]) + w * w * error
        bias = d.C @ v
        torque = d.M_hat_m @ acceleration + bias[b:] - d.A.T @ bias[:b]
        return Command(np.zeros(b), torque)


def _reorientation(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    model, home = satellite(settings)
    axis, dt = np.array([float(settings[f"axis_{name}"]) for name in "xyz"]), _dt(settings)
    if not axis.any():
        raise VmsPhError("the axis (axis_x, axis_y, axis_z) is zero; give a direction")
    rotation = np.radians(float(settings["angle"])) * axis / np.linalg.norm(axis)
    stages = Stages(progress, 10)
    stages.begin("plan")
    amplitude, rate = float(settings["amplitude"]), float(settings["rate"])
    plan = plan_reorientation(model, home, _SO3.exp(rotation), amplitude=amplitude, rate=rate)
    stages.begin("simulation with sampled torques", 9)
    law = ComputedTorque(model, home, plan.path, 10.0)
    steps = int(np.ceil(plan.path.duration / dt)) + round(_SETTLING_TIME / dt)
    run = simulate(DecoupledForm(model), law, steps * dt, q=home, rate=1.0 / dt, stride=steps)
    d = model.evaluate(run.q[-1], run.v[-1])
    pose = np.linalg.inv(model.base_pose(home)) @ model.base_pose(d.q)
    planned_pose = plan.displacement
    rotation_error = _SO3.log(planned_pose[:3, :3].T @ pose[:3, :3])
    offsets = model.difference(home, d.q)[model.b :]
    loops = f"{plan.loops} in {plan.path.duration:.1f} s"
    return Outcome(
        [
            required("loops of the arm", "found", loops, True),
            bounded(
                "plan, by path integration, against the wanted turn",
                _norm(_SO3.log(planned_pose[:3, :3]) - rotation),
                1e-8,
                "rad",
            ),
            bounded("simulated attitude against the plan", _norm(rotation_error), 1e-4, "rad"),
            bounded(
                "simulated position of the base against the plan",
                float(np.abs(pose[:3, 3] - planned_pose[:3, 3]).max()),
                1e-4,
                "m",
            ),
            bounded("momentum at the end", float(np.abs(d.p).max()), 1e-9, "N s, N m s"),
            bounded("joints at the end against their start", np.abs(offsets).max(), 1e-4, "rad"),
        ]
    )


def _reactionless(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    model, home = satellite(settings)
    shoulder_offset = np.array([float(settings[f"offset_{name}"]) for name in "xyz"])
    target = np.array(model.evaluate(home, np.zeros(model.nv)).placement(model.end_effector))
    target[:3, 3] += shoulder_offset
    stages, rotations, distances = Stages(progress, 2), [], []
    for is_held in (True, False):
        stages.begin("base held" if is_held else "base free")
        law = ResolvedMotion(model, replace(ResolvedMotion.Gains(), hold_attitude=is_held))
        run = simulate(
            DecoupledForm(model),
            law,
            float(settings["duration"]),
            reference=Reference(position=target[:3, 3]) if is_held else Reference(pose=target),
            q=home,
            rate=1.0 / _dt(settings),
        )
        rotations.append(max(_norm(turn) for turn in _rotations(run)))
        end_pose = model.evaluate(run.q[-1], run.v[-1]).placement(model.end_effector)
        distances.append(_norm(end_pose[:3, 3] - target[:3, 3]))
    return Outcome(
        [
            bounded("base held: attitude of the base", rotations[0], 1e-4, "rad"),
            bounded("base held: tool from its target at the end", distances[0], 2e-3, "m"),
            bounded("base free: tool from its target at the end", distances[1], 2e-3, "m"),
            required(
                "attitude of a base that is not held",
                "turns",
                f"by {np.degrees(rotations[1]):.3g} deg",
                rotations[1] > 100.0 * rotations[0],
            ),
        ]
    )


def _capture(settings: Settings, out: Path | None, progress: Progress) -> Outcome:
    model, home = satellite(settings)
    body, twist = _tumbling_cube(settings)
    d = model.evaluate(home, np.zeros(model.nv))
    placement = d.placement(model.end_effector)
    momentum = _SE3.Ad(_SE3.inverse(placement)).T @ (body.spatial_inertia() @ twist)
    combined_body = capture(model, home, d.v, body, twist)
    momentum_after = momenta(combined_body.model.evaluate(combined_body.q, combined_body.v)).spatial
    momentum_scale = np.repeat([_norm(momentum[:3]), _norm(momentum[3:])], 3)
    momentum_jump = float(np.max(np.abs(momentum_after - momentum) / momentum_scale))
    actuators, dt = _wheels(settings), _dt(settings)
    law = AttitudeControl(combined_body.model, allocation=actuators.allocation)
    law.reset(RobotState(combined_body.q, combined_body.v))
    simulation = Simulation(
        DecoupledForm(combined_body.model),
        combined_body.q,
        dt,
        lambda q, v, step: law.update(RobotState(q, v), Reference(), step),
        actuators=actuators,
        start_velocity=combined_body.v,
    )
    wheels = simulation.actuation
    assert wheels is not None
    initial_total, initial_momentum = _angular_momenta(simulation)
    report, wheel_rates, parts = Stages(progress, 1).begin("wheels take up the momentum"), [], 20
    for k in range(parts):
        simulation.advance(round(float(settings["duration"]) / dt / parts))
        wheel_rates.append(float(np.abs(wheels.rates).max()))
        report((k + 1) / parts)
    final_total, final_momentum = _angular_momenta(simulation)
    sample, exergy = simulation.sample(), simulation.exergy_map()
    rotation = combined_body.model.difference(combined_body.q, sample.q)[3:6]
    rate_limit = float(settings["largest_rate"])
    return Outcome(
        [
            bounded("momentum of robot and body over the capture, relative", momentum_jump, 1e-12),
            required(
                "kinetic energy lost by the capture",
                "not negative",
                f"{combined_body.lost_energy:.4g} J",
                combined_body.lost_energy >= 0.0,
            ),
            bounded(
                "angular momentum of satellite, body and wheels, relative change",
                _norm(final_total - initial_total) / _norm(initial_total),
                1e-9,
            ),
            required(
                "momentum about the centre of mass that satellite and body keep",
                "below a hundredth of what they had",
                f"{_norm(final_momentum):.2g} of {_norm(initial_momentum):.3g} N m s",
                _norm(final_momentum) < 0.01 * _norm(initial_momentum),
            ),
            bounded("attitude of the base at the end, rad", _norm(rotation), 1e-2),
            bounded("rate of the base at the end, rad/s", _norm(sample.v[3:6]), 1e-3),
            required(
                "largest spin of a wheel",
                f"at most {rate_limit} rad/s",
                f"{max(wheel_rates):.4g} rad/s",
                max(wheel_rates) <= rate_limit * (1.0 + 1e-12),
            ),
            bounded(
                "energy balance from the supply to the tool, relative to what was exchanged",
                abs(exergy.residual) / abs(wheels.kinetic_energy + 1e-3),
                1e-9,
            ),
        ]
    )


def _norm(x: Array) -> float:
    return float(np.linalg.norm(x))


def _dt(settings: Settings) -> float:
    return float(settings["step"])


def _rotations(run: Trajectory) -> list[Array]:
    """Return the rotation vectors of the base from its start, (3,) each, rad."""
    rotations = [run.model.base_pose(q)[:3, :3] for q in run.q]
    return [_SO3.log(rotations[0].T @ rotation) for rotation in rotations]


def _tumbling_cube(settings: Settings) -> tuple[Body, Array]:
    """Return the body of the settings, and its twist (6,) in the frame of the tool."""
    side, mass = float(settings["side"]), float(settings["mass"])
    body = Body(mass, [0.0, 0.0, 0.5 * side], np.eye(3) * mass * side**2 / 6.0)
    omega = np.radians(float(settings["spin"])) * np.array([0.3, -0.5, 0.8]) / np.sqrt(0.98)
    # The centre of the body approaches; at the frame its spin adds to that.
    approach = np.array([0.0, 0.0, -float(settings["approach"])])
    return body, np.concatenate([approach - np.cross(omega, np.asarray(body.centre, float)), omega])


def _wheels(settings: Settings) -> Actuators:
    inertia, torque, rate = (
        float(settings[name]) for name in ("wheel_inertia", "largest_torque", "largest_rate")
    )
    motor = Motor(0.02, 0.5)
    return Actuators(
        [
            ReactionWheel(np.array(axis), inertia, torque, rate, friction=1e-7, motor=motor)
            for axis in _WHEEL_AXES
        ]
    )


def _angular_momenta(simulation: Simulation) -> tuple[Array, Array]:
    """Return angular momenta in inertial axes, (3,) each, kg m^2/s.

    Of robot and wheels about the inertial origin, and of the robot alone about its centre of mass.
    """
    actuation, model, sample = simulation.actuation, simulation.form.model, simulation.sample()
    assert actuation is not None
    d = model.evaluate(sample.q, sample.v)
    spatial, pose = momenta(d).spatial, model.base_pose(sample.q)
    wheel_momentum = pose[:3, :3] @ actuation.momentum
    centre = pose[:3, 3] + pose[:3, :3] @ centre_and_inertia(d)[0]
    return spatial[3:] + wheel_momentum, spatial[3:] - np.cross(centre, spatial[:3])


STUDIES = [
    Study(
        "space-reorientation",
        "Space robotics: nonholonomy of free-floating robots; connection and curvature of [B]",
        "A satellite turns by closed loops of its arm alone",
        {
            "angle": Parameter(30.0, "that the satellite is to turn by, deg", above=0.0),
            "axis_x": Parameter(0.0, "x of the axis in the axes of the satellite"),
            "axis_y": Parameter(0.0, "y of the axis"),
            "axis_z": Parameter(1.0, "z of the axis"),
            "amplitude": Parameter(1.0, "largest excursion of a joint, rad", above=0.0),
            "rate": Parameter(1.0, "largest rate of a joint, rad/s", above=0.0),
            "step": Parameter(0.001, "sampling time of the torques, s", above=0.0),
            **_BUS,
        },
        _reorientation,
    ),
    Study(
        "space-reactionless",
        "Space robotics: generalised Jacobian and reaction null space of [E]",
        "The arm of a satellite moves without turning it",
        {
            "offset_x": Parameter(0.0, "way of the tool along x, m"),
            "offset_y": Parameter(0.0, "way of the tool along y, m"),
            "offset_z": Parameter(-0.05, "way of the tool along z, m"),
            "duration": Parameter(20.0, "of each motion, s", above=0.0),
            "step": Parameter(0.001, "sampling time of the torques, s", above=0.0),
            **_BUS,
        },
        _reactionless,
    ),
    Study(
        "space-capture",
        "Space robotics: capture of a free body, whose momentum goes to the reaction wheels",
        "A satellite catches a tumbling body, and reaction wheels bring both to rest",
        {
            "mass": Parameter(20.0, "of the body, a cube, kg", above=0.0),
            "side": Parameter(0.4, "of the cube, m", above=0.0),
            "spin": Parameter(5.0, "angular speed of the body, deg/s", least=0.0),
            "approach": Parameter(0.05, "speed of its centre towards the tool, m/s", least=0.0),
            "wheel_inertia": Parameter(2e-3, "of each of four wheels, kg m^2", above=0.0),
            "largest_torque": Parameter(0.1, "of a wheel, N m", above=0.0),
            "largest_rate": Parameter(600.0, "of a wheel, rad/s", above=0.0),
            "duration": Parameter(60.0, "of the simulation after the capture, s", above=0.0),
            "step": Parameter(0.01, "sampling time, s", above=0.0),
            **_BUS,
        },
        _capture,
    ),
]

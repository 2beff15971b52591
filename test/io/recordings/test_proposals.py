# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Column maps are proposed for files that nobody has described, and never confidently wrong."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import VMSModel
from vms_ph_dynamics.identification.torque import effort_lag
from vms_ph_io import load_urdf, robots
from vms_ph_io.descriptions.packages import resolve
from vms_ph_io.recordings.column_map import read_map
from vms_ph_io.recordings.proposal import Proposal, propose
from vms_ph_io.recordings.recording import RecordingError

ANGLES = {"rad": 1.0, "deg": 180 / np.pi}
TIMES = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
RATES = {"rad/s": 1.0, "deg/s": 180 / np.pi, "": 0.0}
ROBOTS = (
    "panda_description/urdf/panda.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "ur_description/urdf/ur10_joint_limited_robot.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "z1_description/urdf/z1.urdf",
)


@dataclass(frozen=True)
class Drawn:
    """What is true of a drawn file."""

    time: str
    angle: str
    rate: str
    effort: str
    order: tuple[int, ...]
    names: str
    gain: tuple[float, ...]


@cache
def _model(name: str) -> VMSModel:
    path = resolve(f"package://example-robot-data/robots/{name}")
    assert path is not None
    locked = [f"panda_finger_joint{k}" for k in (1, 2)] if "panda" in name else []
    return load_urdf(path, locked_joints=locked)


def _motion(
    model: VMSModel, rng: np.random.Generator, resting: tuple[int, ...] = ()
) -> tuple[np.ndarray, ...]:
    t = np.arange(0.0, 8.0, rng.choice([0.002, 0.004, 0.01]))
    lower, upper = model.joints.lower, model.joints.upper
    middle = np.where(np.isfinite(lower + upper), 0.5 * (lower + upper), 0.0)
    reach = np.minimum(np.where(np.isfinite(upper - lower), 0.35 * (upper - lower), 1.5), 1.5)
    reach[list(resting)] = 0.0
    q = np.tile(middle, (len(t), 1))
    v, a = np.zeros_like(q), np.zeros_like(q)
    for harmonic in range(1, 5):
        w = 2 * np.pi * 0.13 * harmonic
        size = reach * rng.uniform(0.3, 1.0, model.n) / harmonic / 2.0
        phase = w * t[:, None] + rng.uniform(0, 2 * np.pi, model.n)
        q, v, a = (
            q + size * np.sin(phase),
            v + size * w * np.cos(phase),
            a - size * w**2 * np.sin(phase),
        )
    tree, data = model.tree.pinocchio, model.tree.pinocchio.createData()
    rows = zip(q, v, a, strict=True)
    full = model.tree.full_configuration, model.tree.full_velocity
    effort = np.array(
        [pin.rnea(tree, data, full[0](x), full[1](y), full[1](z)).copy() for x, y, z in rows]
    )
    scale = np.abs(effort).max(axis=0)
    effort = effort + 0.05 * scale * np.tanh(v / 0.01) + 0.03 * scale * v
    effort += 0.01 * scale * rng.normal(size=effort.shape)
    return t, q + 1e-5 * rng.normal(size=q.shape), v, effort


def _draw(model: VMSModel, rng: np.random.Generator, path: Path) -> Drawn:
    t, q, v, effort = _motion(model, rng)
    delay = rng.uniform(0.0, 0.25) * (rng.uniform() < 0.5)
    effort = np.stack([np.interp(t - delay, t, e) for e in effort.T], axis=1)
    n, order = model.n, np.arange(model.n)
    names = str(rng.choice(["joints", "numbers", "none"], p=[0.5, 0.35, 0.15]))
    if rng.uniform() < 0.3:
        pair = rng.choice(n, 2, replace=False)
        order[pair] = order[pair[::-1]]
    if rng.uniform() < 0.3:
        q = np.arctan2(np.sin(q), np.cos(q))
    unit = str(rng.choice(["N m", "mN m", "A"], p=[0.7, 0.15, 0.15]))
    gains = {"N m": 1.0, "mN m": 1e-3, "A": rng.uniform(5.0, 15.0, n)}[unit]
    drawn = Drawn(
        str(rng.choice(list(TIMES))),
        str(rng.choice(list(ANGLES))),
        str(rng.choice(list(RATES))) if names != "none" else "rad/s",
        unit,
        tuple(order.tolist()),
        names,
        tuple(np.broadcast_to(gains if unit == "A" else 1.0, n).tolist()),
    )
    start = rng.choice([0.0, 1.7e9]) if drawn.time != "s" or rng.uniform() < 0.5 else 0.0
    stamp = (start + t) * TIMES[drawn.time]
    if drawn.time == "ns":
        stamp = np.round(stamp)
    columns = [stamp[:, None], (q * ANGLES[drawn.angle])[:, order]]
    kinds = ["q"]
    if drawn.rate:
        columns.append((v * RATES[drawn.rate])[:, order])
        kinds.append("dq")
    columns.append((effort / gains)[:, order])
    kinds.append("tau")
    header = ["t"]
    for kind in kinds:
        if names == "joints":
            header += [f"{kind}_{model.joint_names[k]}" for k in order]
        else:
            header += [f"{kind}{k + 1}" for k in range(n)]
    rows = np.hstack(columns)
    if rng.uniform() < 0.3:  # a gap, and some rows are lost
        begin = rng.integers(len(t) // 4, len(t) // 2)
        lost = rng.uniform(size=len(t)) < 0.02
        lost[begin : begin + rng.integers(20, len(t) // 4)] = True
        rows = rows[~lost]
    head = "" if names == "none" else ",".join(header)
    np.savetxt(path, rows, delimiter=",", header=head, comments="", fmt="%.17g")
    return drawn


def _verdict(drawn: Drawn, model: VMSModel, found: Proposal) -> tuple[bool, bool]:
    """Return whether a proposal is right, and whether it is sure."""
    content, n = found.content, model.n
    first = 2 if drawn.names == "none" else None
    if drawn.names == "joints":
        expected = [f"q_{joint}" for joint in model.joint_names]
        right = content["position"]["columns"] == expected
    else:
        place = np.argsort(drawn.order)  # the column of each joint
        expected = [int(k) + first for k in place] if first else [f"q{k + 1}" for k in place]
        right = content["position"]["columns"] == expected
    right &= content["position"]["unit"] == drawn.angle
    right &= content.get("time", {}).get("unit") == drawn.time
    right &= content.get("velocity", {}).get("unit", "") == drawn.rate
    right &= content.get("effort", {}).get("unit") == drawn.effort
    gain = np.broadcast_to(content.get("effort", {}).get("gain", 1.0), n)
    right &= bool(np.allclose(gain, drawn.gain, rtol=0.1))
    right &= len(content["joints"]) == n
    return bool(right), found.is_sure


def _campaign(draws: range, folder: Path) -> tuple[int, int, int]:
    sure_right = sure_wrong = right = 0
    for seed in draws:
        rng = np.random.default_rng(seed)
        model = _model(ROBOTS[seed % len(ROBOTS)])
        drawn = _draw(model, rng, folder / "run.csv")
        found = propose(folder / "run.csv", model)
        is_right, is_sure = _verdict(drawn, model, found)
        sure_right += is_right and is_sure
        sure_wrong += is_sure and not is_right
        right += is_right
        if not (is_right and is_sure):
            questions = [
                f"{e.part}: {e.text} -> {e.question}" for e in found.evidence if e.question
            ]
            print(seed, model.name, drawn, "right" if is_right else "WRONG", is_sure, questions)
    print(
        f"right and sure {sure_right}, wrong and sure {sure_wrong}, right {right} of {len(draws)}"
    )
    return sure_right, sure_wrong, right


def test_proposals_for_drawn_files_are_never_confidently_wrong(tmp_path: Path) -> None:
    sure_right, sure_wrong, _ = _campaign(range(5), tmp_path)
    assert sure_wrong == 0
    assert sure_right >= 3


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_proposals_for_500_drawn_files_are_right_and_sure_in_85_percent(tmp_path: Path) -> None:
    sure_right, sure_wrong, _ = _campaign(range(1000, 1500), tmp_path)
    assert sure_wrong == 0
    assert sure_right >= 425


def _write(path: Path, head: str, columns: list[np.ndarray]) -> None:
    np.savetxt(path, np.hstack(columns), delimiter=",", header=head, comments="", fmt="%.9g")


def test_units_in_a_second_header_a_pause_and_one_opposite_sign_are_found(tmp_path: Path) -> None:
    model = _model(ROBOTS[0])
    t, q, v, effort = _motion(model, np.random.default_rng(7))
    kept = np.r_[: len(t) // 3, len(t) // 2 : len(t)]
    signs = np.where(np.arange(model.n) == 3, -1.0, 1.0)
    head = ",".join(["Time", *(f"{kind}{k + 1}" for kind in ("q", "dq", "M") for k in range(7))])
    head += "\n" + ",".join(["ms", *["deg"] * 7, *["deg/s"] * 7, *["Nm"] * 7])
    columns = [
        1e3 * t[kept, None],
        np.degrees(q[kept]),
        np.degrees(v[kept]),
        (effort * signs)[kept],
    ]
    _write(tmp_path / "run.csv", head, columns)
    found = propose(tmp_path / "run.csv", model)
    assert found.is_sure
    assert found.content["effort"]["gain"] == signs.tolist()
    assert found.content["time"]["unit"] == "ms"


def test_nanoseconds_since_the_start_are_no_seconds_since_1970(tmp_path: Path) -> None:
    model = _model(ROBOTS[1])
    t, q, _, effort = _motion(model, np.random.default_rng(15))
    used = t > 2.0  # begins at 2e9 ns
    names = [f"{kind}_{j}" for kind in ("q", "tau") for j in model.joint_names]
    columns = [1e9 * t[used, None], q[used], effort[used]]
    _write(tmp_path / "run.csv", ",".join(["t", *names]), columns)
    found = propose(tmp_path / "run.csv", model)
    assert found.content["time"]["unit"] == "ns"
    assert found.is_sure


def test_cells_that_are_empty_and_a_clock_that_is_set_back_leave_the_gains(tmp_path: Path) -> None:
    model = _model(ROBOTS[3])
    t, q, v, effort = _motion(model, np.random.default_rng(8))
    stamp = np.where(t < 3.0, t, t - 3.0)
    gains = np.linspace(6.0, 12.0, model.n)
    values = np.hstack([q, v, effort / gains])
    values[::7] = np.nan
    names = [f"/joint_states/{j}/{kind}" for kind in ("position", "velocity", "effort")
             for j in model.joint_names]  # fmt: skip
    _write(tmp_path / "run.csv", ",".join(["__time", *names]), [stamp[:, None], values])
    found = propose(tmp_path / "run.csv", model)
    assert found.is_sure
    assert found.content["time"]["columns"] == ["__time"]
    assert np.allclose(found.content["effort"]["gain"], gains, rtol=0.05)


def test_what_efforts_do_not_show_is_asked(tmp_path: Path) -> None:
    model = _model(ROBOTS[1])
    t, q, v, effort = _motion(model, np.random.default_rng(9))
    names = [f"{kind}_{j}" for kind in ("q", "dq", "tau") for j in model.joint_names]
    head = ",".join(["time", *names])
    _write(tmp_path / "run.csv", head, [t[:, None], q, v, 1.3 * effort])
    (asked,) = [e.question for e in propose(tmp_path / "run.csv", model).evidence if e.question]
    assert "another sign, unit, gear or zero, or a load" in asked
    small = np.degrees(0.03 * q)
    columns = [t[:, None], small, np.degrees(0.03 * v)]
    _write(tmp_path / "run.csv", ",".join(["time", *names[:12]]), columns)
    found = propose(tmp_path / "run.csv", model)
    assert "are positions radians" in found.text


def test_angles_wrapped_to_whole_turns_are_radians_and_milliradians_are_found(
    tmp_path: Path,
) -> None:
    model = _model(ROBOTS[0])
    t, q, v, _ = _motion(model, np.random.default_rng(10))
    head = ",".join(["time", *(f"{kind}_{j}" for kind in ("q", "dq") for j in model.joint_names)])
    for unit, positions, rates in (("rad", q % (2 * np.pi), v), ("mrad", 1e3 * q, 1e3 * v)):
        _write(tmp_path / "run.csv", head, [t[:, None], positions, rates])
        found = propose(tmp_path / "run.csv", model).content
        assert (found["position"]["unit"], found["velocity"]["unit"]) == (unit, f"{unit}/s")


def _shoulder() -> VMSModel:
    path = resolve(f"package://example-robot-data/robots/{ROBOTS[0]}")
    assert path is not None
    locked = [f"panda_{name}" for name in ("finger_joint1", "finger_joint2", "joint1", "joint5",
              "joint6", "joint7")]  # fmt: skip
    return load_urdf(path, locked_joints=locked)


def test_joints_that_are_shuffled_are_found_though_efforts_lag(tmp_path: Path) -> None:
    model = _shoulder()
    t, q, _, effort = (rows[::4] for rows in _motion(model, np.random.default_rng(11)))
    late = np.stack([np.interp(t - 0.15, t, e) for e in effort.T], axis=1)
    order = [1, 2, 0]
    head = ",".join(["t", *(f"{kind}{k}" for kind in ("q", "tau") for k in range(3))])
    _write(tmp_path / "run.csv", head, [t[:, None], q[:, order], late[:, order]])
    found = propose(tmp_path / "run.csv", model)
    assert found.is_sure
    assert found.content["position"]["columns"] == ["q2", "q0", "q1"]
    assert "150 ms later" in found.text


def test_the_zero_of_a_joint_is_found_that_gains_would_hide(tmp_path: Path) -> None:
    model = _model(ROBOTS[0])
    t, q, _, effort = _motion(model, np.random.default_rng(14))
    q[:, 2] += 0.2  # without its zero the gain of this joint would err by half
    head = ",".join(["time", *(f"{kind}_{j}" for kind in ("q", "tau") for j in model.joint_names)])
    gains = np.linspace(6.0, 12.0, model.n)
    _write(tmp_path / "run.csv", head, [t[::4, None], q[::4], (effort / gains)[::4]])
    found = propose(tmp_path / "run.csv", model)
    assert found.is_sure
    assert np.allclose(found.content["position"]["offset"], [0, 0, -0.2, 0, 0, 0, 0], atol=0.01)
    assert np.allclose(found.content["effort"]["gain"], gains, rtol=0.05)


def test_a_lag_is_not_what_the_mean_of_two_noisy_samples_leaves() -> None:
    model = _model(ROBOTS[1])
    t, q, _, effort = (rows[::8] for rows in _motion(model, np.random.default_rng(12)))
    effort = effort + 0.1 * effort.std(axis=0) * np.random.default_rng(13).normal(size=q.shape)
    assert effort_lag(model, t, q, effort) == 0.0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty, or is no text in UTF-8"),
        ("time,position.a\n0,1\n".encode("utf-16"), "is empty, or is no text in UTF-8"),
        (b"time,position.a\n", "its columns are no numbers"),
        (b"time,position.a\nlate,far\n", "its columns are no numbers"),
    ],
)
def test_files_without_numbers_are_refused(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_bytes(content)
    with pytest.raises(RecordingError, match=sentence):
        propose(tmp_path / "run.csv", _model(ROBOTS[1]))


def test_a_proposal_is_a_map_that_is_read(tmp_path: Path) -> None:
    model = robots.load("panda")
    _draw(model, np.random.default_rng(0), tmp_path / "run.csv")
    found = propose(tmp_path / "run.csv", model)
    (tmp_path / "map.yaml").write_text(found.text)
    read = read_map(tmp_path / "map.yaml")
    assert read.joints == model.joint_names
    assert "# position: " in found.text


@pytest.mark.parametrize(("rate", "angle", "is_sure"), [(25.0, "rad", True), (200.0, "deg", False)])
def test_a_rate_is_found_from_velocities_where_there_is_no_time(
    tmp_path: Path, rate: float, angle: str, is_sure: bool
) -> None:
    model = _model(ROBOTS[1])
    t, q, v, effort = _motion(model, np.random.default_rng(9))
    times, size = np.arange(0.0, t[-1], 1.0 / rate), ANGLES[angle]
    rows = [np.stack([np.interp(times, t, x) for x in y.T], axis=1) for y in (q, v, effort)]
    names = [f"{kind}_{j}" for kind in ("q", "dq", "tau") for j in model.joint_names]
    columns = [size * rows[0], size * rows[1], rows[2]]
    _write(tmp_path / "run.csv", ",".join(names), columns)
    found = propose(tmp_path / "run.csv", model)
    assert found.content["rate"] == rate
    assert found.content["velocity"]["unit"] == f"{angle}/s"
    (time,) = [item for item in found.evidence if item.part == "time"]
    assert f"at {rate:g} Hz the velocities of 6 joints are slopes" in time.text
    assert (not time.question) == is_sure
    assert is_sure or "if speeds are in" in time.question
    # What is given is not asked.
    given = propose(tmp_path / "run.csv", model, rate=40.0)
    assert given.content["rate"] == 40.0
    assert "rate in Hz" not in given.text
    # Junk tells no rate.
    junk = np.random.default_rng(1).normal(size=v[: len(times)].shape)
    _write(tmp_path / "run.csv", ",".join(names), [columns[0], junk, columns[2]])
    assert "1000 is a guess" in propose(tmp_path / "run.csv", model).text


def _write_plain(path: Path, columns: list[np.ndarray]) -> None:
    np.savetxt(path, np.hstack(columns), delimiter=",", fmt="%.9g")


def test_desired_columns_are_not_taken_for_the_measured_ones(tmp_path: Path) -> None:
    model = _shoulder()
    t, q, v, effort = (rows[::4] for rows in _motion(model, np.random.default_rng(16)))
    lead = [np.stack([np.interp(t + 0.05, t, x) for x in y.T], axis=1) for y in (q, v)]
    counts = [np.round(x / step) * step for x, step in ((q, 4e-4), (v, 1e-2))]
    _write_plain(tmp_path / "run.csv", [t[:, None], *counts, effort, *lead])
    found = propose(tmp_path / "run.csv", model)
    assert found.is_sure
    assert found.content["position"]["columns"] == list(range(2, 5))
    assert found.content["velocity"]["columns"] == list(range(5, 8))
    assert found.content["effort"]["columns"] == list(range(8, 11))
    held = [x[np.arange(len(t)) // 2 * 2] for x in lead]
    for desired in ((q, v), held):
        _write_plain(tmp_path / "run.csv", [t[:, None], q, v, effort, *desired])
        assert "are measured?" in propose(tmp_path / "run.csv", model).text


def test_measured_efforts_are_preferred_to_commands_that_have_less_noise(tmp_path: Path) -> None:
    model, rng = _model(ROBOTS[0]), np.random.default_rng(3)
    t, q, v, effort = _motion(model, rng)
    noisy = effort + 0.1 * np.std(effort, axis=0) * rng.normal(size=effort.shape)
    kinds = {"q": q, "dq": v, "tau_cmd": effort, "tau": noisy}
    head = ["t", *(f"{kind}{k + 1}" for kind in kinds for k in range(model.n))]
    _write(tmp_path / "a.csv", ",".join(head), [t[:, None], *kinds.values()])
    found = propose(tmp_path / "a.csv", model)
    assert found.content["effort"]["columns"] == [f"tau{k + 1}" for k in range(model.n)]


def test_of_columns_without_names_those_are_efforts_that_move_the_robot(tmp_path: Path) -> None:
    model = _shoulder()
    rng = np.random.default_rng(17)
    t, q, v, effort = (rows[::4] for rows in _motion(model, rng))
    warmth = 30.0 + np.cumsum(rng.normal(size=q.shape), axis=0)
    _write_plain(tmp_path / "run.csv", [t[:, None], q, v, warmth, effort])
    found = propose(tmp_path / "run.csv", model)
    assert found.is_sure
    assert found.content["effort"]["columns"] == list(range(11, 14))
    _write_plain(tmp_path / "run.csv", [t[:, None], q, v, effort, effort])
    assert "which 3 of column 8, " in propose(tmp_path / "run.csv", model).text


def test_names_are_those_of_joints_by_a_word_or_by_initials(tmp_path: Path) -> None:
    model = _model(ROBOTS[1])
    t, q, v, effort = (rows[::4] for rows in _motion(model, np.random.default_rng(18)))
    names = ["ELBOW", "SL", "wrist_2_joint", "wrist_1_joint", "PAN", "Tool"]
    order = [2, 1, 4, 3, 0, 5]
    head = ",".join(["t", *(f"{kind}_{name}" for kind in ("q", "qd", "tau") for name in names)])
    columns = [t[:, None], q[:, order], v[:, order], effort[:, order]]
    _write(tmp_path / "run.csv", head, columns)
    found = propose(tmp_path / "run.csv", model)
    assert found.is_sure
    expected = ["PAN", "SL", "ELBOW", "wrist_1_joint", "wrist_2_joint", "Tool"]
    assert found.content["position"]["columns"] == [f"q_{name}" for name in expected]
    assert found.content["effort"]["columns"] == [f"tau_{name}" for name in expected]
    assert "'q_Tool' is left for wrist_3_joint" in found.text
    _write(tmp_path / "run.csv", head.replace("tau_wrist_2_joint", "tau_ELBOW"), columns)
    found = propose(tmp_path / "run.csv", model)
    assert found.content["position"]["columns"] == [f"q_{name}" for name in expected]
    assert [e.question for e in found.evidence if e.part == "names"] != [""]
    assert {14, 16} <= set(found.content["effort"]["columns"])


def _numbered(form: str, n: int) -> list[str]:
    return [form.format(k) for k in range(n)]


def test_logs_of_rtde_and_libfranka_are_read_by_their_names(tmp_path: Path) -> None:
    """Columns of record.py of RTDE, whose efforts are currents, and of the log of libfranka."""
    rng = np.random.default_rng(5)
    model = _model(ROBOTS[1])
    t, q, v, effort = _motion(model, rng)
    kinds = ["target_q_{}", "target_qd_{}", "target_moment_{}"]
    kinds += ["actual_q_{}", "actual_qd_{}", "actual_current_{}", "actual_TCP_pose_{}"]
    names = ["timestamp", *(name for kind in kinds for name in _numbered(kind, 6)), "robot_mode"]
    lead = [np.roll(x, -8, axis=0) for x in (q, v, effort)]
    gains = np.array([12.0, 12.0, 12.0, 9.0, 9.0, 9.0])
    measured = [q, v, effort / gains, rng.normal(size=q.shape)]
    columns = [t[:, None] + 4711.5, *lead, *measured, np.full((len(t), 1), 7.0)]
    np.savetxt(tmp_path / "rtde.csv", np.hstack(columns), header=" ".join(names), comments="")
    found = propose(tmp_path / "rtde.csv", model).content
    assert found["position"]["columns"] == _numbered("actual_q_{}", 6)
    assert found["velocity"]["columns"] == _numbered("actual_qd_{}", 6)
    assert found["effort"]["columns"] == _numbered("actual_current_{}", 6)
    assert found["effort"]["unit"] == "A"
    assert found["effort"]["gain"][:4] == pytest.approx(gains[:4], rel=0.1)

    model = _model(ROBOTS[0])
    t, q, v, effort = _motion(model, rng)
    kinds = ["state.q[{}]", "state.q_d[{}]", "state.dq[{}]", "state.tau_J[{}]", "cmd.tau_J_d[{}]"]
    names = ["time", "success_rate", *(name for kind in kinds for name in _numbered(kind, 7))]
    columns = [t[:, None], np.ones((len(t), 1)), q, np.roll(q, -4, axis=0), v, effort]
    columns += [effort + 0.01 * rng.normal(size=q.shape)]
    rows = np.hstack(columns)
    np.savetxt(tmp_path / "log.csv", rows, delimiter=",", header=",".join(names), comments="")
    found = propose(tmp_path / "log.csv", model).content
    assert found["position"]["columns"] == _numbered("state.q[{}]", 7)
    assert found["velocity"]["columns"] == _numbered("state.dq[{}]", 7)
    assert found["effort"]["columns"] == _numbered("state.tau_J[{}]", 7)


def test_joints_that_rest_stay_where_the_columns_have_them(tmp_path: Path) -> None:
    model = _model(ROBOTS[0])
    t, q, _, effort = (rows[::4] for rows in _motion(model, np.random.default_rng(19), (0, 2, 6)))
    head = ",".join(["t", *(f"{kind}{k}" for kind in ("q", "tau") for k in range(1, 8))])
    _write(tmp_path / "run.csv", head, [t[:, None], q, effort])
    found = propose(tmp_path / "run.csv", model)
    assert found.content["position"]["columns"] == [f"q{k}" for k in range(1, 8)]
    assert "are panda_joint1 and panda_joint3 and panda_joint7 in this order?" in found.text


@pytest.mark.parametrize("seed", [3, 5])
def test_what_the_efforts_do_not_explain_changes_neither_order_nor_zero_nor_unit(
    tmp_path: Path, seed: int
) -> None:
    model, rng = _shoulder(), np.random.default_rng(seed)
    t, q, _, effort = (rows[::4] for rows in _motion(model, rng))
    zeros, order = rng.uniform(-1.5, 1.5, 3), rng.permutation(3)
    head = ",".join(["t", *(f"{kind}{k}" for kind in ("q", "tau") for k in range(3))])
    _write(tmp_path / "run.csv", head, [t[:, None], (q + zeros)[:, order], effort[:, order]])
    found = propose(tmp_path / "run.csv", model)
    assert found.content["position"] == {"columns": ["q0", "q1", "q2"], "unit": "rad"}
    assert found.content["effort"] == {"columns": ["tau0", "tau1", "tau2"]}
    assert "which unit have they?" in found.text


def test_joints_without_limits_leave_no_warning(tmp_path: Path) -> None:
    links = "".join(
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        'ixz="0" iyz="0"/></inertial></link>'
        for name in "ab"
    )
    (tmp_path / "wheel.urdf").write_text(
        f'<robot name="wheel">{links}<joint name="turn" type="continuous"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 0 1"/></joint></robot>'
    )
    t = np.linspace(0.0, 2.0, 200)[:, None]
    _write(tmp_path / "run.csv", "t,q_turn", [t, np.sin(3.0 * t)])
    found = propose(tmp_path / "run.csv", load_urdf(tmp_path / "wheel.urdf"))
    assert found.content["position"]["unit"] == "rad"


def test_a_joint_that_slides_has_its_own_unit(tmp_path: Path) -> None:
    link = """<link name="{0}"><inertial><origin xyz="0.1 0 0"/><mass value="{1}"/>
      <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
    joint = """<joint name="{0}" type="{1}"><origin xyz="0.3 0 0"/><parent link="{2}"/>
      <child link="{3}"/><axis xyz="0 0 {4}"/><limit lower="-3" upper="3" effort="80"
      velocity="8"/></joint>"""
    parts = [link.format(name, mass) for name, mass in (("a", 3), ("b", 2), ("c", 1.5), ("d", 1))]
    parts.append(joint.format("j1", "revolute", "a", "b", 1))
    parts.append(joint.format("j2", "revolute", "b", "c", 1))
    parts.append(joint.format("slide", "prismatic", "c", "d", -1))
    model = VMSModel.from_urdf(f'<robot name="scara">{"".join(parts)}</robot>')
    t, frequency, size = np.arange(0, 4, 0.005), np.array([1.1, 1.7, 2.3]), np.array([1.2, 1, 0.12])
    phase = np.outer(t, frequency)
    q, v = size * np.sin(phase), size * frequency * np.cos(phase)
    a, data = -size * frequency**2 * np.sin(phase), model.pinocchio.createData()
    effort = np.array([pin.rnea(model.pinocchio, data, *x) for x in zip(q, v, a, strict=True)])
    scale = np.array([180 / np.pi, 180 / np.pi, 1.0])
    columns = ",".join(["t", *(f"{what}{k}" for what in ("q", "dq", "tau") for k in (1, 2, 3))])
    rows = np.column_stack([t, q * scale, v * scale, effort])
    np.savetxt(tmp_path / "run.csv", rows, delimiter=",", header=columns, comments="")
    proposal = propose(tmp_path / "run.csv", model)
    assert proposal.is_sure
    assert proposal.content["position"]["unit"] == ["deg", "deg", "m"]
    assert proposal.content["velocity"]["unit"] == ["deg/s", "deg/s", "m/s"]
    assert proposal.content["effort"]["unit"] == "N m"

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings as strangers have them: read as they are meant, or said why not."""

import csv
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest
import yaml
from recorded_motions import START, Known, excited
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from vms_ph_dynamics import Array, StandardForm, VMSModel, VmsPhError, integrate
from vms_ph_dynamics.energy.energy_path import generalised_forces
from vms_ph_dynamics.identification import Settings, identify
from vms_ph_io import audit, robots
from vms_ph_io.audits import answers
from vms_ph_io.audits.certificate import RecordedCertificate, certify
from vms_ph_io.recordings import RecordingError, read_recording
from vms_ph_io.recordings.motion import RecordedMotion

STORE = get_typestore(Stores.ROS2_JAZZY)
SMALL = 2e-3  # J, unaccounted in the motion as it is known, of 60 J that are moved


@pytest.fixture(scope="module")
def panda() -> VMSModel:
    return robots.load("panda")


@pytest.fixture(scope="module")
def known(panda: VMSModel) -> Known:
    return excited(panda, 1.0, 500.0)


def header(stamp: int, frame: str = "") -> object:
    time = STORE.types["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9)
    return STORE.types["std_msgs/msg/Header"](stamp=time, frame_id=frame)


def state(stamp: int, names: Iterable[str], q: Array, v: Array, effort: Array) -> object:
    parts = {"position": q, "velocity": v, "effort": effort}
    arrays = {name: np.array(value, dtype=float) for name, value in parts.items()}
    return STORE.types["sensor_msgs/msg/JointState"](
        header=header(stamp), name=list(names), **arrays
    )


def write(path: Path, messages: Iterable[tuple[int, str, object]]) -> Path:
    """Write messages with their log times, ns, and topics."""
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connections: dict[str, object] = {}
        for time, topic, message in messages:
            kind = message.__msgtype__  # type: ignore[attr-defined]
            if topic not in connections:
                connections[topic] = writer.add_connection(topic, kind, typestore=STORE)
            writer.write(connections[topic], time, STORE.serialize_cdr(message, kind))
    return path


def stamps(known: Known) -> list[int]:
    return [START + round(1e9 * t) for t in known.t]


def bag(path: Path, known: Known, **changed: Array) -> Path:
    k = known.changed(**changed)
    rows = zip(stamps(known), k.q, k.v, k.effort, strict=True)
    return write(path, [(s, "/joint_states", state(s, k.joints, *row)) for s, *row in rows])


def statements(found: object) -> str:
    conditioning = found.conditioning.statements(found.model.joint_names)  # type: ignore[attr-defined]
    return "; ".join([*conditioning, *found.recording.notes])  # type: ignore[attr-defined]


def missing(found: object) -> float:
    """Return what is unaccounted but for the friction, which the known motions do not have, J."""
    ledger = found.ledger  # type: ignore[attr-defined]
    return float(ledger.unaccounted - ledger.dissipated)


def with_text(cells: list[str]) -> str:
    return ",".join([*cells, "RUNNING"])


def with_decimal_commas(cells: list[str]) -> str:
    return ";".join(cell.replace(".", ",") for cell in cells)


def with_dates(cells: list[str]) -> str:
    time = datetime.fromtimestamp(1.7e9 + float(cells[0]), timezone.utc)
    return ",".join([time.isoformat(), *cells[1:]])


def with_trailing_delimiter(cells: list[str]) -> str:
    return ",".join([*cells, ""])


@pytest.mark.parametrize(
    "line", [with_text, with_decimal_commas, with_dates, with_trailing_delimiter]
)
def test_columns_of_spreadsheets_and_loggers_are_read(
    known: Known, panda: VMSModel, tmp_path: Path, line: Callable[[list[str]], str]
) -> None:
    text = known.write_csv(tmp_path / "plain.csv").read_text().splitlines()
    separator = ";" if line is with_decimal_commas else ","
    head = separator.join([*text[0].split(","), *(["mode"] if line is with_text else [])])
    rows = [line(row.split(",")) for row in text[1:]]
    file = tmp_path / "run.csv"
    file.write_text("\n".join([head, *rows]))
    found = audit(file, panda)
    assert len(found.ledger.time) > 100
    assert abs(missing(found)) < SMALL


def test_comments_before_the_rows_are_passed_over_and_may_name_the_columns(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    head, *rows = known.write_csv(tmp_path / "plain.csv").read_text().splitlines()
    blanks = [line.replace(",", " ") for line in (head, *rows)]
    files = {
        "comments.csv": ["# rig 3, 12 May", "% 1 kHz", head, *rows],
        "savetxt.csv": [f"# {head}", *rows],
        "savetxt.txt": [f"# {blanks[0]}", *blanks[1:]],
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(lines))
        found = audit(tmp_path / name, panda)
        assert len(found.ledger.time) > 100
        assert abs(missing(found)) < SMALL


def test_arrays_in_cells_and_times_of_parquet_are_read(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"q": known.q, "dq": known.v, "tau": known.effort}
    for separator in (", ", " "):
        cells = [["t", *columns]]
        for k, t in enumerate(known.t):
            arrays = [separator.join(map(repr, x[k].tolist())) for x in columns.values()]
            cells.append([repr(float(t)), *(f"[{x}]" for x in arrays)])
        with (tmp_path / "run.csv").open("w", newline="") as file:
            csv.writer(file).writerows(cells)
        names = {n: [f"{n}[{k}]" for k in range(1, 8)] for n in columns}
        content = {"joints": list(known.joints), "time": "t", "position": names["q"]}
        content |= {"velocity": names["dq"], "effort": names["tau"]}
        (tmp_path / "map.yaml").write_text(yaml.safe_dump(content))
        recording = read_recording(tmp_path / "run.csv", columns=tmp_path / "map.yaml")
        rows = recording.joints[0].table.rows(0, len(known.t))[:, 1:]
        np.testing.assert_array_equal(rows, np.hstack([*columns.values()]))

    times = np.array(stamps(known)).astype("datetime64[ns]")
    table = {"time": pa.array(times)}
    for name, values in zip(("position", "velocity", "effort"), columns.values(), strict=True):
        table |= {f"{name}.{joint}": x for joint, x in zip(known.joints, values.T, strict=True)}
    parquet.write_table(pa.table(table), tmp_path / "run.parquet")
    assert abs(missing(audit(tmp_path / "run.parquet", panda))) < 4 * SMALL


def test_a_cell_that_is_no_number_is_named(known: Known, tmp_path: Path) -> None:
    text = known.write_csv(tmp_path / "plain.csv").read_text().splitlines()
    rows = ["nineteen," + row.partition(",")[2] for row in text[1:]]
    (tmp_path / "run.csv").write_text("\n".join([text[0], *rows]))
    with pytest.raises(RecordingError, match="wrong cell is 'nineteen' in the column 'time'"):
        read_recording(tmp_path / "run.csv")


def test_a_driver_may_come_back_with_more_joints_or_other_names(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    half = len(known.t) // 2
    more, renamed = [*known.joints, "finger"], [f"right_{name}" for name in known.joints]
    for names, samples in ((more, 2 * half), (renamed, half)):
        messages = []
        for k, stamp in enumerate(stamps(known)[: 2 * half]):
            width = len(names) if k >= half else len(known.joints)
            row = (np.resize(x[k], width) for x in (known.q, known.v, known.effort))
            label = names if k >= half else known.joints
            messages.append((stamp, "/joint_states", state(stamp, label, *row)))
        found = audit(write(tmp_path / names[-1], messages), panda)
        assert found.ledger.samples == samples
        assert abs(missing(found)) < SMALL
        told = f"not used: {half} messages of right_"
        assert (told in statements(found)) is (samples == half)


def test_the_order_of_joints_may_change(known: Known, panda: VMSModel, tmp_path: Path) -> None:
    order = [6, 2, 0, 1, 3, 5, 4]
    messages = []
    for k, (s, q, v, effort) in enumerate(
        zip(stamps(known), known.q, known.v, known.effort, strict=True)
    ):
        o = order if 2 * k > len(known.t) else list(range(7))
        row = state(s, [known.joints[j] for j in o], q[o], v[o], effort[o])
        messages.append((s, "/joint_states", row))
    found = audit(write(tmp_path / "bag", messages), panda)
    assert found.ledger.duration == pytest.approx(known.t[-1])
    assert abs(missing(found)) < SMALL


def test_of_two_robots_one_is_taken_with_its_own_description_and_the_other_named(
    known: Known, tmp_path: Path
) -> None:
    text = robots.get("panda").description()
    heavy = text.replace('<robot name="panda"', '<robot name="heavy"').replace(
        'mass value="0.7', 'mass value="3.7'
    )
    assert heavy != text
    string = STORE.types["std_msgs/msg/String"]
    messages: list[tuple[int, str, object]] = [
        (START, "/left/robot_description", string(data=text)),
        (START + 1, "/right/robot_description", string(data=heavy)),
    ]
    for s, q, v, effort in zip(stamps(known), known.q, known.v, known.effort, strict=True):
        messages.append((s, "/left/joint_states", state(s, known.joints, q, v, effort)))
        messages.append((s, "/right/joint_states", state(s, known.joints, q, 0 * v, 0 * effort)))
    path = write(tmp_path / "bag", messages)
    found = audit(path)
    assert "/right/joint_states" in statements(found)
    chosen = audit(read_recording(path, topics={"joints": "/left/joint_states"}))
    for each in (found, chosen):
        assert each.model.name == "panda"
        assert abs(missing(each)) < SMALL


def test_efforts_on_a_topic_of_their_own_are_used(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    messages: list[tuple[int, str, object]] = []
    nothing = np.empty(0)
    for s, q, v, effort in zip(stamps(known), known.q, known.v, known.effort, strict=True):
        messages.append((s, "/joint_states", state(s, known.joints, q, v, nothing)))
        torques = state(s + 200_000, known.joints, nothing, nothing, effort)
        messages.append((s, "/torques", torques))
    found = audit(write(tmp_path / "bag", messages), panda)
    assert abs(missing(found)) < SMALL
    assert "the effort of panda_joint3 is that on /torques" in statements(found)


def test_angles_that_are_wrapped_are_unwrapped(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    q = known.q.copy()
    q[:, 3] = (q[:, 3] - q[len(q) // 2, 3]) % (2 * np.pi) + q[len(q) // 2, 3]
    assert np.abs(np.diff(q[:, 3])).max() > 6.0
    found = audit(bag(tmp_path / "bag", known, q=q, v=np.full_like(known.v, np.nan)), panda)
    assert abs(missing(found)) < SMALL
    assert np.abs(found.ledger.series["unaccounted"]).max() < 10 * SMALL
    assert "the angle of panda_joint4 is recorded within a turn" in statements(found)
    assert "panda_joint5 is recorded within" not in statements(found)


def test_an_effort_that_is_missing_is_named_and_is_no_evidence(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    effort = known.effort.copy()
    effort[:, 1] = np.nan
    found = audit(bag(tmp_path / "bag", known, effort=effort), panda)
    assert "no effort of panda_joint2 is recorded" in statements(found)
    assert "--effort" not in statements(found)
    first, *others = answers(found)
    assert first.startswith("No effort of joint 'panda_joint2' was recorded: ")
    assert others[0].startswith("Do this: make the driver publish it")
    assert not [sentence for sentence in others if "friction" in sentence or "sign" in sentence]


def test_samples_before_the_hardware_is_ready_are_left_out(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    parts = {name: getattr(known, name).copy() for name in ("q", "v", "effort")}
    for values in parts.values():
        values[:60] = np.nan
    found = audit(bag(tmp_path / "bag", known, **parts), panda)
    assert found.conditioning.clock == "stamps"
    assert found.ledger.duration == pytest.approx(known.t[-1] - known.t[60])
    assert "60 samples without positions were left out" in statements(found)
    assert abs(missing(found)) < SMALL


def test_time_zero_is_that_of_a_simulation(known: Known, panda: VMSModel, tmp_path: Path) -> None:
    rows = zip(stamps(known), known.q, known.v, known.effort, strict=True)
    messages = [(s, "/joint_states", state(s - START, known.joints, *row)) for s, *row in rows]
    order = audit(write(tmp_path / "bag", messages), panda).conditioning.order
    assert not order.reset_times
    assert not order.gaps
    unstamped = [
        (s, "/joint_states", state(0, known.joints, *row))
        for s, *row in zip(stamps(known), known.q, known.v, known.effort, strict=True)
    ]
    series = read_recording(write(tmp_path / "unstamped", unstamped)).joints[0]
    assert series.table.times.tolist() == stamps(known)


@pytest.fixture(scope="module")
def drifting() -> tuple[VMSModel, Array, Array, Array]:
    """A satellite that tumbles without efforts: model, times, configurations, velocities."""
    model = robots.load("satellite_panda")
    form = StandardForm(model)
    v = np.r_[0.1, -0.2, 0.05, 0.3, 0.2, 0.9, 0.3 * np.ones(model.n)]
    run = integrate(form, form.state(model.neutral_configuration(), v), dt=5e-3, steps=400)
    return model, run.t, run.q, run.v


def moving_bag(
    path: Path,
    drifting: tuple[VMSModel, Array, Array, Array],
    world: bool,
    used: slice,
    without_twist: slice = slice(0, 0),
    topics: tuple[str, ...] = ("/odom",),
    order: tuple[int, ...] = (3, 4, 5, 6),
    effort: float = 0.0,
) -> Path:
    model, times, q, v = drifting
    types = STORE.types
    messages: list[tuple[int, str, object]] = []
    for k, t in enumerate(times):
        s = START + round(1e9 * t)
        joints = state(s, model.joint_names, q[k, 7:], v[k, 6:], np.full(model.n, effort))
        messages.append((s, "/joint_states", joints))
        if not used.start <= k < used.stop:
            continue
        turn = Rotation.from_quat(q[k, 3:7]).as_matrix() if world else np.eye(3)
        linear, angular = turn @ v[k, :3], turn @ v[k, 3:6]
        if without_twist.start <= k < without_twist.stop:
            linear = angular = np.full(3, np.nan)
        vector, point = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Point"]
        twist = types["geometry_msgs/msg/Twist"](vector(*linear), vector(*angular))
        pose = types["geometry_msgs/msg/Pose"](
            point(*q[k, :3]), types["geometry_msgs/msg/Quaternion"](*q[k, order])
        )
        zero = np.zeros(36)
        odometry = types["nav_msgs/msg/Odometry"](
            header=header(s, "odom"),
            child_frame_id="",
            pose=types["geometry_msgs/msg/PoseWithCovariance"](pose, zero),
            twist=types["geometry_msgs/msg/TwistWithCovariance"](twist, zero),
        )
        messages += [(s, topic, odometry) for topic in topics]
    return write(path, messages)


def test_what_odometry_does_not_cover_is_not_accounted(
    drifting: tuple[VMSModel, Array, Array, Array], tmp_path: Path
) -> None:
    path = moving_bag(tmp_path / "bag", drifting, world=False, used=slice(100, 300))
    found = audit(path, drifting[0])
    assert found.ledger.duration == pytest.approx(0.995)
    assert "/odom has no values in" in statements(found)
    assert abs(missing(found)) < SMALL


def test_odometry_that_is_no_number_for_a_while_is_a_gap(
    drifting: tuple[VMSModel, Array, Array, Array], tmp_path: Path
) -> None:
    path = moving_bag(tmp_path / "bag", drifting, False, slice(0, 401), slice(100, 200))
    found = audit(path, drifting[0])
    assert found.ledger.gaps == 1
    assert "/odom has no values in 24.9 % of the 2.000 s, first at 0.500 s" in statements(found)
    assert abs(missing(found)) < SMALL


def test_another_odometry_is_named(
    drifting: tuple[VMSModel, Array, Array, Array], tmp_path: Path
) -> None:
    topics = "/odom", "/wheel/odom"
    path = moving_bag(tmp_path / "bag", drifting, False, slice(0, 99), topics=topics)
    text = "/wheel/odom has the pose of the base too and is not used; used is /odom (choose with "
    assert text + "--topic base=/wheel/odom)" in statements(audit(path, drifting[0]))


def test_a_twist_in_world_axes_is_turned(
    drifting: tuple[VMSModel, Array, Array, Array], tmp_path: Path
) -> None:
    path = moving_bag(tmp_path / "bag", drifting, world=True, used=slice(0, 401))
    found = audit(path, drifting[0])
    assert "linear twist on /odom is in the axes of odom" in statements(found)
    assert "angular twist on /odom is in the axes of odom" in statements(found)
    assert abs(missing(found)) < SMALL


def test_other_units_of_angles_and_times_are_refused_with_the_remedy(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    degrees = known.changed(q=np.degrees(known.q), v=np.degrees(known.v))
    with pytest.raises(RecordingError, match="look like degrees; give position the unit deg"):
        audit(degrees.write_csv(tmp_path / "degrees.csv"), panda)
    pause = np.r_[:200, 300 : len(known.t)]
    paused = degrees.changed(**{k: getattr(degrees, k)[pause] for k in ("t", "q", "v", "effort")})
    with pytest.raises(RecordingError, match="look like degrees"):
        audit(paused.write_csv(tmp_path / "paused.csv"), panda)
    milliseconds = known.changed(t=1e3 * known.t)
    with pytest.raises(RecordingError, match="look like ms; give time the unit ms"):
        audit(milliseconds.write_csv(tmp_path / "milliseconds.csv"), panda)
    still = known.changed(t=1e3 * known.t, v=np.nan * known.v)
    with pytest.raises(RecordingError, match=r"its joints move with .* look like ms"):
        audit(still.write_csv(tmp_path / "without_velocities.csv"), panda)
    counts = known.changed(q=known.q * 4096 / (2 * np.pi))
    with pytest.raises(RecordingError, match="they are in no SI unit"):
        audit(counts.write_csv(tmp_path / "counts.csv"), panda)
    nanoseconds = known.changed(t=1.7e18 + 1e9 * known.t)
    with pytest.raises(RecordingError, match="if they are nanoseconds"):
        audit(nanoseconds.write_csv(tmp_path / "nanoseconds.csv"), panda)


def test_a_bag_in_degrees_is_exported_before_it_is_described(known: Known, tmp_path: Path) -> None:
    q, v = np.degrees(known.q), np.degrees(known.v)
    path = bag(tmp_path / "bag", known, q=q, v=v)
    with pytest.raises(RecordingError, match="of a bag that of its CSV: vms-ph bag export"):
        audit(path, "panda")
    (tmp_path / "map.yaml").write_text("{}")
    with pytest.raises(RecordingError, match="is a bag, and a column map is for files of columns"):
        read_recording(path, columns=tmp_path / "map.yaml")


def test_a_file_of_a_bag_that_is_missing_is_named(known: Known, tmp_path: Path) -> None:
    path = bag(tmp_path / "bag", known)
    metadata = path / "metadata.yaml"
    lines = metadata.read_text().replace("- bag.mcap", "- bag.mcap\n  - bag_1.mcap", 1)
    metadata.write_text(lines)
    assert "bag_1.mcap of the bag is missing" in read_recording(path).notes


def test_xacro_that_was_recorded_is_no_description(known: Known, tmp_path: Path) -> None:
    text = '<robot name="arm"><link name="${tip}"/></robot>'
    description = STORE.types["std_msgs/msg/String"](data=text)
    row = state(START, known.joints, known.q[0], known.v[0], known.effort[0])
    messages = [(START, "/robot_description", description), (START, "/joint_states", row)]
    with pytest.raises(VmsPhError, match="is xacro that was not expanded; give the robot"):
        audit(write(tmp_path / "bag", messages))


@pytest.mark.parametrize(
    ("frame", "said"), [("panda_link9", "nearest are panda_link8"), ("sensor", "is not used")]
)
def test_a_wrench_of_an_unknown_frame_is_never_passed_over_in_silence(
    known: Known, panda: VMSModel, tmp_path: Path, frame: str, said: str
) -> None:
    vector = STORE.types["geometry_msgs/msg/Vector3"]
    wrench = STORE.types["geometry_msgs/msg/Wrench"](vector(1.0, 0.0, 0.0), vector(0.0, 0.0, 0.0))
    messages: list[tuple[int, str, object]] = []
    for s, q, v, effort in zip(stamps(known), known.q, known.v, known.effort, strict=True):
        messages.append((s, "/joint_states", state(s, known.joints, q, v, effort)))
        stamped = STORE.types["geometry_msgs/msg/WrenchStamped"](header(s, frame), wrench)
        messages.append((s, "/ft", stamped))
    path = write(tmp_path / "bag", messages)
    if frame == "sensor":
        assert said in statements(audit(path, panda))
    else:
        with pytest.raises(RecordingError, match=said):
            audit(path, panda)


def test_two_robots_on_one_topic_are_refused(known: Known, panda: VMSModel, tmp_path: Path) -> None:
    messages: list[tuple[int, str, object]] = []
    for s, q, v, effort in zip(stamps(known), known.q, known.v, known.effort, strict=True):
        for later, shift in ((0, 0.0), (1_000_000, 0.4)):
            message = state(s + later, known.joints, q + shift, v, effort)
            messages.append((s + later, "/joint_states", message))
    with pytest.raises(RecordingError, match="positions alternate between two motions"):
        audit(write(tmp_path / "bag", messages), panda)


def test_quaternions_whose_first_number_is_w_are_refused(
    drifting: tuple[VMSModel, Array, Array, Array], tmp_path: Path
) -> None:
    path = moving_bag(tmp_path / "bag", drifting, False, slice(0, 401), order=(6, 3, 4, 5))
    with pytest.raises(RecordingError, match="quaternions as w, x, y, z, and not as x, y, z, w"):
        audit(path, drifting[0])


def test_commands_are_not_taken_for_states(known: Known, panda: VMSModel, tmp_path: Path) -> None:
    messages: list[tuple[int, str, object]] = []
    for k, (s, q, v, effort) in enumerate(
        zip(stamps(known), known.q, known.v, known.effort, strict=True)
    ):
        for topic in ("/joint_command", "/a/desired_joint_states"):
            messages.append((s, topic, state(s, known.joints, q + 0.5, 0 * v, 0 * effort)))
        if k % 2 == 0:  # fewer than commands
            messages.append((s, "/joint_states", state(s, known.joints, q, v, effort)))
    found = audit(write(tmp_path / "bag", messages), panda)
    assert abs(missing(found)) < 4 * SMALL
    assert "/joint_command has 7 of the joints too and is not used" in statements(found)


def test_efforts_that_are_no_numbers_for_a_while_are_interpolated_and_named(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    effort = known.effort.copy()
    effort[100:110, 1] = np.nan
    found = audit(bag(tmp_path / "bag", known, effort=effort), panda)
    assert "the effort of panda_joint2 is no plausible number in 2 % of" in statements(found)
    assert abs(missing(found)) < 4 * SMALL


def test_an_effort_that_no_joint_gives_in_one_sample_is_left_out_and_named(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    effort = known.effort.copy()
    effort[200, 1], effort[300, 2] = 300.0, -1e6
    found = audit(bag(tmp_path / "bag", known, effort=effort), panda)
    for joint in ("panda_joint2", "panda_joint3"):
        assert f"the effort of {joint} is no plausible number in 0.2 % of" in statements(found)
    assert abs(missing(found)) < 4 * SMALL
    effort[200:203, 1] = 300.0  # three samples are no damage
    found = audit(bag(tmp_path / "long", known, effort=effort), panda)
    assert "the effort of panda_joint2" not in statements(found)


def test_a_push_is_no_error_of_the_model(panda: VMSModel, tmp_path: Path) -> None:
    known = excited(panda, 6.0, 200.0)
    effort, push = known.effort.copy(), np.array([0.0, 40.0, 0.0, 0.0, 0.0, 0.0])
    for k in range(600, 720):  # from 3.0 to 3.6 s, N that nobody recorded
        effort[k] -= panda.jacobian("panda_link8", known.q[k], "world").T @ push
    found = audit(bag(tmp_path / "bag", known, effort=effort), panda)
    meaning = found.conditioning.meaning
    assert not meaning.unrelated_joints.any()
    ((begin, end),) = meaning.bursts
    assert 2.8 <= begin <= 3.0
    assert 3.6 <= end <= 3.8
    assert meaning.misfit["torque"][1] < 0.01
    assert "something seems to have touched, pushed or loaded" in " ".join(answers(found))
    # What is wrong whenever the robot moves is no push.
    effort = known.effort.copy()
    effort[:, 3] *= -1.0
    found = audit(bag(tmp_path / "sign", known, effort=effort), panda)
    assert not found.conditioning.meaning.bursts


def test_even_stamps_stay_where_velocities_are_no_slopes(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    found = audit(bag(tmp_path / "bag", known, v=1.1 * known.v), panda)
    assert found.ledger.duration == pytest.approx(known.t[-1], rel=1e-6)
    assert "what is recorded is 1.1 times its slope" in statements(found)
    assert abs(missing(found)) < 4 * SMALL


def test_the_sign_of_a_joint_that_moves_little_is_told(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    effort = known.effort * [1, 1, 1, 1, 1, 1, -1]
    first = answers(audit(bag(tmp_path / "bag", known, effort=effort), panda))
    assert first[0].startswith("The sign of the effort of panda_joint7 is opposite")
    assert first[2].startswith("The energy adds up")


def test_gains_are_not_sought_beside_recorded_wrenches(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    turned = known.changed(effort=known.effort * [1, 1, -1, 1, 1, 1, 1])
    path = bag_with_wrench(tmp_path / "bag", turned, np.full(len(known.t), 1e-6))
    motion = RecordedMotion(read_recording(path), panda)
    samples = [block.samples for block in motion.blocks()]
    found = identify(panda, samples, ("gains", "friction"), settings=Settings(energy=False))
    assert found["gain.panda_joint3"].value is None
    assert "beside recorded wrenches" in found["gain.panda_joint3"].reason


def test_what_the_base_lacks_is_no_fault_of_a_joint(
    drifting: tuple[VMSModel, Array, Array, Array], tmp_path: Path
) -> None:
    model, times, q, v = drifting
    faster = v.copy()
    faster[:, 0] += 0.5 * times  # drifts ever faster, though nothing pushes
    moved = q.copy()
    turns = Rotation.from_quat(q[:, 3:7]).as_matrix()
    world = np.einsum("kij,kj->ki", turns, faster[:, :3])
    steps = 0.5 * (world[1:] + world[:-1]) * np.diff(times)[:, None]
    moved[1:, :3] = q[0, :3] + np.cumsum(steps, axis=0)
    moving, all_rows = (model, times, moved, faster), slice(0, len(times))
    path = moving_bag(tmp_path / "bag", moving, False, all_rows, effort=0.01)
    assert "it is missing at the base" in " ".join(answers(audit(path, model)))


def test_rows_of_other_bytes_are_left_out(known: Known, panda: VMSModel, tmp_path: Path) -> None:
    head, *rows = known.write_csv(tmp_path / "plain.csv").read_text().splitlines()
    for k in (0, 1, 250):  # as in a published log, in which all numbers of some rows are 253
        time, *cells = rows[k].split(",")
        rows[k] = ",".join([time, *(["253.0"] * len(cells))])
    (tmp_path / "run.csv").write_text("\n".join([head, *rows]))
    found = audit(tmp_path / "run.csv", panda)
    assert "3 samples far beyond the limits of a joint were left out" in statements(found)
    assert abs(missing(found)) < 4 * SMALL


def test_what_is_not_recorded_is_not_certified(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    effort = known.effort.copy()
    assert _certified(bag(tmp_path / "whole", known), panda).verdict == "kept"
    effort[:, 3] = np.nan
    with pytest.raises(RecordingError, match="no effort of panda_joint4 is recorded"):
        _certified(bag(tmp_path / "nan", known, effort=effort), panda)
    with pytest.raises(RecordingError, match="all efforts are zero while the robot moves"):
        _certified(bag(tmp_path / "zero", known, effort=0.0 * known.effort), panda)


def _certified(path: Path, model: VMSModel) -> RecordedCertificate:
    return certify(RecordedMotion(read_recording(path), model), 1e3)


def test_efforts_that_are_no_numbers_for_long_are_a_gap(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    effort = known.effort.copy()
    effort[100:300, 1] = np.nan
    found = audit(bag(tmp_path / "bag", known, effort=effort), panda)
    assert found.ledger.gaps == 1
    assert "the effort on /joint_states has no values in 39.9 % of the 1.000 s, first at 0.200" in (
        statements(found)
    )
    assert abs(missing(found)) < SMALL


def bag_with_wrench(path: Path, known: Known, force: Array, frame: str = "panda_link8") -> Path:
    """Write a wrench that is recorded where the force along x (N,) is not -1."""
    types = STORE.types
    vector = types["geometry_msgs/msg/Vector3"]
    messages: list[tuple[int, str, object]] = []
    for s, q, v, effort, x in zip(
        stamps(known), known.q, known.v, known.effort, force, strict=True
    ):
        messages.append((s, "/joint_states", state(s, known.joints, q, v, effort)))
        wrench = types["geometry_msgs/msg/Wrench"](vector(x, 0.0, 0.0), vector(0.0, 0.0, 0.0))
        stamped = types["geometry_msgs/msg/WrenchStamped"](header(s, frame), wrench)
        messages += [(s, "/ft", stamped)] if x != -1.0 else []
    return write(path, messages)


def test_a_wrench_that_begins_later_is_zero_before(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    force = np.where(np.arange(len(known.t)) >= 499, 9.0, -1.0)
    found = audit(bag_with_wrench(tmp_path / "bag", known, force), panda)
    assert "the wrench on /ft is not recorded in 99" in statements(found)
    assert abs(missing(found)) < 30 * SMALL


@pytest.mark.parametrize("value", [np.nan, -1.0])
def test_a_wrench_that_pauses_is_a_gap(
    known: Known, panda: VMSModel, tmp_path: Path, value: float
) -> None:
    force = np.zeros(len(known.t))
    force[100:200] = value
    found = audit(bag_with_wrench(tmp_path / "bag", known, force), panda)
    assert found.ledger.gaps == 1
    assert "/ft has no values in 20 % of the 1.000 s, first at 0.200 s" in statements(found)
    assert abs(missing(found)) < SMALL


def test_a_wrench_without_a_frame_is_named_with_its_remedy(
    known: Known, panda: VMSModel, tmp_path: Path
) -> None:
    path = bag_with_wrench(tmp_path / "bag", known, np.zeros(len(known.t)), frame="")
    text = "the wrench on /ft is given at '', which is no frame of 'panda'; it is not used"
    assert f"{text} (choose its frame by --topic wrench.FRAME=/ft)" in statements(
        audit(path, panda)
    )


@pytest.mark.parametrize("rate", [500.0, 4500.0])
def test_a_wrench_of_the_robot_on_its_surroundings_looks_reversed(
    panda: VMSModel, tmp_path: Path, rate: float
) -> None:
    known = excited(panda, 1.0, rate)
    force, wrench = 30.0 * np.sin(9.0 * known.t), np.zeros((len(known.t), 6))
    wrench[:, 0] = force
    acting = generalised_forces(panda, known.q, wrench, panda.frame_id("panda_link8"))
    known = known.changed(effort=known.effort - acting)
    right = audit(bag_with_wrench(tmp_path / "right", known, force), panda)
    assert abs(missing(right)) < 4 * SMALL
    assert "looks reversed" not in statements(right)
    found = audit(bag_with_wrench(tmp_path / "reversed", known, -force), panda)
    assert "the wrench at panda_link8 looks reversed" in statements(found)

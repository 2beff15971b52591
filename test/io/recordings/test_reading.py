# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings are read from every kind of file, and damaged ones as far as they go."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from recorded_motions import Known, excited, write_ros1, write_ros2
from rosbags.rosbag2 import CompressionMode, StoragePlugin
from scipy.io import savemat

from vms_ph_io import robots
from vms_ph_io.recordings import Recording, RecordingError, read_recording
from vms_ph_io.recordings.motion import RecordedMotion


@pytest.fixture(scope="module")
def known() -> Known:
    return excited(robots.load("panda"), 0.3)


@pytest.fixture(scope="module")
def long() -> Known:
    """A motion that fills several chunks of a bag."""
    short = excited(robots.load("panda"), 0.3)
    count = 8000
    repeated = [np.resize(x, (count, 7)) for x in (short.q, short.v, short.effort)]
    repeated[0] = repeated[0] + 1e-3 * np.random.default_rng(1).normal(size=(count, 7))
    return Known(short.joints, 1e-3 * np.arange(count), *repeated)


def rows_of(recording: Recording, known: Known) -> None:
    """Check that the only series of joints is the known motion."""
    (series,) = recording.joints
    assert series.names == known.joints
    times = (series.table.times - series.table.times[0]) * 1e-9
    np.testing.assert_allclose(times, known.t, atol=1e-9)
    rows = series.table.rows(0, len(times))[:, 1:]
    np.testing.assert_allclose(rows, np.hstack([known.q, known.v, known.effort]), atol=1e-14)


BAGS = {
    f"{storage.name} {mode.name}": (storage, mode)
    for storage in StoragePlugin
    for mode in (CompressionMode.NONE, CompressionMode.FILE, CompressionMode.MESSAGE)
}


@pytest.mark.parametrize("kind", BAGS)
def test_rosbags_of_both_storages_and_all_compressions_are_read(
    known: Known, tmp_path: Path, kind: str
) -> None:
    recording = read_recording(write_ros2(known, tmp_path / "bag", *BAGS[kind]))
    rows_of(recording, known)
    assert not recording.notes


def test_compressed_files_are_read_without_their_metadata(known: Known, tmp_path: Path) -> None:
    folder = write_ros2(known, tmp_path / "bag", StoragePlugin.MCAP, CompressionMode.FILE)
    (file,) = folder.glob("*.zstd")
    rows_of(read_recording(file), known)
    (folder / "metadata.yaml").unlink()
    rows_of(read_recording(folder), known)


def test_a_compressed_file_that_is_cut_is_read_as_far_as_it_goes(
    long: Known, tmp_path: Path
) -> None:
    folder = write_ros2(long, tmp_path / "bag", StoragePlugin.MCAP, CompressionMode.FILE)
    (file,) = folder.glob("*.zstd")
    file.write_bytes(file.read_bytes()[: file.stat().st_size * 3 // 4])
    recording = read_recording(file)
    assert 0 < len(recording.joints[0].table) < len(long.t)
    assert any("as far as it goes" in note for note in recording.notes)


def test_bags_of_ros_1_are_read(known: Known, tmp_path: Path) -> None:
    recording = read_recording(write_ros1(known, tmp_path / "old.bag"))
    rows_of(recording, known)
    assert not recording.notes


def test_a_bag_of_ros_1_that_a_killed_recorder_left_is_refused_with_its_remedy(
    known: Known, tmp_path: Path
) -> None:
    whole = write_ros1(known, tmp_path / "whole.bag").read_bytes()
    file = tmp_path / "cut.bag"
    file.write_bytes(whole[: len(whole) * 3 // 4])
    with pytest.raises(RecordingError, match=r"cut\.bag is damaged.*rosbag reindex"):
        read_recording(file)


def test_the_columns_of_a_csv_are_found_by_their_names(known: Known, tmp_path: Path) -> None:
    rows_of(read_recording(known.write_csv(tmp_path / "run.csv")), known)


def test_damaged_lines_of_a_csv_are_left_out_and_counted(known: Known, tmp_path: Path) -> None:
    file = known.write_csv(tmp_path / "run.csv")
    lines = file.read_text().splitlines()
    lines[10], lines[20] = "1,2,oops", lines[20][: len(lines[20]) // 2]
    file.write_text("\n".join(lines))
    recording = read_recording(file)
    assert len(recording.joints[0].table) == len(known.t) - 2
    assert recording.notes == ["run.csv: 2 lines are no rows of 22 numbers"]


def test_a_row_with_an_impossible_time_is_left_out(known: Known, tmp_path: Path) -> None:
    file = known.write_csv(tmp_path / "run.csv")
    lines = file.read_text().splitlines()
    damaged = lines[5].split(",")
    damaged[0] = "2.6815615e75"
    file.write_text("\n".join([*lines[:5], ",".join(damaged), *lines[5:]]) + "\n")
    recording = read_recording(file)
    rows_of(recording, known)
    assert "1 rows without a time were left out" in recording.notes


def test_a_column_map_has_names_units_gains_and_offsets(known: Known, tmp_path: Path) -> None:
    file = tmp_path / "drive.txt"
    gains = 10.0 + np.arange(7)
    zeros = np.arange(7) - 3.0
    stamp = np.full(len(known.t), 1.7e9), np.round(1e9 * known.t)
    rows = np.column_stack(
        [*stamp, np.degrees(known.q - zeros), known.v, 1e3 * known.effort / gains]
    )
    np.savetxt(file, rows, fmt="%.17g", delimiter=";")
    columns = tmp_path / "map.yaml"
    columns.write_text(
        yaml.safe_dump(
            {
                "joints": list(known.joints),
                "time": {"columns": [1, 2], "unit": ["s", "ns"]},
                "position": {
                    "columns": list(range(3, 10)), "unit": "deg", "offset": zeros.tolist()
                },
                "velocity": list(range(10, 17)),
                "effort": {
                    "columns": list(range(17, 24)), "unit": "mA", "gain": gains.tolist()
                },
            }
        )
    )  # fmt: skip
    rows_of(read_recording(file, columns=columns), known)


def test_motors_that_are_coupled_give_the_joints_at_the_same_power(
    known: Known, tmp_path: Path
) -> None:
    known.write_csv(tmp_path / "run.csv")
    five, six = known.joints[4:6]
    (tmp_path / "map.yaml").write_text(f"couplings: {{{six}: {{{five}: -1.0}}}}")
    table = read_recording(tmp_path / "run.csv", columns=tmp_path / "map.yaml").joints[0].table
    q, v, effort = np.split(table.rows(0, len(table))[:, 1:], 3, axis=1)
    assert np.allclose(q[:, 5], known.q[:, 5] - known.q[:, 4])
    assert np.allclose(q[:, :5], known.q[:, :5])
    power = (effort * v).sum(axis=1)
    assert np.allclose(power, (known.effort * known.v).sum(axis=1))
    assert np.allclose(effort[:, 4], known.effort[:, 4] + known.effort[:, 5])
    # The identification has to know whose rates the motors have, in the order of the model.
    panda, first = robots.load("panda"), known.joints[0]
    (tmp_path / "map.yaml").write_text(f"couplings: {{{five}: {{{first}: 2.0}}}}")
    turned = Known(
        known.joints[::-1], known.t, *(x[:, ::-1] for x in (known.q, known.v, known.effort))
    )
    turned.write_csv(tmp_path / "turned.csv")
    recording = read_recording(tmp_path / "turned.csv", columns=tmp_path / "map.yaml")
    (block,) = RecordedMotion(recording, panda).blocks()
    expected = np.eye(7)
    expected[4, 0] = -2.0
    np.testing.assert_array_equal(block.samples.motors, expected)


def test_a_name_of_several_columns_is_refused_with_their_numbers(
    known: Known, tmp_path: Path
) -> None:
    head, _, rows = known.write_csv(tmp_path / "run.csv").read_text().partition("\n")
    five, six = (f"effort.{joint}" for joint in known.joints[4:6])
    (tmp_path / "run.csv").write_text(f"{head.replace(five, six)}\n{rows}")
    (tmp_path / "map.yaml").write_text(
        f"joints: [a]\ntime: [time]\nposition: [position.{known.joints[0]}]\neffort: [{six}]"
    )
    with pytest.raises(
        RecordingError, match=r"several 'effort.panda_joint6': .* number, of \[20, 21\]"
    ):
        read_recording(tmp_path / "run.csv", columns=tmp_path / "map.yaml")
    names = "[effort.panda_joint1, 20]"
    (tmp_path / "map.yaml").write_text(
        f"joints: [a, b]\ntime: [time]\nposition: [2, 3]\neffort: {names}"
    )
    table = read_recording(tmp_path / "run.csv", columns=tmp_path / "map.yaml").joints[0].table
    assert np.allclose(table.rows(0, len(table))[:, 6], known.effort[:, 4])


def test_joint_states_that_ros2_topic_echo_wrote_need_no_map(known: Known, tmp_path: Path) -> None:
    text = ",".join(known.joints)
    lines = [
        f"1700000000,{round(1e9 * t)},base,{text},{','.join(map(repr, np.hstack(row).tolist()))}"
        for t, *row in zip(known.t, known.q, known.v, known.effort, strict=True)
    ]
    (tmp_path / "echo.csv").write_text("\n".join(lines))
    rows_of(read_recording(tmp_path / "echo.csv"), known)


def test_quantities_stand_in_files_of_their_own(known: Known, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "q.txt", known.q.ravel(), fmt="%.17g")
    np.savetxt(tmp_path / "v.txt", known.v, fmt="%.17g")
    np.savetxt(tmp_path / "tau.txt", known.effort, fmt="%.17g")
    (tmp_path / "map.yaml").write_text(
        f"joints: [{', '.join(known.joints)}]\nrate: 1000\nheader: false\n"
        "position: {file: q.txt, interleaved: true}\n"
        "velocity: {file: v.txt}\neffort: {file: tau.txt}\n"
    )
    rows_of(read_recording(tmp_path, columns=tmp_path / "map.yaml"), known)


@pytest.mark.parametrize("transposed", [False, True])
def test_arrays_of_npz_and_mat_files_are_read(
    known: Known, tmp_path: Path, transposed: bool
) -> None:
    q = known.q.T if transposed else known.q
    (tmp_path / "map.yaml").write_text(
        f"joints: [{', '.join(known.joints)}]\n"
        "time: {array: t}\nposition: {array: q}\nvelocity: {array: dq}\neffort: {array: tau}\n"
    )
    arrays = {"t": known.t, "q": q, "dq": known.v, "tau": known.effort}
    savemat(tmp_path / "run.mat", arrays)
    np.savez(tmp_path / "run.npz", **arrays)
    for name in ("run.mat", "run.npz"):
        rows_of(read_recording(tmp_path / name, columns=tmp_path / "map.yaml"), known)
    savemat(tmp_path / "struct.mat", {"log": arrays})
    text = (tmp_path / "map.yaml").read_text().replace("array: ", "array: log.")
    (tmp_path / "map.yaml").write_text(text)
    rows_of(read_recording(tmp_path / "struct.mat", columns=tmp_path / "map.yaml"), known)


def test_an_npz_with_the_names_of_the_quantities_needs_no_map(known: Known, tmp_path: Path) -> None:
    np.savez(
        tmp_path / "a.npz", time=known.t, position=known.q, velocity=known.v,
        effort=known.effort, joints=np.array(known.joints),
    )  # fmt: skip
    rows_of(read_recording(tmp_path / "a.npz"), known)
    columns = {
        f"{what}.{name}": values[:, k]
        for what, values in (
            ("position", known.q), ("velocity", known.v), ("effort", known.effort)
        )
        for k, name in enumerate(known.joints)
    }  # fmt: skip
    np.savez(tmp_path / "b.npz", time=known.t, **columns)
    rows_of(read_recording(tmp_path / "b.npz"), known)


def test_rows_without_a_time_are_left_out_also_where_no_other_comes_before(
    known: Known, tmp_path: Path
) -> None:
    known.write_csv(tmp_path / "run.csv")
    head, *rows = (tmp_path / "run.csv").read_text().splitlines()
    timeless = ["nan" + row[row.index(",") :] for row in rows * 40]
    (tmp_path / "run.csv").write_text("\n".join([head, *timeless, *rows]))
    recording = read_recording(tmp_path / "run.csv")
    rows_of(recording, known)
    left_out = [int(note.split()[0]) for note in recording.notes if "without a time" in note]
    assert sum(left_out) == len(timeless)
    assert len(left_out) > 1  # in several blocks


def test_arrays_without_times_or_joints_are_refused_in_a_sentence(tmp_path: Path) -> None:
    file, position = tmp_path / "a.npz", np.zeros((3, 1))
    np.savez(file, time=np.full(3, np.nan), position=position, joints=np.array(["a"]))
    with pytest.raises(RecordingError, match="no rows of numbers"):
        read_recording(file)
    np.savez(file, time=np.arange(3.0), position=position, joints=np.array([], str))
    with pytest.raises(RecordingError, match="names no joints"):
        read_recording(file)


REFUSED = {
    "effort: 3\nspeed: 4": "unknown key 'speed'",
    "joints: [a]\nposition: {columns: 1, unit: furlong}": "'furlong' is no unit of position",
    "joints: [a]\nposition: 1\ntime: {columns: 1, unit: deg}": "'deg' is no unit of time; accepted",
    "joints: [a]\nposition: {columns: 1, unit: ms}": "'ms' is no unit of position",
    "joints: [a, b]\nposition: [1]": "must have 2 columns",
    "joints: [a, b]\nposition: {columns: [1, 2], offset: [1, 2, 3]}": "must have one offset, or 2",
    "joints: [a]\nposition: 99\nrate: 1": "there is none 99",
    "joints: [a]\nposition: 1": r"needs time, or rate: 500 \(Hz\)",
    "joints: [a]\nposition: 1\ntime: {rate: 9}": "rate is a key of the map, not of time",
    "joints: [a]\nposition: 1\nrate: 1\ncouplings: {b: {a: 1}}": "names b; the joints are a",
    "joints: [a]\nposition: 1\nrate: 1\ncouplings: {a: {a: -1}}": "do not give those of the motors",
    "rate: 100\nposition: {array: q}": "needs joints, the names for the columns of the array",
    "joints: [a]\nrate: 5": "lacks position",
    "joints: [a]\nposition: nosuch\nrate: 1": "no column 'nosuch'",
    "- 1": "must have the keys",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_wrong_column_map_is_refused_in_a_sentence(
    known: Known, tmp_path: Path, text: str
) -> None:
    file = known.write_csv(tmp_path / "run.csv")
    (tmp_path / "map.yaml").write_text(text)
    with pytest.raises(RecordingError, match=REFUSED[text]):
        read_recording(file, columns=tmp_path / "map.yaml")


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    for name, content in (("a.csv", b"x,y\n1,2\n"), ("a.npz", b"PK"), ("a.bag", b"#ROS"),
                          ("a.xyz", b""), ("a.mcap", b"\x89MCAP0\r\n"), ("a.mat", b"MATLAB"),
                          ("a.db3", b"SQL"), ("a.mcap.zstd", b"\x28\xb5\x2f\xfd")):  # fmt: skip
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RecordingError):
            read_recording(tmp_path / name)
    with pytest.raises(RecordingError, match="there is no recording"):
        read_recording(tmp_path / "nosuch")

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A flight log of PX4 is a motion of the base, z up; a vehicle needs no joints."""

import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from vms_ph_dynamics import Array, VMSModel
from vms_ph_io import audit
from vms_ph_io.audits import answers
from vms_ph_io.recordings import RecordingError, read_recording

QUAD = """<robot name="quad"><link name="base"><inertial><mass value="1.5"/>
  <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""
NED = np.diag([1.0, -1.0, -1.0])  # from z up, and back


@pytest.fixture(scope="module")
def model() -> VMSModel:
    return VMSModel.from_urdf(QUAD, base="floating")


def flight(seconds: float = 4.0, rate: float = 100.0) -> tuple[Array, Array, Array, Array, Array]:
    """Times, positions and rotations of the base, and its velocities in the inertial frame."""
    t = np.arange(0.0, seconds, 1.0 / rate)
    position = np.stack([np.sin(t), np.cos(0.7 * t), 1.0 + 0.3 * t], axis=1)
    velocity = np.stack([np.cos(t), -0.7 * np.sin(0.7 * t), 0.3 + 0.0 * t], axis=1)
    angles = np.stack([0.4 * np.sin(1.3 * t), 0.3 * np.cos(1.1 * t), 0.8 * t], axis=1)
    rotation = np.array([pin.rpy.rpyToMatrix(*row) for row in angles])
    step = 1e-5
    change = np.stack([0.52 * np.cos(1.3 * t), -0.33 * np.sin(1.1 * t), 0.8 + 0 * t], axis=1)
    later = np.array([pin.rpy.rpyToMatrix(*row) for row in angles + step * change])
    pairs = zip(rotation, later, strict=True)
    rates = np.array([pin.log3(a.T @ b) / step for a, b in pairs])
    return t, position, rotation, velocity, rates


def write_ulog(path: Path, topics: Mapping[str, Mapping[str, Sequence[float] | Array]]) -> Path:
    """Write topics of columns, with timestamps in microseconds, as PX4's logger does."""

    def message(kind: str, content: bytes) -> bytes:
        return struct.pack("<HB", len(content), ord(kind)) + content

    parts = [b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 0)]
    fields = {n: [c for c in columns if c != "timestamp"] for n, columns in topics.items()}
    for name, columns in fields.items():
        text = ";".join(["uint64_t timestamp", *(f"float {c}" for c in columns)])
        parts.append(message("F", f"{name}:{text};".encode()))
    for number, name in enumerate(topics):
        parts.append(message("A", struct.pack("<BH", 0, number) + name.encode()))
    for number, (name, columns) in enumerate(topics.items()):
        rows = zip(*(columns[c] for c in fields[name]), strict=True)
        for stamp, row in zip(columns["timestamp"], rows, strict=True):
            content = struct.pack(f"<HQ{len(row)}f", number, int(stamp), *row)
            parts.append(message("D", content))
    path.write_bytes(b"".join(parts))
    return path


def px4_topics(old: bool) -> dict[str, dict[str, Array]]:
    """The flight as PX4 logs it: north, east, down; forward, right, down; w first."""
    t, position, rotation, velocity, rates = flight()
    stamps = 1e6 * t + 5e6
    quaternions = [pin.Quaternion(NED @ r @ NED).coeffs() for r in rotation]
    x, y, z, w = np.array(quaternions).T
    attitude = {"timestamp": stamps, "q0": w, "q1": x, "q2": y, "q3": z}
    body_rates = dict(zip(("rollspeed", "pitchspeed", "yawspeed"), (rates @ NED).T, strict=True))
    columns = np.hstack([position @ NED, velocity @ NED, np.ones((len(t), 2))]).T
    names = ("x", "y", "z", "vx", "vy", "vz", "xy_valid", "z_valid")
    local = {"timestamp": stamps, **dict(zip(names, columns, strict=True))}
    topics = {"vehicle_attitude": attitude, "vehicle_local_position": local}
    if old:
        attitude |= body_rates
    else:
        velocities = dict(zip(("xyz0", "xyz1", "xyz2"), body_rates.values(), strict=True))
        topics["vehicle_angular_velocity"] = {"timestamp": stamps, **velocities}
    return topics


def with_arrays(path: Path) -> Path:
    """Turn fields q0 to q3 and xyz0 to xyz2 into the arrays that PX4 has."""
    content = path.read_bytes()
    for name, size in (("q", 4), ("xyz", 3)):
        scalars = "".join(f"float {name}{k};" for k in range(size)).encode()
        array = f"float[{size}] {name};".encode()
        if scalars in content:
            position = content.index(scalars)
            start = content.rindex(b"F", 0, position) - 2
            (length,) = struct.unpack_from("<H", content, start)
            changed = content[start + 3 : start + 3 + length].replace(scalars, array)
            header = struct.pack("<HB", len(changed), ord("F"))
            content = content[:start] + header + changed + content[start + 3 + length :]
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("old", [False, True], ids=["rates of their own", "rates in the attitude"])
def test_a_flight_has_pose_and_twist_in_axes_with_z_up(
    model: VMSModel, tmp_path: Path, old: bool
) -> None:
    pytest.importorskip("pyulog")
    path = with_arrays(write_ulog(tmp_path / "flight.ulg", px4_topics(old)))
    t, position, rotation, velocity, rates = flight()
    table = read_recording(path).bases[0].table
    rows = table.rows(0, len(t))[:, 1:]
    np.testing.assert_allclose((table.times - table.times[0]) * 1e-9, t, atol=1e-6)
    np.testing.assert_allclose(rows[:, :3], position, atol=1e-6)
    obtained = np.array([pin.Quaternion(q).toRotationMatrix() for q in rows[:, 3:7]])
    np.testing.assert_allclose(obtained, rotation, atol=1e-6)
    in_base = np.einsum("kji,kj->ki", rotation, velocity)
    np.testing.assert_allclose(rows[:, 7:10], in_base, atol=1e-6)
    np.testing.assert_allclose(rows[:, 10:13], rates, atol=1e-4)  # a difference quotient

    found = audit(path, model)
    assert not [s for s in found.conditioning.statements(()) if "does not follow" in s]
    energies = []
    for k in (0, -1):
        kinetic = 0.75 * velocity[k] @ velocity[k]
        kinetic += 0.5 * rates[k] @ (np.array([0.02, 0.03, 0.04]) * rates[k])
        energies.append(kinetic + 1.5 * 9.81 * position[k, 2])
    assert found.ledger.stored == pytest.approx(energies[1] - energies[0], abs=1e-4)
    assert answers(found)[0].startswith("No wrench of rotors or thrusters is recorded")


@pytest.mark.parametrize(("suffix", "package"), [(".ulg", "pyulog"), (".parquet", "pyarrow")])
def test_a_reader_that_is_not_installed_is_named_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as where it is missing
    (tmp_path / f"run{suffix}").write_bytes(b"")
    with pytest.raises(RecordingError, match=f"pip install {package}"):
        read_recording(tmp_path / f"run{suffix}")


def test_logs_without_position_or_damaged_are_refused_in_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("pyulog")
    topics = px4_topics(old=True)
    topics["vehicle_local_position"]["xy_valid"] *= 0.0
    path = with_arrays(write_ulog(tmp_path / "a.ulg", topics))
    with pytest.raises(RecordingError, match="no vehicle_local_position in it is valid"):
        read_recording(path)
    del topics["vehicle_local_position"]
    path = with_arrays(write_ulog(tmp_path / "b.ulg", topics))
    with pytest.raises(RecordingError, match="has no vehicle_local_position"):
        read_recording(path)
    (tmp_path / "c.ulg").write_bytes(b"ULog")
    with pytest.raises(RecordingError, match="cannot be read"):
        read_recording(tmp_path / "c.ulg")

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Whatever bytes a recording has, it is audited as far as it goes or refused in a sentence."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from recorded_motions import excited, simulated, write_bag, write_ros1, write_ros2
from rosbags.rosbag2 import CompressionMode, StoragePlugin

from vms_ph_dynamics import VMSModel, VmsPhError
from vms_ph_io import robots
from vms_ph_io.audits import audit, document, lines

MUTANTS = 10  # of each file


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    model = robots.load("panda")
    known = excited(model, 0.1)
    bags = {
        name: write_ros2(known, folder / name, storage, mode)
        for name, storage, mode in (
            ("mcap", StoragePlugin.MCAP, CompressionMode.NONE),
            ("db3", StoragePlugin.SQLITE3, CompressionMode.NONE),
            ("zstd", StoragePlugin.MCAP, CompressionMode.FILE),
        )
    }
    home = model.configuration(robots.get("panda").home)
    write_bag(model, simulated(model, home, 0.02), folder / "own")
    np.savez(folder / "a.npz", time=known.t, position=known.q, joints=np.array(known.joints))
    return {
        "csv": known.write_csv(folder / "a.csv").read_bytes(),
        "npz": (folder / "a.npz").read_bytes(),
        "bag": write_ros1(known, folder / "a.bag").read_bytes(),
        "mcap": next(bags["mcap"].glob("*.mcap")).read_bytes(),
        "db3": next(bags["db3"].glob("*.db3")).read_bytes(),
        "mcap.zstd": next(bags["zstd"].glob("*.zstd")).read_bytes(),
        "own.mcap": next((folder / "own").glob("*.mcap")).read_bytes(),
    }


def mutated(whole: bytes, rng: random.Random) -> bytes:
    data = bytearray(whole)
    for _ in range(rng.choice([1, 3, 20, 200])):
        place, kind = rng.randrange(len(data)), rng.random()
        if kind < 0.5:
            data[place] = rng.randrange(256)
        elif kind < 0.6:
            del data[place : place + rng.choice([1, 8, 1000])]
        elif kind < 0.7:
            del data[max(place, 1) :]
        elif kind < 0.85:
            data[place : place + 8] = b"\xff" * 8
        else:
            number = rng.choice([np.nan, np.inf, 1e300, -1e300, 5e-324])
            data[place : place + 8] = np.array([number]).tobytes()
        data = data or bytearray(b"x")
    return bytes(data)


@pytest.mark.parametrize("seed", range(MUTANTS))
def test_a_damaged_recording_is_audited_or_refused_in_a_sentence(
    files: dict[str, bytes], panda: VMSModel, tmp_path: Path, seed: int
) -> None:
    for suffix, whole in files.items():
        file = tmp_path / f"x.{suffix}"
        file.write_bytes(mutated(whole, random.Random(f"{suffix} {seed}")))
        try:
            done = audit(file, panda)
        except VmsPhError:
            continue
        json.dumps(document(done), allow_nan=False)
        assert list(lines(done))

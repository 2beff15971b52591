# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Recomputes energies and port powers from a bag, using only Pinocchio and mcap.

Reads the robot from /robot_description, states and efforts from /joint_states and the external
wrench; compares with the recorded /vms_ph/energy and /vms_ph/power at the same stamps. Decodes CDR
by hand. Prints one JSON object.
"""

import json
import struct
import sys

import mcap.reader
import numpy as np  # numpy is a dependency of Pinocchio
import pinocchio as pin


class Cdr:
    """Little-endian CDR; alignment counts from the end of the four header bytes."""

    def __init__(self, data: bytes) -> None:
        assert data[:2] == b"\x00\x01"
        self.data, self.at = data, 4

    def take(self, code: str, size: int):  # type: ignore[no-untyped-def]
        self.at += -(self.at - 4) % size
        (value,) = struct.unpack_from("<" + code, self.data, self.at)
        self.at += size
        return value

    def text(self) -> str:
        length = self.take("I", 4)
        self.at += length
        return self.data[self.at - length : self.at - 1].decode()

    def header(self) -> tuple[int, str]:
        stamp = self.take("i", 4) * 10**9 + self.take("I", 4)
        return stamp, self.text()

    def doubles(self, count: int) -> list[float]:
        return [self.take("d", 8) for _ in range(count)]

    def sequence(self) -> list[float]:
        return self.doubles(self.take("I", 4))


def main(path: str) -> None:
    states, wrenches, energies, powers, port_energies = {}, {}, {}, {}, {}
    urdf, tool = "", ""
    with open(path, "rb") as file:
        for _, channel, message in mcap.reader.make_reader(file).iter_messages():
            cdr = Cdr(message.data)
            if channel.topic == "/robot_description":
                urdf = cdr.text()
            elif channel.topic == "/joint_states":
                stamp, _ = cdr.header()
                names = [cdr.text() for _ in range(cdr.take("I", 4))]
                states[stamp] = (names, cdr.sequence(), cdr.sequence(), cdr.sequence())
            elif channel.topic == "/vms_ph/wrench_end_effector":
                stamp, tool = cdr.header()
                wrenches[stamp] = cdr.doubles(6)
            elif channel.topic == "/vms_ph/energy":
                stamp, _ = cdr.header()
                energies[stamp] = cdr.doubles(3)
            elif channel.topic == "/vms_ph/power":
                stamp, _ = cdr.header()
                ports = cdr.doubles(3)
                tools = [cdr.text() for _ in range(cdr.take("I", 4))]
                assert len(cdr.sequence()) == len(tools) == 0
                powers[stamp] = [*ports, *cdr.doubles(1)]
                cdr.doubles(2)  # between task and null space
                supplied = cdr.doubles(3)
                assert cdr.sequence() == []
                port_energies[stamp] = [*supplied, *cdr.doubles(1)]
    model = pin.buildModelFromXML(urdf)
    data = model.createData()
    frame = model.getFrameId(tool)
    worst = {"energy": 0.0, "power": 0.0}
    totals = {}
    for stamp in sorted(energies.keys() & powers.keys() & states.keys() & wrenches.keys()):
        names, positions, rates, efforts = states[stamp]
        q, v, tau = (np.zeros(model.nv) for _ in range(3))
        for name, position, rate, effort in zip(names, positions, rates, efforts, strict=True):
            joint = model.joints[model.getJointId(name)]
            q[joint.idx_q], v[joint.idx_v], tau[joint.idx_v] = position, rate, effort
        kinetic = pin.computeKineticEnergy(model, data, q, v)
        potential = pin.computePotentialEnergy(model, data, q)
        totals[stamp] = kinetic + potential
        twist = pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL) @ v
        ours = [tau @ v, 0.0, np.array(wrenches[stamp]) @ twist, v @ (model.damping * v)]
        for key, mine, theirs in (
            ("energy", [kinetic + potential, kinetic, potential], energies[stamp]),
            ("power", ours, powers[stamp]),
        ):
            scale = max(abs(x) for x in (*mine, *theirs)) or 1.0
            off = max(abs(a - b) for a, b in zip(mine, theirs, strict=True))
            worst[key] = max(worst[key], off / scale)
    first, last = min(totals), max(totals)
    through = [b - a for a, b in zip(port_energies[first], port_energies[last], strict=True)]
    stored = totals[last] - totals[first]
    print(
        json.dumps(
            {
                "samples": len(totals),
                "seconds": (last - first) * 1e-9,
                "energy": worst["energy"],
                "power": worst["power"],
                "stored": stored,
                "wrench_end_effector_energy": through[2],
                "imbalance": stored - (sum(through[:3]) - through[3]),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])

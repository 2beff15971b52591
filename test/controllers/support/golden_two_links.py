# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Writes test/golden/P_two_links.json: the energy and the impulse that a pushed arm is given.

A planar arm of two links in a vertical plane moves under efforts that are held over samples, and
under a force at its tip that nobody measures. The equations are those of a textbook, written out;
all integrals are solved with the motion by Taylor series with 30 digits (mpmath).
"""

import json
from pathlib import Path
from typing import Any

from mpmath import cos, mp, mpf, odefun, sin

FILE = Path(__file__).parents[2] / "golden" / "P_two_links.json"

SAMPLES, DT = 40, "0.01"
LENGTHS = ("0.5", "0.4")  # of the links, m
CENTRES = ("0.2", "0.25")  # of mass, from the joints, m
MASSES = ("3.0", "1.5")  # kg
INERTIAS = ("0.06", "0.02")  # about the centres of mass, kg m^2
GRAVITY = "9.81"  # against y, m/s^2
START = ("0.7", "-0.9", "0.4", "-1.1")  # angles and rates
SPRING, PLACE = "60.0", "0.5"  # of the tip along x, N/m and m
PUSH, PUSH_RATE = "4.0", "10.0"  # along y, N and rad/s


def effort(k: int) -> tuple[float, float]:
    """Return the torques that are held over a sample, N m."""
    return (14.0 + 3.0 * ((k * 7) % 5 - 2), 2.0 + 1.5 * ((k * 3) % 7 - 3))


def main() -> None:
    mp.dps = 30
    length, offset = mpf(LENGTHS[0]), mpf(LENGTHS[1])
    c1, c2 = map(mpf, CENTRES)
    m1, m2 = map(mpf, MASSES)
    i1, i2 = map(mpf, INERTIAS)
    g, k, place = mpf(GRAVITY), mpf(SPRING), mpf(PLACE)
    push, rate, dt = mpf(PUSH), mpf(PUSH_RATE), mpf(DT)

    def rates(torque):  # type: ignore[no-untyped-def]
        def rate_of(t, y):  # type: ignore[no-untyped-def]
            a, b, va, vb = y[:4]
            ca, sa, cb, sb = cos(a), sin(a), cos(b), sin(b)
            cab, sab = cos(a + b), sin(a + b)
            m11 = i1 + i2 + m1 * c1**2 + m2 * (length**2 + c2**2 + 2 * length * c2 * cb)
            m12 = i2 + m2 * (c2**2 + length * c2 * cb)
            m22 = i2 + m2 * c2**2
            h = m2 * length * c2 * sb
            weight = (g * (m1 * c1 * ca + m2 * (length * ca + c2 * cab)), g * m2 * c2 * cab)
            force = (k * (place - length * ca - offset * cab), push * sin(rate * t))
            outside = (
                -(length * sa + offset * sab) * force[0] + (length * ca + offset * cab) * force[1],
                -offset * sab * force[0] + offset * cab * force[1],
            )
            u = torque[0] + outside[0] - weight[0] + h * (2 * va * vb + vb**2)
            w = torque[1] + outside[1] - weight[1] - h * va**2
            det = m11 * m22 - m12**2
            return [
                va,
                vb,
                (m22 * u - m12 * w) / det,
                (m11 * w - m12 * u) / det,
                (torque[0] - weight[0]) * va + (torque[1] - weight[1]) * vb,
                weight[0] * va + weight[1] * vb,
                outside[0],
                outside[1],
                force[0],
                force[1],
            ]

        return rate_of

    y, rows = [*map(mpf, START), *[mpf(0)] * 6], []
    rows.append([float(x) for x in y])
    for sample in range(SAMPLES):
        torque = tuple(mpf(str(x)) for x in effort(sample))
        y = odefun(rates(torque), sample * dt, y)((sample + 1) * dt)
        rows.append([float(x) for x in y])
    efforts = [effort(sample) for sample in range(SAMPLES)]
    columns = "q1 q2 v1 v2 energy_given weight_work impulse_1 impulse_2 impulse_x impulse_y"
    write({"columns": columns.split(), "efforts": efforts, "rows": rows})


def write(content: dict[str, list[Any]]) -> None:
    """Write the file, a row in a line."""
    parts = [
        f'"{key}": [\n' + ",\n".join(json.dumps(each) for each in values) + "\n]"
        for key, values in content.items()
    ]
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main()

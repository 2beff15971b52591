# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Long runs: an hour of every robot faster than real time, and ten minutes of every launch."""

import time
from pathlib import Path

import psutil
import pytest
from nodes.conftest import Program, Start
from nodes.observer import Observer, joined
from rclpy.qos import qos_profile_sensor_data
from vms_ph.msg import Power

from vms_ph_io import robots

from .conftest import free_port

pytestmark = [pytest.mark.wire, pytest.mark.slow, pytest.mark.timeout(6 * 3600)]

HOUR, TEN_MINUTES = 3600.0, 600.0
_GROWTH = 8 * 2**20  # of the memory of a process after its first tenth: less is no leak, bytes


class Soak(Observer):
    """Watches the energy balance and the memory of a launch."""

    def __init__(self, launch: Program) -> None:
        super().__init__("soak")
        self._launch = launch
        self._power: Power | None = None
        self.turnover = self.unaccounted = self._before = 0.0
        self.node.create_subscription(Power, "vms_ph/power", self._take, qos_profile_sensor_data)

    def _take(self, message: Power) -> None:
        given = message.torque_energy + message.wrench_base_energy
        given += message.wrench_end_effector_energy
        self.turnover += abs(given - self._before)
        self._before = given
        self.unaccounted = max(self.unaccounted, abs(message.unaccounted_energy))
        assert message.exact_energies
        self._power = message

    @property
    def simulated(self) -> float:
        """Stamp of the last message, s."""
        if self._power is None:
            return 0.0
        stamp = self._power.header.stamp
        return float(stamp.sec) + 1e-9 * float(stamp.nanosec)

    def memory(self) -> dict[str, int]:
        """Return the resident memory of the processes of the launch, bytes."""
        found = {}
        for process in psutil.Process(self._launch.process.pid).children():
            words = [Path(word).name for word in process.cmdline()]
            found[" ".join(words[:4])] = process.memory_info().rss
        return found

    def run(self, seconds: float, simulated: bool) -> None:
        """Watch for a while, and compare the memory after a tenth with that at the end."""
        self.until(lambda: self.simulated > 0.0, "no power is published", 60.0)
        start, real = self.simulated, time.monotonic()

        def passed() -> float:
            return self.simulated - start if simulated else time.monotonic() - real

        self.until(lambda: passed() > 0.1 * seconds, "it stands", seconds)
        early = self.memory()
        self.until(lambda: passed() > seconds, "it stands", 2.0 * seconds)
        late = self.memory()
        took, covered = time.monotonic() - real, self.simulated - start
        print(
            f"{covered:.0f} s simulated in {took:.0f} s; unaccounted at most "
            f"{self.unaccounted:.2e} J of {self.turnover:.2e} J; memory in MB "
            + ", ".join(
                f"{name}: {early[name] / 1e6:.1f} -> {late[name] / 1e6:.1f}" for name in late
            )
        )
        assert early.keys() == late.keys()
        assert all(late[name] <= early[name] + _GROWTH for name in late)
        assert not simulated or covered > took
        assert "has died" not in self._launch.output
        assert "Traceback" not in self._launch.output


@pytest.mark.parametrize("name", robots.names())
def test_an_hour_of_a_robot_has_a_closed_balance_and_flat_memory(
    name: str, start: Start, domain: int
) -> None:
    launch = start(
        *("launch", name, "rate:=10", "real_time_factor:=100", "push_period:=5", "markers:=false"),
        fresh=True,
    )
    _soak(launch, domain, HOUR, simulated=True)


@pytest.mark.parametrize("name", robots.names())
def test_ten_minutes_of_a_launch_at_real_time_have_a_closed_balance_and_flat_memory(
    name: str, start: Start, domain: int, tmp_path: Path
) -> None:
    launch = start(
        "launch", name, "push_period:=5", "web:=true", f"port:={free_port()}", "record:=true",
        f"bag:={tmp_path / 'bag'}", fresh=True,
    )  # fmt: skip
    _soak(launch, domain, TEN_MINUTES, simulated=False)


def _soak(launch: Program, domain: int, seconds: float, simulated: bool) -> None:
    with joined(domain):
        soak = Soak(launch)
        try:
            soak.run(seconds, simulated)
        finally:
            soak.close()
            code = launch.interrupt()
    assert code == 0
    assert soak.unaccounted < 1e-9 * (1.0 + soak.turnover)

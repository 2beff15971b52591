# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Writes COVERAGE.md, the covered part of rclpy: ``python -m vms_ph_embedded.coverage``."""

from __future__ import annotations

from pathlib import Path

from vms_ph_embedded.rclpy_names import NAMES
from vms_ph_embedded.subset import lacking

FILE = Path(__file__).parents[1] / "COVERAGE.md"

_HEAD = """\
# What the embedded ROS runtime covers

Where no ROS 2 is installed, the nodes of vms_ph run on an embedded runtime: a subset of rclpy over
Eclipse Cyclone DDS, wire-compatible with ROS 2 and rmw_cyclonedds. This list is generated from the
code by `python -m vms_ph_embedded.coverage`. The use of a missing name is an error whose message
names it. ROS 2 itself has all names, and the nodes of vms_ph run there unchanged.

## Further limits

- Services, parameters and therefore `ros2 param` work with peers on rmw_cyclonedds. rmw_fastrtps,
  the default of several distributions, correlates requests differently: topics and the names of
  nodes work with it, services and parameters do not.
- No actions, no composition, no security, no intra-process shortcut, no log
  files; logs go to stderr and to /rosout.
- Field checks of messages are always on. The message classes have no `SLOT_TYPES`.
- Fields of type `wstring`, and interfaces in .idl or .action files, are not read.
- `create_publisher` and `create_subscription` take no `event_callbacks` and no
  `qos_overriding_options`; incompatible QoS of a peer causes a warning.
- A message that a reliable subscriber does not accept within 100 ms is dropped with a warning;
  ROS 2 would wait indefinitely.
- `received_timestamp` of a message is 0.
- The services of standard packages are limited to those of rcl_interfaces, lifecycle_msgs
  and std_srvs.
- No ros2_control: the launcher reads its launch files and reports that they need ROS 2.
- Discovery stays on this machine unless ROS_AUTOMATIC_DISCOVERY_RANGE or CYCLONEDDS_URI says
  otherwise; ROS_STATIC_PEERS and ROS_LOCALHOST_ONLY are not read.

"""


def report() -> str:
    """Return the text of COVERAGE.md."""
    sections: dict[str, list[str]] = {"Missing": [], "In part": [], "Whole": []}
    for qualified_name, text in NAMES.items():
        names, missing = text.split(), sorted(lacking(qualified_name))
        if len(missing) == len(names):
            sections["Missing"].append(f"- `{qualified_name}`: {_listed(missing)}")
        elif missing:
            covered = f"{len(names) - len(missing)} of {len(names)}"
            sections["In part"].append(
                f"- `{qualified_name}`: {covered}; missing: {_listed(missing)}"
            )
        else:
            sections["Whole"].append(f"- `{qualified_name}`: {_listed(names)}")
    return _HEAD + "\n".join(
        f"## {title}\n\n" + "\n".join(lines) + "\n" for title, lines in sections.items()
    )


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    from vms_ph_embedded.activation import activate

    if not activate(Path(__file__).parents[1]):
        raise SystemExit("a real rclpy is installed; run this in an environment without ROS 2")
    FILE.write_text(report(), encoding="utf-8")
    print(f"wrote {FILE}")

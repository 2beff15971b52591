# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Writes COVERAGE.md, the covered part of rclpy: ``python docs/embedded_coverage.py``."""

import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from vms_ph_embedded.activation import SITE, activate
from vms_ph_embedded.launch.actions import ACTIONS
from vms_ph_embedded.launch.substitutions import SUBSTITUTIONS
from vms_ph_embedded.launch.values import KINDS
from vms_ph_embedded.rclpy_names import MISSING_MODULES, MISSING_NAMES
from vms_ph_embedded.subset import RclpySubset

FILE = Path(__file__).parents[1] / "COVERAGE.md"

_HEAD = """\
# What the embedded ROS runtime covers

Where no ROS 2 is installed, the nodes of vms_ph run on an embedded runtime: a subset of rclpy over
Eclipse Cyclone DDS, wire-compatible with ROS 2 and rmw_cyclonedds. This list is generated from the
code by `python docs/embedded_coverage.py`. The use of a missing name is an error whose message
names it. ROS 2 itself has all names, and the nodes of vms_ph run there unchanged.

## Further limits

- Services, parameters and therefore `ros2 param` work with peers on rmw_cyclonedds. rmw_fastrtps,
  the default of several distributions, identifies requests beside their bytes, where Cyclone DDS
  neither writes nor reads: topics and the names of nodes work with it, services and parameters do
  not. A call to it ends with a sentence, and a client on it is warned of.
- Where rclpy of Kilted differs, this does as that of Jazzy: `Client.call` returns None when the
  time is over, and a lifecycle transition that there is not raises `RCLError`.
- No actions, no composition, no security, no intra-process shortcut, no guard conditions, no
  callbacks for jumps of time, no log files; logs go to stderr and to /rosout.
- Field checks of messages are always on. The message classes have no `SLOT_TYPES`.
- Fields of type `wstring`, and interfaces in .idl or .action files, are not read.
- `create_publisher` and `create_subscription` take no `event_callbacks` and no
  `qos_overriding_options`; incompatible QoS of a peer causes a warning.
- A message that a reliable subscriber does not accept within 100 ms is dropped with a warning;
  ROS 2 would wait indefinitely.
- `received_timestamp` of a message is 0.
- The services of standard packages are limited to those of rcl_interfaces, lifecycle_msgs
  and std_srvs.
- No ros2_control: the launcher reads its launch files and reports that they need ROS 2. Launch
  files in Python and YAML are not read.
- Discovery stays on this machine unless ROS_AUTOMATIC_DISCOVERY_RANGE or CYCLONEDDS_URI says
  otherwise; ROS_STATIC_PEERS and ROS_LOCALHOST_ONLY are not read.
"""


def report() -> str:
    """Return the text of COVERAGE.md."""
    lines = [_HEAD, *_launch_files(), "\n## Missing\n"]
    lines += [f"- the modules {_listed(MISSING_MODULES.split())}"]
    lines += [f"- of `{scope}`: {_listed(names.split())}" for scope, names in MISSING_NAMES.items()]
    lines += ["\n## Covered\n"]
    for path in sorted(SITE.rglob("*.py")):
        parts = path.relative_to(SITE).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        if not any(part.startswith("_") for part in name.split(".")):
            lines += _covered(importlib.import_module(name))
    return "\n".join(lines) + "\n"


def _launch_files() -> Iterator[str]:
    """Lines for what a launch file may contain."""
    yield "## Launch files\n"
    for name, tag in ACTIONS.items():
        inside = f"; inside: {_listed(tag.children)}" if tag.children else ""
        yield f"- `<{name}>` with {_listed(sorted(tag.attributes))}{inside}"
    yield "- substitutions: " + ", ".join(f"`$({entry.usage})`" for entry in SUBSTITUTIONS.values())
    yield f"- types of `<param>`: {_listed(KINDS)}; without a type, what YAML makes of the text"


def _covered(module: ModuleType) -> Iterator[str]:
    """Lines for the public names of a module, and for those of its classes."""
    defined = {
        name: getattr(module, name)
        for name in _public(module)
        if getattr(getattr(module, name), "__module__", None) == module.__name__
    }
    if listed := {*defined, *getattr(module, "__all__", ())}:
        yield f"- `{module.__name__}`: {_listed(sorted(listed))}"
    for name, holder in defined.items():
        if RclpySubset in getattr(holder, "__bases__", ()):
            yield f"- `{module.__name__}.{name}`: {_listed(_public(holder))}"


def _public(holder: object) -> list[str]:
    return sorted(name for name in dir(holder) if not name.startswith("_"))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    if not activate(Path(__file__).parents[1]):
        raise SystemExit("a real rclpy is installed; run this in an environment without ROS 2")
    FILE.write_text(report(), encoding="utf-8")
    print(f"wrote {FILE}")

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The runtime extras, without those of tests, install everything that the programs import."""

import importlib.metadata
import json
import subprocess
import sys

import pytest
import rclpy

packaging = pytest.importorskip("packaging.requirements")

# With a real ROS 2 the dependencies come from the system, not from extras.
pytestmark = pytest.mark.skipif(
    "vms_ph_embedded" not in (rclpy.__file__ or ""), reason="installed by colcon, not by pip"
)

RUNTIME = {"embedded", "robots", "web", "mjcf"}

_TOOLS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")

# Modules that only other extras install are hidden.
PROGRAM = """
import json, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None
"""

DRAWS_MESHES_OF_EVERY_FORMAT = """
import vms_ph_nodes
import trimesh
from vms_ph_io import robots
from vms_ph_io.descriptions.urdf.visuals import visuals
from vms_ph_nodes.views.robot_scene import _to_mesh
drawn = set()
for name in robots.names():
    for visual in visuals(robots.get(name).description()):
        kind = visual.shape, visual.mesh.rpartition(".")[2]
        if kind not in drawn:
            assert _to_mesh(visual).export(file_type="glb")
            drawn.add(kind)
"""

PLOTS = "from vms_ph_io.audits import plots"
COMMANDS = """
from vms_ph_nodes.cli.app import make_app
make_app()
import vms_ph_nodes.web_viewer, vms_ph_nodes.simulator, vms_ph_nodes.bag_recorder
"""


def _brought(name: str, extras: set[str], seen: set[tuple[str, str]]) -> set[str]:
    """Return a distribution and its dependencies by their normalised names."""
    found = {_normalised(name)}
    for text in importlib.metadata.requires(name) or ():
        requirement = packaging.Requirement(text)
        wanted = any(
            requirement.marker is None or requirement.marker.evaluate({"extra": extra})
            for extra in {"", *extras}
        )
        key = (requirement.name, ",".join(sorted(requirement.extras)))
        if wanted and key not in seen:
            seen.add(key)
            try:
                found |= _brought(requirement.name, set(requirement.extras), seen)
            except importlib.metadata.PackageNotFoundError:
                continue
    return found


def _normalised(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def test_the_programs_run_with_the_runtime_extras_alone() -> None:
    try:
        brought = _brought("vms-ph", RUNTIME, set())
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("installed by colcon, not by pip")
    foreign = [
        module
        for module, distributions in importlib.metadata.packages_distributions().items()
        if not brought & {_normalised(name) for name in distributions} and module not in _TOOLS
    ]
    assert {"mpmath", "sympy"} <= set(foreign)
    program = PROGRAM + PLOTS + COMMANDS + DRAWS_MESHES_OF_EVERY_FORMAT
    words = [sys.executable, "-c", program, json.dumps(foreign)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]

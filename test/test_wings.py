# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The wings are found wherever they are installed, and what needs one that is absent says so."""

import ast
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest

from vms_ph_io.wings import WINGS, programs

ROOT = Path(__file__).parents[1]
CORE = ("dynamics", "controllers", "io")
PACKAGES = (*CORE, "nodes", *WINGS)
SHARED = ("msg", "srv", "launch", "urdf", "config", "rviz")

PROBE = """
import json, sys
from importlib.util import find_spec
from vms_ph_io import robots
from vms_ph_io.wings import WINGS, hook, programs
modules = [hook(wing) for wing, known in WINGS.items() if known.is_installed]
print(json.dumps({
    "packages": {module.__name__: module.__file__ for module in modules},
    "programs": {name: find_spec(module).origin for name, module in programs().items()},
    "robots": robots.names(),
}))
"""


class Layout:
    """A Python with the dependencies of this one, but without its vms_ph."""

    def __init__(self, folder: Path) -> None:
        self.prefix = folder / "venv"
        venv.create(self.prefix, symlinks=True)
        self.python = self.prefix / "bin/python"
        (self.site,) = self.prefix.glob("lib/python*/site-packages")
        # The folder of the dependencies is found, without the links to a checkout that are in it.
        ours = Path(sysconfig.get_path("purelib"))
        paths = [str(ours), *map(str, ours.glob("cmeel.prefix/lib/python*/site-packages"))]
        (self.site / "dependencies.pth").write_text("\n".join(paths))
        self.folder = folder

    def run(self, *words: str | Path, **variables: str) -> "subprocess.CompletedProcess[str]":
        kept = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH")
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        environment["PATH"] = f"{self.python.parent}{os.pathsep}{environment['PATH']}"
        environment["ROS_DOMAIN_ID"] = "93"
        return subprocess.run(
            list(map(str, words)),
            env={**environment, **variables},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=180,
        )

    def copies(self, asked: list[tuple[str, tuple[str, ...]]], folder: Path) -> list[Any]:
        """Return the exit code and the output of some programs in a folder without some wings."""
        without = json.dumps([f"vms_ph_{wing}" for wing in WINGS if wing != "embedded"])
        words = "-c", COPIES, without, json.dumps(asked)
        done = self.run(self.python, *words, PYTHONPATH=str(folder))
        assert done.returncode == 0, done.stderr
        found: list[Any] = json.loads(done.stdout)
        return found

    def probe(self, **variables: str) -> dict[str, Any]:
        done = self.run(self.python, "-c", PROBE, **variables)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    if any(Path(sysconfig.get_path("purelib")).glob("vms_ph_*/__init__.py")):
        pytest.skip("vms_ph is installed beside its dependencies")
    return Layout(tmp_path)


def link(source: str, target: str) -> None:
    """Let a file be in a second place, as a copy is."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def clone(folder: Path, packages: tuple[str, ...] = PACKAGES) -> Path:
    """Copy some packages, as they are compiled, and what they share, into a folder."""
    for name in (*(f"vms_ph_{name}" for name in packages), *SHARED):
        shutil.copytree(ROOT / name, folder / name, copy_function=link)
    for name in ("package.xml", "pyproject.toml", "setup.py", "README.md"):
        shutil.copy(ROOT / name, folder)
    return folder


def check(found: Mapping[str, Any], site: Path, wings: set[str]) -> None:
    """Check that the wings, their programs and robots were found in a folder."""
    site = site.resolve()
    packages = {f"vms_ph_{wing}": str(site / f"vms_ph_{wing}/__init__.py") for wing in wings}
    assert found["packages"] == packages
    assert found["programs"].keys() == programs().keys()
    assert all(Path(file).is_relative_to(site) for file in found["programs"].values())
    assert {"panda", "prismatic_hopper"} <= set(found["robots"])


def test_wings_are_found_in_a_clone_on_pythonpath(layout: Layout, tmp_path: Path) -> None:
    folder = clone(tmp_path / "clone")
    check(layout.probe(PYTHONPATH=str(folder)), folder, set(WINGS))


def test_wings_are_found_where_a_wheel_is_installed(layout: Layout, tmp_path: Path) -> None:
    folder = clone(tmp_path / "source")
    # What setup.py puts into a wheel, laid out as pip installs it.
    words = ["build", "install_lib", "--no-compile", f"--install-dir={layout.site}"]
    words += ["install_data", f"--install-dir={layout.prefix}"]
    subprocess.run(
        [sys.executable, "setup.py", "-q", *words],
        cwd=folder,
        check=True,
        timeout=180,
        capture_output=True,
    )
    shutil.rmtree(folder)
    check(layout.probe(), layout.site, set(WINGS))


def test_wings_are_found_in_an_editable_install(tmp_path: Path) -> None:
    try:
        origin = json.loads(distribution("vms-ph").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        origin = {}
    if origin.get("url") != ROOT.as_uri() or not origin.get("dir_info", {}).get("editable"):
        pytest.skip("the tests do not run in an editable install of this checkout")
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", PROBE],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
    )
    check(json.loads(done.stdout), ROOT, set(WINGS))


# What CMakeLists.txt calls of ROS 2, as far as it installs Python packages.
STAND_INS = {
    "ament_cmake": """
function(ament_export_dependencies)
endfunction()
function(ament_package)
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/marker "")
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/marker
    DESTINATION share/ament_index/resource_index/packages RENAME ${PROJECT_NAME})
  install(FILES package.xml DESTINATION share/${PROJECT_NAME})
endfunction()
""",
    "ament_cmake_python": """
function(ament_python_install_package package)
  install(DIRECTORY ${package} DESTINATION lib/python3/site-packages)
endfunction()
""",
    "rosidl_default_generators": """
function(rosidl_generate_interfaces)
  install(DIRECTORY msg srv DESTINATION share/${PROJECT_NAME})
endfunction()
""",
    "builtin_interfaces": "",
    "geometry_msgs": "",
    "sensor_msgs": "",
    "std_msgs": "",
}


def test_wings_are_found_in_a_workspace_of_colcon(layout: Layout, tmp_path: Path) -> None:
    cmake = shutil.which("cmake")
    if cmake is None:
        pytest.skip("no cmake here (pip: cmake)")
    folder = clone(tmp_path / "source")
    shutil.copy(ROOT / "CMakeLists.txt", folder)
    for name, text in STAND_INS.items():
        (tmp_path / "ros" / name).mkdir(parents=True)
        (tmp_path / "ros" / name / f"{name}Config.cmake").write_text(text)
    build, prefix = tmp_path / "build", tmp_path / "install"
    configure = ["-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={tmp_path / 'ros'}"]
    for words in ([*configure, "-DBUILD_TESTING=OFF"], ["--install", build, "--prefix", prefix]):
        done = layout.run(cmake, *words)
        assert done.returncode == 0, done.stderr
    sourced = {
        "PYTHONPATH": str(prefix / "lib/python3/site-packages"),
        "AMENT_PREFIX_PATH": str(prefix),
    }
    # The runtime without ROS is left out: here is one.
    check(layout.probe(**sourced), Path(sourced["PYTHONPATH"]), set(WINGS) - {"embedded"})
    installed = {path.name for path in (prefix / "lib/vms_ph").iterdir()}
    assert installed == set(programs())
    (text,) = [p.read_text() for p in (prefix / "lib/vms_ph").iterdir() if p.name == "joint_heat"]
    assert "from vms_ph_ephs.nodes.joint_heat import main" in text
    listed = layout.run(prefix / "bin/vms-ph", "ephs", "list", **sourced)
    assert "heated_pendulum" in listed.stdout, listed.stderr


MAIN = "from vms_ph_nodes.cli import main; main()"
GET = "from vms_ph_io import robots; print(robots.names()); robots.get('prismatic_hopper')"
CHECK = "from vms_ph_nodes.check_settings import main; main()"

# What a user does with a wing, and what the sentence begins with where it is not installed.
USES = {
    "ephs": [
        (MAIN, ("ephs", "list"), "error: the command 'ephs' needs the wing 'ephs'"),
        (MAIN, ("run", "joint_heat"), "error: the node 'joint_heat' needs the wing 'ephs'"),
        (CHECK, ("robot=panda; engine=ephs",), "engine:=ephs needs the wing 'ephs'"),
        (
            MAIN,
            ("run", "simulator", "--ros-args", "-p", "engine:=ephs"),
            "engine:=ephs needs the wing 'ephs'",
        ),
        (MAIN, ("launch", "joint_heat"), "the node 'joint_heat' needs the wing 'ephs'"),
    ],
    "hopping": [
        (GET, (), "the robot 'prismatic_hopper' needs the wing 'hopping'"),
        (MAIN, ("demo", "hop_in_place"), "error: the task 'hop_in_place' needs the wing 'hopping'"),
        (MAIN, ("launch", "prismatic_hopper"), "'prismatic_hopper' needs the wing 'hopping'"),
        (MAIN, ("launch", "task", "task:=hop_in_place"), "'hop_in_place' needs the wing 'hopping'"),
    ],
    "studies": [
        (MAIN, (name, "--list"), f"error: the command '{name}' needs the wing 'studies'")
        for name in ("reproduce", "bench", "sweep")
    ],
}


# Each program runs in a copy of a process that has imported packages of others, and what is in
# every installation, which finds out about wings when it is asked.
COPIES = """
import gc, json, os, sys, tempfile
import vms_ph_nodes.cli.app
from vms_ph_io import robots
wings = json.loads(sys.argv.pop(1))
assert not [name for name in sys.modules if name.partition(".")[0] in wings]
gc.freeze()
found = []
for code, words in json.loads(sys.argv[1]):
    with tempfile.TemporaryFile("w+") as output:
        pid = os.fork()
        if not pid:
            for number in (1, 2):
                os.dup2(output.fileno(), number)
            sys.argv = ["-c", *words]
            exec(code, {"__name__": "__main__"})
            sys.exit()
        status = os.waitpid(pid, 0)[1]
        output.seek(0)
        found.append([os.waitstatus_to_exitcode(status), output.read()])
print(json.dumps(found))
"""


@pytest.mark.parametrize("wing", USES)
def test_a_wing_that_is_absent_or_broken_is_named_with_its_remedy(
    wing: str, layout: Layout, tmp_path: Path
) -> None:
    folder = clone(tmp_path / "clone")
    package = folder / f"vms_ph_{wing}"
    shutil.rmtree(package)
    package.mkdir()  # what is left behind where files were compiled
    remedy = f"pip install 'vms-ph{f'[{WINGS[wing].extra}]' if WINGS[wing].extra else ''}'"
    for reason in ("which is not installed", "which is broken: "):
        # All uses say it by the same function: one of them where the wing is broken.
        uses = USES[wing][:1] if "broken" in reason else USES[wing]
        asked = [(code, words) for code, words, _ in uses]
        *found, (listed, _) = layout.copies([*asked, (MAIN, ("--help",))], folder)
        assert listed == 0
        for (code, _, start), (status, said) in zip(uses, found, strict=True):
            assert status != 0, said
            assert start in said
            assert reason in said
            assert remedy in said
            assert f"its folder vms_ph_{wing} belongs into {folder}" in said
            assert ("Traceback" in said) == (code == GET), said
        (package / "__init__.py").write_text("answer = 1 / 0\n")
    assert "ZeroDivisionError: division by zero" in said


def test_robots_of_a_wing_that_is_absent_are_not_listed(layout: Layout, tmp_path: Path) -> None:
    folder = clone(tmp_path / "clone", (*CORE, "nodes", "embedded"))
    # Everything of the nodes is imported without the other wings.
    walk = (
        "import pkgutil, importlib, vms_ph_nodes\n"
        "for module in pkgutil.walk_packages(vms_ph_nodes.__path__, 'vms_ph_nodes.'):\n"
        "    importlib.import_module(module.name)"
    )
    asked = [(PROBE, ()), (walk, ()), (MAIN, ("demo", "--list"))]
    (probed, walked, tasks) = layout.copies(asked, folder)
    found = json.loads(probed[1])
    assert "panda" in found["robots"]
    assert not [name for name in found["robots"] if name.endswith("hopper")]
    assert "joint_heat" not in found["programs"]
    assert walked[0] == 0, walked[1]
    assert "arm_reach" in tasks[1], tasks[1]


def test_without_ros_and_without_its_stand_in_launch_files_name_both(
    layout: Layout, tmp_path: Path
) -> None:
    folder = clone(tmp_path / "clone", (*CORE, "nodes"))
    variables = {"PYTHONPATH": str(folder), "PATH": str(layout.python.parent)}
    for words in (("launch", "panda"), ("demo",)):
        done = layout.run(layout.python, "-c", MAIN, *words, **variables)
        assert done.returncode == 1
        assert done.stderr.startswith("error: ")
        assert "wing 'embedded'" in done.stderr
        assert "pip install 'vms-ph[embedded]'" in done.stderr
        assert "Traceback" not in done.stderr


def _tests_of_the_core(folder: Path) -> None:
    """Copy the core, and its tests, into a folder."""
    clone(folder, CORE)
    for name in ("dynamics", "controllers", "io", "golden"):
        shutil.copytree(ROOT / "test" / name, folder / "test" / name)
    for name in ("built_core.py", "conftest.py", "parallel.py"):
        shutil.copy(ROOT / "test" / name, folder / "test" / name)
    for name in ("native", "examples"):
        shutil.copytree(ROOT / name, folder / name)


WALK = """
import importlib, pkgutil, sys
for name in ("vms_ph_dynamics", "vms_ph_controllers", "vms_ph_io"):
    for module in pkgutil.walk_packages(importlib.import_module(name).__path__, name + "."):
        if not module.name.endswith("__main__") and ".export.jax." not in module.name:
            importlib.import_module(module.name)
print(sorted({name.partition(".")[0] for name in sys.modules if name.startswith("vms_ph_")}))
"""

QUICK = (
    "dynamics/test_snapshot.py",
    "controllers/laws/test_faults.py",
    "io/test_robot_settings.py",
)


@pytest.mark.parametrize(
    "tests",
    [QUICK, pytest.param(CORE, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])],
    ids=["quick", "all"],
)
def test_the_core_passes_its_tests_alone(
    tests: tuple[str, ...], layout: Layout, tmp_path: Path
) -> None:
    folder = tmp_path / "clone"
    _tests_of_the_core(folder)
    done = layout.run(layout.python, "-c", WALK, PYTHONPATH=str(folder))
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout) == [
        "vms_ph_controllers", "vms_ph_dynamics", "vms_ph_io", "vms_ph_native"
    ][: 4 if "vms_ph_native" in done.stdout else 3]  # fmt: skip
    words = ["-q", "-x", "-p", "no:cacheprovider", *(f"test/{name}" for name in tests)]
    ran = subprocess.run(
        [layout.python, "-m", "pytest", "-n", "0", *words],
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-5000:]

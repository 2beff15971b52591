# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The package as colcon and pip take it: dependencies, interfaces, executables, shared files."""

import ast
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

import vms_ph_dynamics
from vms_ph_embedded.interfaces.names import STANDARD_PACKAGES
from vms_ph_io.wings import WINGS, programs

ROOT = Path(__file__).parents[1]
PACKAGE = ET.parse(ROOT / "package.xml").getroot()
CMAKE = (ROOT / "CMakeLists.txt").read_text()
PLUGINS = (ROOT / "ros2_control" / "plugins.cmake").read_text()
TEXT = (".py", ".txt", ".cmake", ".xml", ".yaml", ".cpp", ".hpp", ".rviz")
INTERFACES = sorted([*ROOT.glob("msg/*.msg"), *ROOT.glob("srv/*.srv")])
PYTHON = sorted(
    path
    for folder in ("dynamics", "controllers", "io", "nodes", *WINGS)
    for path in ROOT.glob(f"vms_ph_{folder}/**/*.py")
)


def _depends(*tags: str) -> set[str]:
    return {str(item.text) for tag in tags for item in PACKAGE.findall(tag)}


def test_the_version_is_the_same_everywhere() -> None:
    version = PACKAGE.findtext("version")
    assert f'version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    assert vms_ph_dynamics.__version__ == version
    assert re.search(rf"^version: {version}$", (ROOT / "CITATION.cff").read_text(), re.M)
    assert f"project(vms_ph VERSION {version})" in CMAKE
    assert f"(vms_ph_native VERSION {version} " in (ROOT / "native/CMakeLists.txt").read_text()
    assert f"version = {{{version}}}" in (ROOT / "README.md").read_text()  # of the citation


def _imported(paths: Iterable[Path]) -> set[str]:
    """The packages that files in Python import, but for relative imports."""
    found: set[str] = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
    return found


def _ros_packages(imported: set[str]) -> set[str]:
    ros = {*STANDARD_PACKAGES, "rclpy", "tf2_ros", "ament_index_python", "controller_manager_msgs"}
    # The Python module tf2_ros is in the package tf2_ros_py.
    return {"tf2_ros_py" if name == "tf2_ros" else name for name in imported & ros}


def test_every_ros_package_that_a_node_imports_is_a_dependency() -> None:
    files = [*ROOT.glob("vms_ph_nodes/**/*.py"), *ROOT.glob("vms_ph_*/nodes/*.py")]
    imported = _imported(files)
    assert _ros_packages(imported) <= _depends("depend", "exec_depend")


def test_every_ros_package_that_a_test_of_colcon_imports_is_a_dependency() -> None:
    folders = ("test/embedded/contract", "test/nodes", "ros2_control/test")
    for folder in folders:
        assert re.search(rf"ament_add_pytest_test\(\w+ {folder} ", CMAKE + PLUGINS)
    imported = _imported(path for folder in folders for path in ROOT.glob(f"{folder}/**/*.py"))
    assert _ros_packages(imported) <= _depends("depend", "exec_depend", "test_depend")


def test_every_ros_package_that_a_plugin_includes_is_a_dependency() -> None:
    includes = {
        name
        for path in ROOT.glob("ros2_control/**/*.?pp")
        for name in re.findall(r"#include <([a-z0-9_]+)/", path.read_text())
    }
    assert {"rclcpp", "controller_interface", "gmock"} <= includes
    # gmock is that of ament_cmake_gmock, Boost that of Pinocchio.
    # The plugin of inverse_dynamics_solver is built only where that package is.
    own = {"vms_ph", "vms_ph_native", "gmock", "boost", "inverse_dynamics_solver"}
    assert includes - own <= _depends("depend")


def test_every_dependency_is_used() -> None:
    places = ("CMakeLists.txt", "ros2_control/**/*", "launch/*", "config/**/*", "vms_ph_*/**/*.py")
    files = [path for place in (*places, "test/nodes/*.py") for path in ROOT.glob(place)]
    words = set().union(
        *(re.findall(r"\w+", path.read_text()) for path in files if path.suffix in TEXT)
    )
    modules = {key: name for name, key in _KEYS.items()}
    named = {
        name: modules.get(name, name).removeprefix("python3-").replace("-", "_")
        for name in _depends("depend", "build_depend", "exec_depend", "test_depend")
    }
    # Tools for the terminal, and what a find_package of another name brings.
    tools = {"ros2launch", "ros2controlcli", "launch_xml", "eigen", "pybind11-dev", "python3-dev"}
    tools |= {"python3-pytest-timeout"}
    assert {name for name, word in named.items() if word not in words} <= tools


# Keys of rosdep for modules of other names, and modules that docs/interoperability.md says to get
# from PyPI or that only a checkout has.
_KEYS = {"yaml": "python3-yaml", "tf2_ros": "tf2_ros_py"}
_FROM_PYPI = {
    "rosbags",
    "mcap",
    "lz4",
    "zstandard",
    "viser",
    "websockets",
    "trimesh",
    "mujoco",
    "casadi",
    "gymnasium",
    "jax",
    "pyarrow",
    "pyulog",
    "plotly",
}  # some by others
_OWN = {"vms_ph", "vms_ph_native", "vms_ph_embedded", "_typeshed", "pybind11"}


def test_every_python_package_that_colcon_installs_is_a_dependency_or_documented() -> None:
    imported = _imported(p for p in PYTHON if not p.is_relative_to(ROOT / "vms_ph_embedded"))
    foreign = {name for name in imported - sys.stdlib_module_names if name not in _OWN}
    foreign -= {path.parent.name for path in ROOT.glob("vms_ph_*/__init__.py")}
    depends = _depends("depend", "build_depend", "exec_depend")
    missing = {n for n in foreign if not {n, f"python3-{n}", _KEYS.get(n, n)} & depends}
    assert "sympy" in foreign
    assert missing <= _FROM_PYPI
    pages = (ROOT / "docs" / "interoperability.md").read_text()
    named = {"rosbags", "mcap", "viser", "trimesh", "plotly", "example-robot-data", "casadi"}
    assert all(f"`{name}`" in pages for name in named)


def test_every_package_that_an_interface_uses_is_found_and_depended_on() -> None:
    used = set()
    for path in INTERFACES:
        for line in path.read_text().splitlines():
            match = re.match(r"([a-z][a-z0-9_]*)/[A-Z]", line)
            if match and match[1] != "vms_ph":
                used.add(match[1])
    # A bare Header is one of std_msgs; time and duration of builtin_interfaces.
    assert used <= _depends("depend")
    for name in used:
        assert f"find_package({name} REQUIRED)" in CMAKE
    listed = re.search(r"DEPENDENCIES ([\w ]+)\)", CMAKE)
    assert listed
    assert set(listed[1].split()) >= used


def test_an_executable_is_a_module_with_a_main() -> None:
    # The rule of CMakeLists.txt.
    rule = re.compile(r"^def main\(", re.M)
    files = [*ROOT.glob("vms_ph_nodes/*.py"), *ROOT.glob("vms_ph_*/nodes/*.py")]
    by_cmake = {
        path.stem: ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in files
        if rule.search(path.read_text())
    }
    assert by_cmake == programs()


def test_launch_files_start_only_executables_there_are() -> None:
    for path in ROOT.glob("launch/*.launch.xml"):
        for node in ET.parse(path).getroot().iter("node"):
            if node.get("pkg") == "vms_ph":
                assert node.get("exec") in programs()


def test_every_ros_package_that_a_launch_file_starts_is_a_dependency() -> None:
    started = set()
    for path in (*ROOT.glob("launch/*.launch.xml"), *ROOT.glob("config/new_package/launch/*")):
        started |= {node.get("pkg") for node in ET.parse(path).getroot().iter("node")}
    # Of two launch files whose page names the package to install.
    optional = {"moveit_ros_move_group", "mujoco_ros2_control"}
    assert started - {"vms_ph"} - optional <= _depends("depend", "exec_depend")
    page = (ROOT / "docs" / "ros2_control.md").read_text()
    assert all(name in page or name.split("_")[0] in page.lower() for name in optional)


def test_the_manifest_of_pixi_follows_the_package() -> None:
    # The keys of rosdep that it maps are dependencies, and what the build reads is an input of it.
    tomllib = pytest.importorskip("tomllib")
    manifest = tomllib.loads((ROOT / "pixi.toml").read_text())
    config = manifest["package"]["build"]["config"]
    distro = config["distro"]
    assert f"https://prefix.dev/robostack-{distro}" in manifest["workspace"]["channels"]
    assert f"ros-{distro}-vms-ph" in manifest["dependencies"]
    (mapping,) = config["extra-package-mappings"]
    assert set(mapping) <= _depends("depend", "exec_depend")
    python = {n for n in _depends("exec_depend") if n.startswith("python3-")}
    # The others are in the table that the backend brings.
    in_backend = {f"python3-{name}" for name in ("matplotlib", "numpy", "scipy", "yaml")}
    assert python - in_backend == {n for n in mapping if n.startswith("python3-")}
    inputs = {path for glob in config["extra-input-globs"] for path in ROOT.glob(glob)}
    sources = (".c", ".cpp", ".hpp", ".h", ".py", ".pyc", ".pyi")
    for folder in (*INSTALLED, "ros2_control", "native"):
        for path in (ROOT / folder).rglob("*.*"):
            assert path in inputs or path.suffix in sources or path.is_dir()


# Folders that an installed package has.
INSTALLED = ("msg", "srv", "action", "launch", "urdf", "config", "rviz")

# What rosidl demands of names.
_FIELD = re.compile(r"^(?!.*__)(?!.*_$)[a-z][a-z0-9_]*$")
_TYPE = re.compile(r"^[A-Z][A-Za-z0-9]*$")


@pytest.mark.parametrize("path", INTERFACES, ids=lambda p: p.name)
def test_the_names_in_an_interface_are_those_rosidl_accepts(path: Path) -> None:
    assert _TYPE.match(path.stem)
    lines = [line.partition("#")[0].strip() for line in path.read_text().splitlines()]
    fields = [line.split() for line in lines if line and line != "---" and "=" not in line]
    assert fields
    assert all(_FIELD.match(name) for _, name, *_ in fields)
    constants = [line for line in lines if "=" in line]
    assert all(re.match(r"^\w+ [A-Z][A-Z0-9_]*=", line) for line in constants)


def _released() -> list[str]:
    """The released versions in CHANGELOG.md."""
    return re.findall(r"^## \[?(\d[\w.]+)", (ROOT / "CHANGELOG.md").read_text(), re.M)


def test_both_changelogs_have_the_same_versions() -> None:
    titles = re.findall(r"^(\S+).*\n---+$", (ROOT / "CHANGELOG.rst").read_text(), re.M)
    assert titles == ["Forthcoming", *_released()]


def _python_with(module: str) -> str | None:
    for python in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        try:
            found = subprocess.run([python, "-c", f"import {module}"], capture_output=True)
        except OSError:
            continue
        if found.returncode == 0:
            return python
    return None


_READ_PACKAGE = """
import sys
from catkin_pkg.package import parse_package
package = parse_package(sys.argv[1])
package.validate()
assert package.get_build_type() == "ament_cmake"
"""

_READ_CHANGELOG = """
import sys
from catkin_pkg.changelog import get_changelog_from_path
changelog = get_changelog_from_path(sys.argv[1])
assert [str(version) for version, _, _ in changelog.foreach_version()] == sys.argv[2:]
"""

_READ_INTERFACES = """
import sys
from rosidl_adapter.parser import parse_message_file, parse_service_file
for path in sys.argv[1:]:
    (parse_message_file if path.endswith(".msg") else parse_service_file)("vms_ph", path)
"""


@pytest.mark.parametrize(
    ("module", "script", "files"),
    [
        ("catkin_pkg", _READ_PACKAGE, [ROOT / "package.xml"]),
        ("catkin_pkg", _READ_CHANGELOG, [ROOT / "CHANGELOG.rst", *_released()]),
        ("rosidl_adapter", _READ_INTERFACES, INTERFACES),
    ],
)
def test_the_parsers_of_ros_read_the_package(module: str, script: str, files: list[object]) -> None:
    python = _python_with(module)
    if python is None:
        pytest.skip(f"no {module} here (Debian: python3-catkin-pkg, python3-rosidl)")
    subprocess.run([python, "-c", script, *map(str, files)], check=True, timeout=60)


def test_a_source_distribution_has_what_its_builds_need(tmp_path: Path) -> None:
    words = ["setup.py", "-q", "egg_info", "--egg-base", str(tmp_path)]
    subprocess.run([sys.executable, *words], cwd=ROOT, check=True, timeout=120, capture_output=True)
    names = set((tmp_path / "vms_ph.egg-info/SOURCES.txt").read_text().splitlines())
    for folder in (*INSTALLED, "native/src", "examples"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert str(path.relative_to(ROOT)) in names
    assert {"vms", "package.xml", "CMakeLists.txt", "native/wheel.py", "SECURITY.md"} <= names
    assert not [name for name in names if name.endswith((".so", ".pyc"))]


def test_an_install_with_pip_carries_the_shared_files(tmp_path: Path) -> None:
    # What setup.py adds to a wheel, laid out as pip installs it.
    words = ["-q", "install_data", "--install-dir", str(tmp_path)]
    subprocess.run(
        [sys.executable, "setup.py", *words], cwd=ROOT, check=True, timeout=60, capture_output=True
    )
    share = tmp_path / "share/vms_ph"
    for folder in ("msg", "srv", "launch", "urdf", "config", "rviz"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file():
                assert (share / path.relative_to(ROOT)).read_bytes() == path.read_bytes()
    assert (share / "package.xml").is_file()


@pytest.mark.parametrize("path", sorted(ROOT.glob("rviz/*.rviz")), ids=lambda p: p.name)
def test_rviz_places_its_panels_beside_the_view(path: Path) -> None:
    content = yaml.safe_load(path.read_text())
    # What QMainWindow saves: the names of its docks in UTF-16, and their sizes.
    state = bytes.fromhex(content["Window Geometry"]["QMainWindow State"])
    for panel in content["Panels"]:
        assert panel["Name"].encode("utf-16-be") in state
    # Of the area on the left, after 13 bytes: its place, width and height.
    left, width, _ = struct.unpack_from(">3I", state, 13)
    assert left == 0
    assert 200 <= width <= content["Window Geometry"]["Width"] / 4


# Of the standard library, newer than Python 3.10.
_NEWER = {
    ("datetime", "UTC"), ("enum", "StrEnum"), ("enum", "ReprEnum"), ("typing", "Self"),
    ("typing", "LiteralString"), ("typing", "assert_never"), ("typing", "override"),
    ("typing", "Unpack"), ("typing", "Never"), ("itertools", "batched"), ("contextlib", "chdir"),
    ("asyncio", "TaskGroup"), ("asyncio", "timeout"), ("hashlib", "file_digest"),
}  # fmt: skip


def _newer_than_3_10(path: Path) -> list[str]:
    """What a file needs of a newer Python, line by line."""
    try:
        tree = ast.parse(path.read_text(), feature_version=(3, 10))
    except SyntaxError as error:
        return [f"{path.relative_to(ROOT)}:{error.lineno}: {error.msg}"]
    found = []
    for node in ast.walk(tree):
        names: set[tuple[str | None, str]] = set()
        if isinstance(node, ast.ImportFrom):
            names = {(node.module, name.name) for name in node.names} & _NEWER
            if node.module == "tomllib":
                names.add((None, "tomllib"))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = {(node.value.id, node.attr)} & _NEWER
        elif isinstance(node, ast.Name) and node.id in ("ExceptionGroup", "BaseExceptionGroup"):
            names = {(None, node.id)}
        for name in names:
            said = ".".join(filter(None, name))
            found.append(f"{path.relative_to(ROOT)}:{node.lineno}: {said}")
    return found


def test_the_code_is_valid_for_python_3_10() -> None:
    packages = {path.relative_to(ROOT).parts[0] for path in PYTHON}
    assert len(packages) == 8
    assert [found for path in PYTHON for found in _newer_than_3_10(path)] == []


def test_what_is_newer_than_python_3_10_is_found(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    newer = {
        "import tomllib.x\nfrom tomllib import load": "2: tomllib",
        "from typing import Self": "1: typing.Self",
        "import datetime\ndatetime.UTC": "2: datetime.UTC",
        "raise ExceptionGroup": "1: ExceptionGroup",
        "x = 1\ntry: ...\nexcept* ValueError: ...": "",
        "def f[T](): ...": "1: ",
    }
    for number, (code, said) in enumerate(newer.items()):
        file = tmp_path / f"{number}.py"
        file.write_text(code)
        (found,) = _newer_than_3_10(file)
        assert found.startswith(f"{number}.py:{said}")

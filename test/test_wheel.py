# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The wheel of a platform: the Python packages with the C++ core."""

import base64
import hashlib
import importlib.util
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "native" / "wheel.py"


@pytest.fixture(scope="module")
def wheel() -> ModuleType:
    spec = importlib.util.spec_from_file_location("vms_ph_wheel_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


METADATA = """Metadata-Version: 2.1
Name: vms-ph
Version: 0.1.0
Requires-Dist: numpy>=1.24
Requires-Dist: pin>=3.3
Requires-Dist: pinpoint>=1
Provides-Extra: test

pin>=3.3 is what the text says.
"""


def test_the_core_is_added_to_the_pure_wheel(wheel: ModuleType, tmp_path: Path) -> None:
    pure = tmp_path / "vms_ph-0.1.0-py3-none-any.whl"
    info = "vms_ph-0.1.0.dist-info"
    kind = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n\n"
    with zipfile.ZipFile(pure, "w") as archive:
        archive.writestr("vms_ph_dynamics/__init__.py", "")
        archive.writestr(f"{info}/WHEEL", kind)
        archive.writestr(f"{info}/METADATA", METADATA)
        archive.writestr(f"{info}/RECORD", "outdated,,\n")
    core = {"vms_ph_native.so": b"module", "libvms_ph_native.so": b"library"}
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    made = wheel.combine(pure, core, "manylinux_2_34_x86_64", tmp_path / "dist")
    tag = f"{python}-{python}-manylinux_2_34_x86_64"
    assert made == tmp_path / "dist" / f"vms_ph-0.1.0-{tag}.whl"
    with zipfile.ZipFile(made) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    assert {name: files[name] for name in core} == core
    about = files[f"{info}/WHEEL"].decode()
    assert "Root-Is-Purelib: false" in about
    assert [line for line in about.splitlines() if line.startswith("Tag")] == [f"Tag: {tag}"]
    # Files of another version of Pinocchio have the same names: the wheel needs this one.
    needed = [x for x in files[f"{info}/METADATA"].decode().splitlines() if "Requires" in x]
    assert needed == [
        "Requires-Dist: numpy>=1.24",
        "Requires-Dist: pinpoint>=1",
        f"Requires-Dist: pin=={version('pin')}",
        f"Requires-Dist: libcoal=={version('libcoal')}",
    ]
    assert files[f"{info}/METADATA"].decode().endswith("\n\npin>=3.3 is what the text says.\n")
    record = dict(
        line.split(",", 1) for line in files[f"{info}/RECORD"].decode().splitlines() if line
    )
    assert set(record) == set(files)
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        expected = "," if name.endswith("RECORD") else f"sha256={digest},{len(content)}"
        assert record[name] == expected


def test_the_wheel_has_the_shared_files_of_every_folder(wheel: ModuleType, tmp_path: Path) -> None:
    copy = wheel.source_copy(tmp_path / "copy")
    shared = {p.relative_to(wheel.ROOT) for p in (wheel.ROOT / "config").rglob("*") if p.is_file()}
    assert any("test" in path.parts for path in shared)
    assert {path for path in shared if not (copy / path).is_file()} == set()
    assert not (copy / "test").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the tag of other systems is that of Python")
@pytest.mark.parametrize(
    ("symbols", "glibc"),
    [
        (b"\0GLIBC_2.14\0GLIBC_2.2.5\0", 17),
        (b"\0GLIBC_2.32\0GLIBC_2.4\0", 32),
        (b"\0GLIBC_2.17\0GLIBCXX_3.4.29\0GLIBCXX_3.4\0", 34),
        (b"\0GLIBCXX_3.4.30\0GLIBC_2.36\0", 36),
    ],
)
def test_the_tag_names_the_oldest_system_that_has_the_symbols(
    wheel: ModuleType, symbols: bytes, glibc: int
) -> None:
    assert f"manylinux_2_{glibc}_" in wheel.platform_tag([b"\x7fELF", symbols])


@pytest.mark.slow
def test_the_wheel_works_in_a_new_environment_without_a_compiler(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--out", str(tmp_path), "--check"],
        capture_output=True,
        text=True,
        timeout=390,
    )
    assert done.returncode == 0, done.stderr
    assert "with the C++ core, equal to Python within" in done.stdout
    assert len(list(tmp_path.glob("vms_ph-*-manylinux_*.whl"))) == 1 or sys.platform != "linux"

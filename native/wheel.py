# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Builds the wheel of this platform: the Python packages together with the C++ core.

``pip install`` of this wheel needs no compiler. Run it with the Python that the wheel is for, in an
environment with the extra [native]::

    python native/wheel.py --out dist --check

The core uses the libraries of Pinocchio's own wheel, which are beside it in site-packages; this
wheel requires the very version that it was built with. ``--check`` installs the wheel in a new
environment and integrates a motion there with the core, without a compiler on the path.
"""

import argparse
import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from vms_ph_dynamics.errors import VmsPhError  # noqa: E402
from vms_ph_io.build import native_build  # noqa: E402

# A library of the compiler that a system without one may lack; the wheel brings it, as the
# exception of its licence for runtime libraries permits.
_BUNDLED = ("libgomp.so.1",)

# Packages whose libraries the core is linked to: their names of functions have no versions.
PINNED = ("pin", "libcoal")

# Libraries that every Linux with a Python has.
_OF_THE_SYSTEM = re.compile(
    r"(libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux.*)\.so"
)

# The oldest glibc of the systems with a version of GLIBCXX, from the policies of manylinux.
_GLIBC_OF_GLIBCXX = ((24, 27), (25, 28), (28, 31), (29, 34), (30, 35), (32, 38), (33, 39))

# Types of the C++ module, for mypy and editors.
STUB = ROOT / "native/bindings/vms_ph_native.pyi"

_CHECK = """
import shutil, sys
from importlib.metadata import version
assert not [name for name in ("c++", "g++", "gcc", "cc", "cmake") if shutil.which(name)]
import numpy as np, vms_ph_native
from vms_ph_dynamics import StandardForm, VMSModel, integrate
xml = '''<robot name="pendulum"><link name="a"/><link name="b"><inertial><origin xyz="0 0 -1"/>
<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/></joint>
</robot>'''
model = VMSModel.from_urdf(xml, base="fixed")
form = StandardForm(model)
start = form.state(model.integrate(model.neutral_configuration(), np.array([1.0])), np.zeros(1))
ends = []
for native in (True, False):
    run = integrate(form, start, dt=1e-3, steps=200, scheme="projected_rk4", native=native)
    ends.append(run.states[-1])
gap = max(abs(ends[0].q - ends[1].q).max(), abs(ends[0].z - ends[1].z).max())
assert gap < 1e-12, gap
assert vms_ph_native.__file__.startswith(sys.prefix), vms_ph_native.__file__
if sys.platform == "linux":
    loaded = [line.split()[-1] for line in open("/proc/self/maps") if "libgomp" in line]
    assert any(path.startswith(sys.prefix) for path in loaded), loaded
print("vms-ph", version("vms-ph"), "with the C++ core, equal to Python within", gap)
"""


def build(out: Path) -> Path:
    """Build the wheel in a folder; return its path.

    Raises:
        VmsPhError: the core cannot be built, or needs a library that users may not have.
    """
    native_build.build(targets=("vms_ph_native_module",))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        words = ("--component", "python", "--strip")
        native_build.cmake("--install", native_build.FOLDER, "--prefix", place / "core", *words)
        _complete(place / "core")
        core = {path.name: path.read_bytes() for path in sorted((place / "core").iterdir())}
        tag = platform_tag(core.values())
        core["vms_ph_native-stubs/__init__.pyi"] = STUB.read_bytes()
        return combine(_pure(place), core, tag, out)


def combine(pure: Path, core: Mapping[str, bytes], tag: str, out: Path) -> Path:
    """Write the wheel of a platform: a pure wheel with further files at its root.

    Args:
        pure: the wheel of the Python packages.
        core: content of the further files by name.
        tag: of the platform.
        out: folder of the new wheel.
    """
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(pure) as archive:
        for name in archive.namelist():
            if not name.endswith("/"):
                files[name] = archive.read(name)
    (info,) = {name.partition("/")[0] for name in files if ".dist-info/" in name}
    about = f"{info}/WHEEL", f"{info}/METADATA", f"{info}/RECORD"
    lines = files[about[0]].decode().splitlines()
    kept = [line for line in lines if not line.startswith(("Tag:", "Root-Is-Purelib:")) and line]
    tags = ["Root-Is-Purelib: false", f"Tag: {python}-{python}-{tag}"]
    files[about[0]] = "\n".join([*kept, *tags, ""]).encode()
    files[about[1]] = pinned(files[about[1]].decode()).encode()
    del files[about[2]]
    files = {**dict(core), **files}
    record = [f"{name},sha256={_digest(content)},{len(content)}" for name, content in files.items()]
    files[about[2]] = "\n".join([*record, f"{about[2]},,", ""]).encode()
    out.mkdir(parents=True, exist_ok=True)
    wheel = out / f"{info.removesuffix('.dist-info')}-{python}-{python}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
            archive.writestr(entry, content)
    return wheel


def pinned(metadata: str) -> str:
    """Return the metadata of a wheel with the versions that the core was linked to."""
    head, blank, text = metadata.partition("\n\n")
    kept = [line for line in head.splitlines() if not re.match(r"Requires-Dist: pin\b", line)]
    return "\n".join([*kept, *(f"Requires-Dist: {n}=={version(n)}" for n in PINNED)]) + blank + text


def platform_tag(libraries: Iterable[bytes]) -> str:
    """Return the tag of the oldest systems that have all that the libraries need.

    On Linux this is the glibc with the versions of symbols that they name.
    """
    if platform.system() != "Linux":
        return re.sub(r"[-.]", "_", sysconfig.get_platform())
    newest = 17
    for content in libraries:
        names = re.findall(rb"\0(GLIBC|GLIBCXX)_[23]\.(?:4\.)?(\d+)(?=\0)", content)
        for kind, number in names:
            newest = max(newest, int(number) if kind == b"GLIBC" else _with_glibcxx(int(number)))
    return f"manylinux_2_{newest}_{platform.machine()}"


def check(wheel: Path) -> str:
    """Install the wheel in a new environment and use the core there; return what it says."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "venv"
        venv.create(place, with_pip=True)
        python = place / "bin" / "python"
        # Nothing of this environment, and nothing but the new one on the path.
        kept = ("HOME", "LANG", "SSL_CERT_FILE")
        clean = {name: os.environ[name] for name in kept if name in os.environ}
        clean |= {name: text for name, text in os.environ.items() if name.startswith("PIP_")}
        clean["PATH"] = str(place / "bin")
        words = [str(python), "-m", "pip", "install", "--quiet", str(wheel)]
        subprocess.run(words, env=clean, cwd=folder, check=True)
        done = subprocess.run(
            [str(python), "-c", _CHECK], env=clean, cwd=folder, check=True, stdout=subprocess.PIPE
        )
        return done.stdout.decode().strip()


def source_copy(copy: Path) -> Path:
    """Copy all that a wheel is built from to a new folder, and return that."""
    at_the_root = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "test")
    everywhere = shutil.ignore_patterns("__pycache__")

    def skipped(folder: str, names: list[str]) -> set[str]:
        return set((at_the_root if Path(folder) == ROOT else everywhere)(folder, names))

    return Path(shutil.copytree(ROOT, copy, ignore=skipped))


def _pure(place: Path) -> Path:
    """Build the wheel of the Python packages from a copy, so that no earlier build gets in."""
    copy = source_copy(place / "source")
    words = ["wheel", "--quiet", "--no-deps", "--wheel-dir", str(place / "pure"), str(copy)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    (wheel,) = (place / "pure").glob("*.whl")
    return wheel


def _complete(core: Path) -> None:
    """Add the libraries of the compiler that the core needs.

    Raises:
        VmsPhError: it needs one that neither the system nor a wheel has.
    """
    if platform.system() != "Linux":
        return
    prefix = Path(sysconfig.get_path("platlib")) / "cmeel.prefix" / "lib"
    there = {path.name for path in (*core.iterdir(), *prefix.iterdir())}
    for path in list(core.iterdir()):
        listed = _output("readelf", "-d", str(path))
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", listed):
            if name in _BUNDLED:
                found = _output(os.environ.get("CXX", "c++"), f"-print-file-name={name}").strip()
                shutil.copyfile(found, core / name)
            elif name not in there and not _OF_THE_SYSTEM.match(name):
                raise VmsPhError(f"{path.name} needs {name}, which no wheel has")


def _output(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def _with_glibcxx(number: int) -> int:
    for least, glibc in _GLIBC_OF_GLIBCXX:
        if number <= least:
            return glibc
    raise VmsPhError(f"GLIBCXX_3.4.{number} is newer than all known systems; use an older compiler")


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


def main() -> None:
    """Build the wheel, and check it if asked."""
    parser = argparse.ArgumentParser(description="Build the wheel of this platform.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder of the wheel")
    parser.add_argument("--check", action="store_true", help="install and use it in a new venv")
    options = parser.parse_args()
    try:
        wheel = build(options.out)
    except VmsPhError as error:
        sys.exit(f"error: {error}")
    print(f"written: {wheel}")
    if options.check:
        print(check(wheel.resolve()))


if __name__ == "__main__":
    main()

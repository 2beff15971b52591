# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Builds what a release consists of, and tries it in environments of its own.

Usage, with the Python of ``.venv`` (the platform wheel needs the extra [native] and a compiler)::

    python .ci/release.py --out dist
    python .ci/release.py --out dist --platform --try python3.10 python3.12

The source distribution comes from a clean copy of what git tracks, the pure wheel from that
distribution. ``--try`` installs the wheel for each Python in a new environment, and the platform
wheel for the Python that it is for: without this checkout and without a compiler on any path. It
does there what a user would do first.
"""

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# What a user would do first; the folder is empty and has no checkout above it.
TRIAL = (
    "vms-ph --version",
    "vms-ph check panda",
    "vms-ph new my_arm --robot panda.urdf",
    "python 03_integrate.py",
    "python 05_free_floating.py",
    "python 07_tank.py",
    "python 08_ephs.py",
    "python 09_audit.py",
    "vms-ph demo --headless --seconds 4 --out run",
    "vms-ph audit run/bag --certificate",
)


def source(out: Path) -> Path:
    """Write the source distribution of what git tracks; return its path."""
    requires = re.search(r"^requires = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.M)
    assert requires is not None
    with tempfile.TemporaryDirectory() as folder:
        # Pythons from 3.12 on come without setuptools.
        run(sys.executable, "-m", "venv", str(Path(folder, "venv")), cwd=ROOT)
        python = str(Path(folder, "venv/bin/python"))
        install = (python, "-m", "pip", "install", "--quiet")
        run(*install, *re.findall(r'"(.+?)"', requires[1]), cwd=ROOT)
        archive = Path(folder, "tracked.tar")
        run("git", "archive", "--output", str(archive), "HEAD", cwd=ROOT)
        with tarfile.open(archive) as tracked:
            tracked.extractall(Path(folder, "source"), filter="data")
        code = "import sys, setuptools.build_meta as b; print(b.build_sdist(sys.argv[1]))"
        said = run(python, "-c", code, str(out), cwd=Path(folder, "source"))
    return out / said.splitlines()[-1]


def pure(archive: Path, out: Path) -> Path:
    """Build the wheel of the Python packages from the source distribution; return its path."""
    before = set(out.glob("*.whl"))
    words = ("wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(archive))
    run(sys.executable, "-m", "pip", *words, cwd=out)
    (wheel,) = set(out.glob("vms_ph-*-py3-none-any.whl")) - before or out.glob("*-none-any.whl")
    return wheel


def platform(out: Path) -> Path:
    """Build the wheel with the C++ core for this Python, and use it in a new environment."""
    print(
        run(sys.executable, str(ROOT / "native/wheel.py"), "--out", str(out), "--check", cwd=ROOT)
    )
    return max(out.glob("vms_ph-*-cp*.whl"), key=lambda path: path.stat().st_mtime)


def attempt(python: str, wheel: Path) -> str:
    """Install a wheel for a Python, and try it; return its version and what failed."""
    with tempfile.TemporaryDirectory() as folder:
        place, work = Path(folder, "venv"), Path(folder, "work")
        work.mkdir()
        kept = {
            k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_", "LANG", "HOME"))
        }
        clean = {**kept, "PATH": str(place / "bin"), "ROS_DOMAIN_ID": "77"}
        run(python, "-m", "venv", str(place), cwd=work)
        inside = str(place / "bin/python")
        version = run(inside, "--version", cwd=work).strip()
        extras = f"{wheel}[embedded,audit]"
        run(inside, "-m", "pip", "install", "--quiet", extras, cwd=work, env=clean)
        for example in ROOT.glob("examples/[0-9]*.py"):
            (work / example.name).write_text(example.read_text())
        (work / "panda.urdf").write_text((ROOT / "urdf/simplified/panda.urdf").read_text())
        for line in TRIAL:
            words = line.split()
            try:
                run(str(place / "bin" / words[0]), *words[1:], cwd=work, env=clean)
            except subprocess.CalledProcessError as error:
                return f"{version}: {line} failed\n{error.stdout[-2000:]}"
        said = run(str(place / "bin/vms-ph"), "env", cwd=work, env=clean)
        if is_pure(wheel) == ("the C++ core is installed in" in said):
            return f"{version}: the core of {wheel.name} failed\n{said}"
    return f"{version}: {wheel.name} works"


def is_pure(wheel: Path) -> bool:
    """Return whether a wheel is without the C++ core."""
    return wheel.name.endswith("-none-any.whl")


def fits(wheel: Path, python: str) -> bool:
    """Return whether a wheel is for a Python."""
    code = "import sys; print('cp%d%d' % sys.version_info[:2])"
    return is_pure(wheel) or f"-{run(python, '-c', code, cwd=ROOT).strip()}-" in wheel.name


def run(*words: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command, and return what it prints."""
    done = subprocess.run(
        words, cwd=cwd, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, words, done.stdout)
    return done.stdout


def main() -> None:
    """Build, and try."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--platform", action="store_true", help="also the wheel with the C++ core")
    parser.add_argument(
        "--try", dest="pythons", nargs="*", default=[], help="Pythons to try it with"
    )
    given = parser.parse_args()
    out = given.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    try:
        archive = source(out)
        wheel = pure(archive, out)
        print(f"written: {archive}\nwritten: {wheel}", flush=True)
        wheels = [wheel]
        if given.platform:
            wheels.append(platform(out))
            print(f"written: {wheels[-1]}", flush=True)
        said = [attempt(p, w) for p in given.pythons for w in wheels if fits(w, p)]
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {' '.join(error.cmd)}\n{error.stdout}")
    print("\n".join(said))
    if any(" failed" in line for line in said):
        sys.exit(1)


if __name__ == "__main__":
    main()

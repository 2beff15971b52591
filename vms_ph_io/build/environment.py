# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Makes a virtual environment and installs packages into it, also after one that was killed.

    python vms_ph_io/build/environment.py FOLDER ARGUMENTS OF pip install

Run as a file, before anything but Python is there. Others that install into the folder wait.
"""

import csv
import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path


def has_pip(python: Path) -> bool:
    """Return whether an interpreter runs and has pip, the last part that an environment gets."""
    try:
        # Files of a pip whose installation was killed may be empty: they run, and do nothing.
        command = [str(python), "-m", "pip", "--version"]
        return subprocess.run(command, capture_output=True).stdout.startswith(b"pip")
    except OSError:
        return False


def remove_incomplete(folder: Path) -> None:
    """Remove descriptions of packages without all files, which pip would take for installed.

    Args:
        folder: site-packages of an environment.
    """
    for description in folder.glob("*.dist-info"):
        try:
            with (description / "RECORD").open(newline="", encoding="utf-8") as record:
                files = [row[0] for row in csv.reader(record) if row]
        except OSError:
            files = []
        # Python itself compiles anew.
        if not files or not all((folder / file).exists() for file in files if file[-4:] != ".pyc"):
            shutil.rmtree(description)
    for leftover in folder.glob("~*"):  # what pip had moved away
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()


def main(folder: Path, arguments: list[str]) -> None:
    """Make the environment if it is not complete, and run pip in place of this process."""
    python = folder / "bin/python"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / ".packages.lock", os.O_CREAT | os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Before pip is installed: a part of pip with a description would be taken for all of it.
        for site_packages in folder.glob("lib/python3*/site-packages"):
            remove_incomplete(site_packages)
        if not has_pip(python):
            if python.is_symlink() and not python.exists():  # its Python was removed
                shutil.rmtree(python.parent)
            # The pip that Python 3.10 brings takes minutes to choose versions.
            upgrade = ["--upgrade-deps"] if sys.version_info < (3, 11) else []
            subprocess.run([sys.executable, "-m", "venv", *upgrade, folder])
        if not has_pip(python):
            is_full = shutil.disk_usage(folder).free < 20_000_000  # bytes; pip is larger
            remedy = "its disk is full: free some space" if is_full else "it has no pip: remove it"
            sys.exit(f"vms: the environment in {folder} could not be made; {remedy} and run again.")
    except OSError as error:
        text = f"vms: the environment could not be made in {folder}: {error}\n"
        text += "     VMS_VENV names another folder."
        sys.exit(text)
    os.set_inheritable(lock, True)  # pip holds it
    os.execv(python, [str(python), "-m", "pip", "install", *arguments])


if __name__ == "__main__":
    main(Path(os.path.abspath(sys.argv[1])), sys.argv[2:])

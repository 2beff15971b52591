# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""A small package of a user's own: description, parameters, launch file, RViz file, law, test."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from string import Template
from xml.sax.saxutils import escape

from vms_ph_dynamics import OptionError, VmsPhError
from vms_ph_dynamics.robot.kinematic_tree import LinkTree

from ..installation import share_directory
from ..robots.robot_settings import RobotSettings
from ..settings.bounded_text import writing

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = ("launch", "urdf", "config", "rviz", "test", "resource")


@dataclass(frozen=True)
class NewPackage:
    """What a new package is made of.

    Attributes:
        name: of the package, lower case.
        settings: the robot, with its base, end effector and treatment of inertias.
        law: class name of a law of vms_ph or ``package.module:Class``; empty for one of its own.
        maintainer, email, license: for its package.xml.
    """

    name: str
    settings: RobotSettings
    law: str = ""
    maintainer: str = "maintainer"
    email: str = "maintainer@example.com"
    license: str = "Apache-2.0"

    def write(self, parent: Path) -> Path:
        """Write the package into a folder of its name and return that folder.

        Raises:
            OptionError: the name is not that of a package.
            VmsPhError: the robot cannot be loaded, or the folder exists or cannot be written.
        """
        self._check_name()
        folder = parent / self.name
        if folder.exists():
            raise VmsPhError(f"{folder} exists already; choose another name or folder")
        description = self.settings.description()
        values = self._template_values(description)
        with writing(folder):
            self._write(folder, description, values)
        return folder

    def _check_name(self) -> None:
        is_reserved = self.name.startswith("vms_ph") or self.name in _RESERVED
        if is_reserved or not _NAME.fullmatch(self.name):
            raise OptionError(
                "the name of a package has lower-case letters, digits and underscores, begins with "
                "a letter, and not with vms_ph, and is not that of a folder in the package: "
                f"{', '.join(_RESERVED)}; given: '{self.name}'"
            )

    def _template_values(self, description: str) -> dict[str, str]:
        model = self.settings.model(description)
        law_path = f"$(dirname)/../{self.name}/law.py:Law"
        options = {"base": model.base, "end_effector": model.end_effector}
        inertia = self.settings.inertia or "auto"
        if inertia != "auto":
            options["inertia"] = inertia
        return {
            "name": self.name,
            "title": f"{model.name} on a {model.base} base, with a law of its own.",
            "base": model.base,
            "end_effector": model.end_effector,
            "inertia": inertia,
            "options": ", ".join(f'{key}="{value}"' for key, value in options.items()),
            "controller": self.law or law_path,
            "controller_name": self.law or f"{self.name}.law:Law",
            "fixed_frame": "odom" if model.b else LinkTree(model.tree).root,
            "push": str(round(max(0.1, 2.0 * model.total_mass), 1)),  # a fifth of the weight, N
            "maintainer": self.maintainer,
            "email": self.email,
            "license": self.license,
            "moving": "moving" if model.b else "fixed",
        }

    def _write(self, folder: Path, description: str, values: dict[str, str]) -> None:
        templates = share_directory() / "config/new_package"
        escaped_values = {key: escape(value) for key, value in values.items()}
        for template in templates.rglob("*.in"):  # where it goes; NAME is that of the package
            target_path = str(template.relative_to(templates)).removesuffix(".in")
            file = folder / target_path.replace("NAME", self.name)
            file.parent.mkdir(parents=True, exist_ok=True)
            text = Template(template.read_text(encoding="utf-8"))
            substitutions = escaped_values if ".xml" in target_path else values
            file.write_text(text.substitute(substitutions), encoding="utf-8")
        for subfolder in ("urdf", "rviz", "resource"):
            (folder / subfolder).mkdir()
        (folder / "urdf" / f"{self.name}.urdf").write_text(description, encoding="utf-8")
        (folder / "resource" / self.name).touch()
        rviz = share_directory() / f"rviz/{values['moving']}.rviz"
        shutil.copyfile(rviz, folder / "rviz" / f"{self.name}.rviz")

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""Pages of the site that are made from the code: API, command line, messages, files of the root.

Run by mkdocs-gen-files while the site is built; nothing is written into the repository.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path
from types import ModuleType

import mkdocs_gen_files

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "vms_ph_dynamics",
    "vms_ph_controllers",
    "vms_ph_io",
    "vms_ph_ephs",
    "vms_ph_hopping",
    "vms_ph_studies",
)
# Modules whose names no package exports.
MODULES = (
    "vms_ph_dynamics.energy.ledger",
    "vms_ph_dynamics.robot_model",
    "vms_ph_io.recordings.motion",
    "vms_ph_studies.reorientation",
)
# Guides are found before the names of the code that they explain.
BEHIND = "---\nsearch:\n  boost: {}\n---\n"
ABOUT = ("CHANGELOG.md", "CONTRIBUTING.md", "COVERAGE.md", "SECURITY.md")
FIRST = ("page.md", "nodes.md")  # in the gallery: what has pictures of robots
MARKUP = re.compile(r"\[(bold|green|red|yellow)\](.*?)\[/\1\]", re.S)  # of rich, in help texts
PICTURE = re.compile(r"!\[([^\]]+)\]\(([\w.-]+\.(?:png|gif|svg))\)")


def write(name: str, text: str) -> None:
    """Write one page of the site."""
    with mkdocs_gen_files.open(name, "w") as page:
        page.write(text)


def plain(text: str) -> str:
    """Return a help text of the command line as Markdown."""
    return MARKUP.sub(lambda found: f"`{found[2]}`", text)


def names_of(module: ModuleType) -> list[str]:
    """Return the public names of a package or module: those it declares, or those it defines."""
    inside = (module.__name__, f"{module.__name__}.")
    defined = [
        name
        for name, value in vars(module).items()
        if name[0] != "_" and str(getattr(value, "__module__", "")).startswith(inside)
    ]
    return sorted(getattr(module, "__all__", defined))


def packages() -> list[ModuleType]:
    """Every package or module with public names, outermost first."""
    found = []
    for root in PACKAGES:
        top = importlib.import_module(root)
        found.append(top)
        for info in pkgutil.walk_packages(top.__path__, f"{root}."):
            if info.ispkg:
                found.append(importlib.import_module(info.name))
    found += map(importlib.import_module, MODULES)
    return [module for module in found if names_of(module)]


def home(package: ModuleType, name: str) -> str:
    """Return the full name of a public name, in the module that defines it."""
    value = getattr(package, name)
    if inspect.ismodule(value):
        return value.__name__
    if inspect.isclass(value) or inspect.isroutine(value):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{package.__name__}.{name}"


def api() -> None:
    """One page for each package, with each public name once, on the innermost page."""
    pages = packages()
    place: dict[str, str] = {}
    for package in pages:  # the innermost package that exports a name documents it
        for name in names_of(package):
            place[home(package, name)] = package.__name__
    for package in pages:
        path = f"reference/api/{package.__name__}.md"
        own, others = [], []
        for name in names_of(package):
            target = home(package, name)
            (own if place[target] == package.__name__ else others).append((name, target))
        text = [f"# {package.__name__}", "", inspect.getdoc(package) or "", ""]
        if others:
            text += ["Names that other pages document:", ""]
            text += [f"- [`{name}`][{target}]" for name, target in others] + [""]
        for _, target in own:
            text += [f"::: {target}", ""]
        write(path, BEHIND.format(0.2) + "\n".join(text))


def interfaces() -> None:
    """The messages and services, as they are defined."""
    text = ["# Messages and services", ""]
    for kind in ("msg", "srv"):
        for path in sorted((ROOT / kind).iterdir()):
            text += [
                f"## vms_ph/{kind}/{path.stem}",
                "",
                "```",
                path.read_text().rstrip(),
                "```",
                "",
            ]
    write("reference/interfaces.md", "\n".join(text))


def command_line() -> None:
    """Every command with its arguments and options."""
    import typer

    from vms_ph_nodes.cli.app import make_app

    text = ["# Command line", ""]

    def describe(command: object, path: str, level: int) -> None:
        if hasattr(command, "load"):  # of a wing
            command = command.load()
        if getattr(command, "hidden", False):
            return
        text.extend([f"{'#' * level} {path}", "", plain(inspect.cleandoc(command.help or "")), ""])
        for parameter in command.params:
            help_text = getattr(parameter, "help", None) or ""
            if getattr(parameter, "hidden", False):
                continue
            names = ", ".join(f"`{name}`" for name in parameter.opts)
            text.append(f"- {names}: {help_text}")
        text.append("")
        for name, child in sorted(getattr(command, "commands", {}).items()):
            describe(child, f"{path} {name}", level + 1)

    describe(typer.main.get_command(make_app()), "vms-ph", 2)
    write("reference/command_line.md", "\n".join(text))


def parameters() -> None:
    """The parameters of the nodes, and the gains of the laws."""
    sys.path.insert(0, str(ROOT / "docs"))
    from site_parameters import document

    write("reference/parameters.md", BEHIND.format(0.5) + document())


def examples() -> None:
    """The numbered programs, each with what it says of itself and its text."""
    # Without a list of contents beside them, so that their lines fit.
    text = ["---", "hide: [toc]", "---", ""]
    text += ["# Examples", "", "Short programs, from `examples/`. A test runs each of them.", ""]
    text += ["| program | |", "|---|---|"]
    programs = sorted((ROOT / "examples").glob("[0-9]*.py"))
    for path in programs:
        said = ast.get_docstring(ast.parse(path.read_text())) or ""
        text.append(f"| [{path.name}](#{path.stem}py) | {said.splitlines()[0]} |")
    text += [
        "| optimal_swing.py | [A swing that takes the least energy](casadi.md). |",
        "| crocoddyl_swing.py | [A drone with an arm swings a load](derivatives.md). |",
        "| fit_by_gradients.py | [Payload and friction by gradients](derivatives.md). |",
        "| learn_to_hover.py | [A drone learns to hover, with brax](casadi.md). |",
        "| symbolic_leg.py | [A hopping leg in symbols](hoppers.md). |",
        "| sweeps/ | [Study files](sweeps.md). |",
        "| notebooks/ | [Three notebooks](notebooks.md). |",
        "",
    ]
    for path in programs:
        text += [f"## {path.name}", "", "```python", path.read_text().rstrip(), "```", ""]
    write("examples.md", "\n".join(text))


def gallery() -> None:
    """The bundled robots, and every picture of the pages with a link to where it is explained."""
    from vms_ph_io import robots

    text = ["# Gallery", "", "## Robots", "", "`./vms launch NAME web:=true` shows each of them."]
    text += ["", "| name | | base | joints |", "|---|---|---|---|"]
    for name in robots.names():
        robot, model = robots.get(name), robots.load(name)
        text.append(f"| `{name}` | {robot.title} | {robot.base} | {model.n} |")
    text += [
        "",
        "## Pictures",
        "",
        "Each comes from a run of this project; the page below it says which.",
        "",
    ]
    shown: set[str] = set()
    pages = sorted((ROOT / "docs").glob("*.md"), key=lambda page: (page.name not in FIRST, page))
    for page in pages:
        title = page.read_text().partition("\n")[0].removeprefix("# ")
        for caption, file in PICTURE.findall(page.read_text()):
            if file not in shown:
                shown.add(file)
                text += [f"![{caption}]({file})", "", f"{caption}. [{title}]({page.name})", ""]
    write("gallery.md", "\n".join(text))


def about() -> None:
    """The pages of the root of the repository; the README is the first page."""
    for name in ABOUT:
        write(name, re.sub(r"\]\(docs/", "](", (ROOT / name).read_text()))
    write("index.md", re.sub(r"\]\(docs/", "](", (ROOT / "README.md").read_text()))


if __name__ == "<run_path>":  # as mkdocs-gen-files runs it
    about()
    examples()
    gallery()
    interfaces()
    command_line()
    parameters()
    api()

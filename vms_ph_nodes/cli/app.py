# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The application with all commands."""

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from vms_ph_io.installation import command_name
from vms_ph_io.wings import WINGS, Wing, hook

from . import audit, bag, check, demo, launch, page
from .progress import native

_HELP = f"""Port-Hamiltonian models, controllers and energy audits for manipulators.

Start with [bold]{command_name()} demo[/bold]; while it runs, inspect it from a second terminal with
[bold]{command_name()} topic list[/bold], [bold]{command_name()} topic echo /vms_ph/energy[/bold] or
[bold]{command_name()} service list[/bold].
"""


# Groups of the help, in their order; a command that is in none comes last.
_HELP_GROUPS = {
    "Run": ("demo", "page", "launch", "run"),
    "Record and analyse": ("audit", "plot", "bag", "sweep", "reproduce"),
    "Model": ("check", "new", "ephs"),
    "Look at running nodes": ("topic", "node", "service", "param", "env"),
    "Develop": ("native", "bench"),
}


class WingCommand(TyperCommand):
    """A command of a wing, which is imported when the command is used."""

    def __init__(self, wing: Wing, name: str) -> None:
        """Take the name of a command; its line in the list of commands is that of the wing."""
        note = "" if wing.is_installed else f" (the wing '{wing.name}' is not installed)"
        super().__init__(name, help=wing.commands[name] + note)
        self._wing = wing.name

    def load(self) -> Any:
        """Return the command with its arguments and options.

        Raises:
            WingError: the wing is not installed or broken.
        """
        commands = hook(self._wing, "commands", user=f"the command '{self.name}'").COMMANDS
        return typer.main.get_command(commands[self.name])

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Return the context of the loaded command."""
        return self.load().make_context(info_name, args, parent, **extra)


class CommandGroup(TyperGroup):
    """All commands, with those of wings."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for wing in WINGS.values():
            for name in wing.commands:
                self.add_command(WingCommand(wing, name))
        group_titles = {name: title for title, names in _HELP_GROUPS.items() for name in names}
        ordered_names = [name for name in group_titles if name in self.commands]
        ordered_names += [name for name in self.commands if name not in group_titles]
        self.commands = {name: self.commands[name] for name in ordered_names}
        for name, command in self.commands.items():
            command.rich_help_panel = group_titles.get(name)  # type: ignore[attr-defined]


def _show_version(is_requested: bool) -> None:
    if is_requested:
        from vms_ph_dynamics import __version__

        typer.echo(f"vms-ph {__version__}")
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="print the version and exit"
    ),
) -> None:
    """Take the options before a command."""


def make_app() -> typer.Typer:
    """Return the command line with all its commands."""
    app = typer.Typer(
        cls=CommandGroup,
        help=_HELP,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=_HELP)(_options)
    app.add_typer(bag.app, name="bag")
    any_arguments = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(context_settings=any_arguments)(launch.launch)
    app.command(context_settings=any_arguments)(launch.run)
    app.command(context_settings={"allow_extra_args": True})(page.page)
    for command in (demo.demo, check.check, check.new, audit.plot, audit.audit, launch.env, native):
        app.command()(command)
    return app

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The application with all commands."""

import typer

from vms_ph_io.command import command

from . import (
    audit,
    bag,
    bench,
    check,
    demo,
    environment,
    ephs,
    interface,
    launch,
    native,
    new,
    node,
    page,
    param,
    plot,
    reproduce,
    run,
    scene,
    service,
    sweep,
    topic,
)

_HELP = f"""Port-Hamiltonian models, controllers and energy audits for manipulators.

Start with [bold]{command()} demo[/bold]; while it runs, inspect it from a second terminal with
[bold]{command()} topic list[/bold], [bold]{command()} topic echo /vms_ph/energy[/bold] or
[bold]{command()} service list[/bold].
"""


def _show_version(asked: bool) -> None:
    if asked:
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
        help=_HELP,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=_HELP)(_options)
    app.command("demo")(demo.demo)
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("launch", context_settings=anything)(launch.launch)
    app.command("run", context_settings=anything)(run.run)
    for name, module in (
        ("node", node),
        ("topic", topic),
        ("service", service),
        ("param", param),
        ("interface", interface),
        ("bag", bag),
        ("ephs", ephs),
    ):
        app.add_typer(module.app, name=name)
    app.command("page")(page.page)
    app.command("check")(check.check)
    app.command("new")(new.new)
    app.command("plot")(plot.plot)
    app.command("audit")(audit.audit)
    app.command("env")(environment.env)
    app.command("reproduce")(reproduce.reproduce)
    app.command("bench")(bench.bench)
    app.command("sweep")(sweep.sweep)
    app.command("scene")(scene.scene)
    app.command("native")(native.native)
    return app

# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The report of an audit: one HTML file with interactive plots, which needs no network."""

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from vms_ph_dynamics import Array
from vms_ph_dynamics.energy.legend import GREEN, GREY, VERMILION, label_of, rgb, styles

from ..installation import command_name, share_directory
from ..settings.bounded_text import writing
from .document import NO_PROBLEM, document
from .energy_audit import Audit, balance

_MAX_INSTANTS = 1500


def write_report(audit: Audit, folder: Path) -> list[Path]:
    """Write audit.html, audit.png, audit.csv and audit.json; return their paths.

    Args:
        audit: the audit.
        folder: made if it does not exist.

    Raises:
        VmsPhError: the folder cannot be written.
        ImportError: plotly is not installed.
    """
    files = [folder / f"audit.{suffix}" for suffix in ("html", "png", "csv", "json")]
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_page(audit, files[0])
        audit.plot(files[1])
        write_csv(audit, files[2])
        files[3].write_text(json.dumps(document(audit), indent=2) + "\n", encoding="utf-8")
    return files


def write_csv(audit: Audit, file: Path) -> None:
    """Write the series of an audit; energies are cumulative, in J."""
    ledger = audit.ledger
    columns: dict[str, Array] = {
        "time": ledger.time,
        "kinetic": ledger.series["kinetic"],
        "potential": ledger.series["potential"],
        "unaccounted": ledger.series["unaccounted"],
        "unaccounted_band": ledger.band,
    }
    for quantity, names in (
        ("supplied", ledger.joints), ("gross", ledger.joints), ("dissipated", ledger.joints),
        ("residual", ledger.momenta),
    ):  # fmt: skip
        values = ledger.series[f"{quantity}_by_joint"]
        columns |= {f"{quantity}.{name}": values[:, k] for k, name in enumerate(names)}
    for k, name in enumerate(ledger.ports):
        columns[f"supplied.{audit.port_name(name)}"] = ledger.series["supplied_by_port"][:, k]
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(np.column_stack(list(columns.values())).tolist())


def write_page(audit: Audit, file: Path) -> None:
    """Write the report of an audit.

    Raises:
        ImportError: plotly is not installed; the message says how to install it.
    """
    try:
        import plotly.graph_objects as go
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError(
            "the report is drawn with plotly; install it with: pip install 'vms-ph[audit]'"
        ) from None
    ledger, content = audit.ledger, document(audit)
    joints = [{"joint": name, **row} for name, row in content["ledger"]["joint"].items()]
    base, model = content["ledger"]["base"], audit.model
    robot = (
        f"'{model.name}' on a {model.base} base: {model.n} joints, {model.total_mass:.4g} kg, end "
        f"effector {model.end_effector}"
    )
    has_problem = not any(sentence.startswith(NO_PROBLEM) for sentence in content["answers"])
    sections = [
        f"<h1>Energy audit of {escape(audit.recording.path.name)}</h1>",
        f"<div class='answers' style='border-color: {VERMILION if has_problem else GREEN}'>",
        *map(_answer, content["answers"]),
        "</div>",
        "<h2>Where the energy went</h2>",
        _figure_html(_sankey(go, audit)),
        "<h2>Energy balance (J)</h2>",
        _html_table([{"": entry.name, "energy": entry.energy} for entry in balance(audit)]),
        f"<p>{escape(robot)}<br>{ledger.duration:.3f} s, {ledger.samples} samples, "
        f"gross {ledger.gross:.6g} J; unaccounted {ledger.unaccounted:+.4g} J at the end "
        f"(95 % within {ledger.band[-1]:.2g} J by noise and sampling, not counting errors of the "
        f"model), largest {ledger.largest_unaccounted:.4g} J at {ledger.largest_time:.3f} s.</p>",
        "<h2>By joint (J; residual effort: root mean square, N m or N)</h2>",
        _html_table([*joints, *([{"joint": "base", **base}] if base else [])]),
        "<h2>Energy that appeared or disappeared (J, from begin to end in s)</h2>",
        _html_table(content["appearances"]),
        "<h2>Passivity</h2>",
        "<p>What a port supplied at most since the start, beyond what it had taken (J), and its "
        "largest rise. A passive neighbour, and friction that is left at a joint, can never have "
        "supplied energy.</p>",
        _html_table([{**row, "name": label_of(row["name"])} for row in content["passivity"]]),
        *_identified_sections(content),
        *_plot_sections(go, audit),
        "<h2>Signals</h2>",
        _html_list(content["conditioning"]["statements"]),
    ]
    style = (share_directory() / "config/page/report.css").read_text(encoding="utf-8")
    json_text = json.dumps(content).replace("<", "\\u003c")
    file.write_text(
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>Energy audit of {escape(audit.recording.path.name)}</title>"
        f"<style>{style}</style><script>{get_plotlyjs()}</script></head><body>\n"
        + "\n".join(sections)
        + f"\n<script type='application/json' id='audit'>{json_text}</script></body></html>\n",
        encoding="utf-8",
    )


def _answer(sentence: str) -> str:
    """Return a sentence as a paragraph, a command to type as code."""
    text = re.sub(r"--[\w-]+", r"<nobr>\g<0></nobr>", escape(sentence))
    is_command = text.startswith(f"Do this: {command_name()} audit ")
    return f"<p>Do this:<code>{text[9:]}</code></p>" if is_command else f"<p>{text}</p>"


def _figure_html(figure: Any) -> str:
    config = {"responsive": True, "displayModeBar": False}
    text: str = figure.to_html(full_html=False, include_plotlyjs=False, config=config)
    return f"<div class='wide'>{text}</div>"


def _sankey(go: Any, audit: Audit) -> Any:
    """Return the flow of energy: what supplied it on the left, where it went on the right."""
    ledger, robot = audit.ledger, "robot"
    links: list[tuple[str, str, float, str]] = []  # from, to, J, and the quantity of its colour
    for k, name in enumerate(ledger.joints):
        returned_energy = -float(ledger.returned_by_joint[k])
        links.append((name, robot, float(ledger.supplied_by_joint[k]) + returned_energy, "torque"))
        links.append((robot, f"{name} (returned)", returned_energy, "torque"))
        dissipated_energy = float(ledger.dissipated_by_joint[k])
        links.append((robot, f"{label_of('friction')} {name}", dissipated_energy, "friction"))
    for name, energy in zip(ledger.ports, ledger.supplied_by_port, strict=True):
        links.append(_signed_link(audit.port_name(name), robot, float(energy)))
    links.append((robot, label_of("drag"), ledger.drag, "drag"))
    for name in ("kinetic", "potential"):
        energy_change = float(ledger.series[name][-1] - ledger.series[name][0])
        links.append(_signed_link(name, robot, -energy_change))
    for name, energy in (("unaccounted", ledger.unaccounted), ("gaps", ledger.unobserved)):
        links.append(_signed_link(name, robot, energy))
    threshold = 2e-3 * max((abs(link_energy) for _, _, link_energy, _ in links), default=0.0)
    links = [link for link in links if link[2] > threshold]
    names = list(dict.fromkeys(name for link in links for name in link[:2]))
    colours = [styles(["torque", name])[name].colour for *_, name in links]
    link_columns = {
        "source": [names.index(a) for a, *_ in links],
        "target": [names.index(b) for _, b, *_ in links],
        "value": [link_energy for _, _, link_energy, _ in links],
        "color": [f"rgba{(*rgb(colour), 0.55)}" for colour in colours],
    }
    nodes = dict.fromkeys(names, GREY)
    for (source, target, *_), colour in zip(links, colours, strict=True):
        nodes[source if target == robot else target] = colour
    node = {"label": names, "pad": 12, "color": [nodes[name] for name in names]}
    return go.Figure(go.Sankey(node=node, link=link_columns, valuesuffix=" J")).update_layout(
        height=200 + 22 * len(names), margin={"t": 20, "b": 20, "l": 5, "r": 5}
    )


def _signed_link(name: str, robot: str, energy: float) -> tuple[str, str, float, str]:
    if energy >= 0.0:
        return label_of(name), robot, energy, name
    return robot, f"{label_of(name)} ", -energy, name


def _plot_sections(go: Any, audit: Audit) -> list[str]:
    series = audit.curves(_MAX_INSTANTS)
    titles = {
        "energy": "Energy over time",
        "power": "Power by joint and port",
        "friction": "Friction power by joint",
        "residual": "Energy of the residual of each momentum balance",
    }
    sections = []
    for name, (label, lines) in series.groups.items():
        figure = _curve_figure(go, series.time, lines, label)
        sections += [f"<h2>{titles[name]}</h2>", _figure_html(figure)]
    figure = _curve_figure(go, series.time, {"unaccounted": series.unaccounted}, "J")
    band = {"mode": "lines", "line": {"width": 0}, "fillcolor": f"rgba{(*rgb(VERMILION), 0.25)}"}
    for bound, fill in ((series.band, "none"), (-series.band, "tonexty")):
        edge = {"x": _round(series.time), "y": _round(series.unaccounted + bound), "fill": fill}
        figure.add_scatter(**edge, **band, name="95 %", showlegend=fill != "none")
    for jump in audit.energy_jumps:
        figure.add_vrect(x0=jump.begin, x1=jump.end, fillcolor=GREY, opacity=0.25, line_width=0)
    sections += ["<h2>Unaccounted energy</h2>", _figure_html(figure)]
    return sections


def _curve_figure(go: Any, time: Array, lines: Mapping[str, Array], label: str) -> Any:
    layout = {"height": 380, "margin": {"t": 20, "l": 5, "r": 5}, "hovermode": "x"}
    figure = go.Figure().update_layout(xaxis_title="time (s)", yaxis_title=label, **layout)
    for name, (label, colour, dashes) in styles(lines).items():
        dash = ",".join(f"{length}px" for length in dashes) or "solid"
        figure.add_scatter(x=_round(time), y=_round(lines[name]), name=label, mode="lines",
                           line={"color": colour, "dash": dash})  # fmt: skip
    return figure


def _round(values: Any) -> list[float]:
    """Return values with the digits that a screen shows."""
    return [float(f"{value:.6g}") for value in np.asarray(values)]


def _html_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of rows with names of columns and their content."""
    if not rows:
        return "<p>None.</p>"
    names = list(dict.fromkeys(name for row in rows for name in row))
    head_cells = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in names)
    body_rows = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(row.get(name)))}</td>" for name in names) + "</tr>"
        for row in rows
    )
    return f"<div class='wide'><table><tr>{head_cells}</tr>{body_rows}</table></div>"


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "yes" if value else ""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {energy:+.3g}" for name, energy in value.items())
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _html_list(sentences: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>"


def _identified_sections(content: Mapping[str, Any]) -> list[str]:
    identified, columns = content["identified"], ("value", "low", "high", "unit")
    rows = []
    for name, entry in identified.items():
        if isinstance(entry, Mapping) and "low" in entry:
            by_energy = entry.get("energy") or {}
            row = {"parameter": name, **{column: entry[column] for column in columns}}
            row["by energy"] = " to ".join(_cell(by_energy[k]) for k in columns[1:3] if by_energy)
            rows.append(row)
    if not identified:
        return []
    sections = ["<h2>Identified (low and high: 95 % interval)</h2>", _html_table(rows)]
    if not_excited := ", ".join(identified.get("not_excited", ())):
        sections.append(f"<p>Not excited by this recording: {escape(not_excited)}.</p>")
    if content["findings"]:
        sections.append("<h2>What the recording tells of the model</h2>")
        sections.append(_html_list(str(finding["text"]) for finding in content["findings"]))
    return sections

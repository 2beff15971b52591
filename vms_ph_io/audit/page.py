# Copyright The vms_ph authors
# SPDX-License-Identifier: Apache-2.0

"""The report of an audit: one HTML file with interactive plots, which needs no network."""

import json
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from .audit import Audit, balance
from .document import document
from .picture import curves

_INSTANTS = 1500

_STYLE = """
body { font-family: sans-serif; margin: 2em auto; max-width: 75em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; }
td, th { padding: 0.2em 0.8em; text-align: right; border-bottom: 1px solid #ddd; }
td:first-child, th:first-child { text-align: left; }
"""


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
    ledger = audit.ledger
    parts = [
        f"<h1>Energy audit of {escape(audit.recording.path.name)}</h1>",
        f"<p>{escape(_robot(audit))}<br>{ledger.duration:.3f} s, {ledger.samples} samples, "
        f"gross {ledger.gross:.6g} J; unaccounted {ledger.unaccounted:+.4g} J at the end "
        f"(95 % within {ledger.band[-1]:.2g} J by noise and sampling, not counting errors of the "
        f"model), largest {ledger.largest:.4g} J at {ledger.largest_time:.3f} s.</p>",
        *(f"<p><b>{escape(note)}</b></p>" for note in audit.recording.notes),
        "<h2>Where the energy went</h2>",
        _figure_html(_sankey(go, audit)),
        "<h2>Energy balance</h2>",
        _table(("", "J"), [(entry.name, f"{entry.energy:+.6g}") for entry in balance(audit)]),
        *_plots(go, audit),
        "<h2>By joint</h2>",
        _table(
            ("joint", "gross (J)", "supplied (J)", "returned (J)", "dissipated (J)",
             "residual (J)", "residual effort, rms"),
            _joints(audit),
        ),
        "<h2>By link</h2>",
        _figure_html(_links(go, audit)),
        "<h2>Energy that appeared or disappeared</h2>",
        _table(("from (s)", "to (s)", "J", "where"), _appearances(audit)),
        "<h2>Passivity</h2>",
        "<p>What a port supplied at most since the start, beyond what it had taken. A passive "
        "neighbour, and friction that is left at a joint, can never have supplied energy.</p>",
        _table(("", "net (J)", "at (s)", "largest rise (J)", ""), _supplies(audit)),
        "<h2>Signals</h2>",
        "<ul>",
        *(f"<li>{escape(statement)}</li>" for statement in
          audit.conditioning.statements(audit.model.joint_names)),
        "</ul>",
        *_identified(audit),
    ]  # fmt: skip
    data = json.dumps(document(audit), allow_nan=True).replace("</", "<\\/")
    file.write_text(
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<title>Energy audit of {escape(audit.recording.path.name)}</title>"
        f"<style>{_STYLE}</style><script>{get_plotlyjs()}</script></head><body>\n"
        + "\n".join(parts)
        + f"\n<script type='application/json' id='audit'>{data}</script></body></html>\n",
        encoding="utf-8",
    )


def _robot(audit: Audit) -> str:
    model = audit.model
    return (
        f"'{model.name}' on a {model.base} base: {model.n} joints, {model.total_mass:.4g} kg, "
        f"end effector {model.end_effector}"
    )


def _figure_html(figure: Any) -> str:
    text: str = figure.to_html(full_html=False, include_plotlyjs=False)
    return text


def _sankey(go: Any, audit: Audit) -> Any:
    """Return the flow of energy: what supplied it on the left, where it went on the right."""
    ledger = audit.ledger
    robot = "robot"
    links: list[tuple[str, str, float]] = []
    for k, name in enumerate(ledger.joints):
        back = -float(ledger.returned_by_joint[k])
        links.append((name, robot, float(ledger.supplied_by_joint[k]) + back))
        links.append((robot, f"{name} (returned)", back))
        links.append((robot, f"friction {name}", float(ledger.dissipated_by_joint[k])))
    for name, energy in zip(ledger.ports, ledger.supplied_by_port, strict=True):
        links.append(_either(audit.port_name(name), robot, float(energy)))
    if ledger.drag:
        links.append((robot, "drag", ledger.drag))
    for name in ("kinetic", "potential"):
        change = float(ledger.series[name][-1] - ledger.series[name][0])
        links.append(_either(f"{name} energy", robot, -change))
    links.append(_either("unaccounted", robot, ledger.unaccounted))
    if ledger.unobserved:
        links.append(_either("in gaps", robot, ledger.unobserved))
    least = 1e-6 * max((abs(size) for _, _, size in links), default=0.0)
    links = [link for link in links if link[2] > least]
    names = list(dict.fromkeys(name for link in links for name in link[:2]))
    flow = {
        "source": [names.index(a) for a, _, _ in links],
        "target": [names.index(b) for _, b, _ in links],
        "value": [size for _, _, size in links],
    }
    figure = go.Figure(go.Sankey(node={"label": names, "pad": 12}, link=flow, valuesuffix=" J"))
    return figure.update_layout(height=200 + 22 * len(names), margin={"t": 20, "b": 20})


def _either(name: str, robot: str, energy: float) -> tuple[str, str, float]:
    return (name, robot, energy) if energy >= 0.0 else (robot, f"{name} ", -energy)


def _plots(go: Any, audit: Audit) -> list[str]:
    series = curves(audit, _INSTANTS)
    titles = {
        "energy": "Energy over time",
        "power": "Power by joint and port",
        "friction": "Friction power by joint",
        "residual": "Energy of the residual of each momentum balance",
    }
    parts = []
    for name, (label, lines) in series.groups.items():
        figure = go.Figure()
        for line, values in lines.items():
            figure.add_scatter(x=_short(series.time), y=_short(values), name=line, mode="lines")
        parts += [f"<h2>{titles[name]}</h2>", _figure_html(_over_time(figure, label))]
    figure = go.Figure()
    low, high = series.unaccounted - series.band, series.unaccounted + series.band
    figure.add_scatter(x=_short(series.time), y=_short(high), mode="lines", line={"width": 0},
                       showlegend=False)  # fmt: skip
    figure.add_scatter(x=_short(series.time), y=_short(low), mode="lines", line={"width": 0},
                       fill="tonexty", name="95 %")  # fmt: skip
    figure.add_scatter(
        x=_short(series.time), y=_short(series.unaccounted), mode="lines", name="unaccounted"
    )
    for appearance in audit.appearances:
        figure.add_vrect(
            x0=appearance.begin, x1=appearance.end, fillcolor="red", opacity=0.12, line_width=0
        )
    parts += ["<h2>Unaccounted energy</h2>", _figure_html(_over_time(figure, "J"))]
    return parts


def _over_time(figure: Any, label: str) -> Any:
    return figure.update_layout(
        xaxis_title="time (s)", yaxis_title=label, height=380, margin={"t": 20}, hovermode="x"
    )


def _links(go: Any, audit: Audit) -> Any:
    figure = go.Figure()
    for k, name in enumerate(audit.links.names):
        total = audit.links.kinetic[:, k] + audit.links.potential[:, k]
        figure.add_scatter(
            x=_short(audit.links.time), y=_short(total - total[0]), name=name, mode="lines"
        )
    return _over_time(figure, "stored since the start (J)")


def _short(values: Any) -> list[float]:
    """Return values with the digits that a screen shows."""
    return [float(f"{value:.6g}") for value in np.asarray(values)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def row(cells: Sequence[str], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}>{escape(c)}</{kind}>" for c in cells) + "</tr>"

    body = [row(cells, "td") for cells in rows]
    return f"<table>{row(head, 'th')}{''.join(body)}</table>" if body else "<p>None.</p>"


def _joints(audit: Audit) -> Iterable[Sequence[str]]:
    ledger = audit.ledger
    for name in ledger.balanced:
        row = ledger.balanced.index(name)
        energies = ["", "", "", ""]
        if name in ledger.joints:
            k = ledger.joints.index(name)
            energies = [f"{float(values[k]):.5g}" for values in (
                ledger.gross_by_joint, ledger.supplied_by_joint, -ledger.returned_by_joint,
                ledger.dissipated_by_joint)]  # fmt: skip
        residual = f"{float(ledger.residual_by_joint[row]):+.4g}"
        yield (name, *energies, residual, f"{float(ledger.residual_effort[row]):.3g}")


def _appearances(audit: Audit) -> Iterable[Sequence[str]]:
    for appearance in audit.appearances:
        where = ", ".join(f"{name} {energy:+.3g} J" for name, energy in appearance.shares.items())
        yield f"{appearance.begin:.2f}", f"{appearance.end:.2f}", f"{appearance.energy:+.4g}", where


def _supplies(audit: Audit) -> Iterable[Sequence[str]]:
    for s in audit.supplies:
        verdict = "not passive" if s.violates else ""
        yield (
            audit.port_name(s.name), f"{s.net:.4g}", f"{s.time:.2f}",
            f"{s.rise:.4g} ({s.rise_begin:.2f} to {s.rise_end:.2f} s)", verdict,
        )  # fmt: skip


def _identified(audit: Audit) -> list[str]:
    if not audit.identified:
        return []
    values = {n: v for n, v in audit.identified.items() if isinstance(v, dict) and "low" in v}
    rows = [
        (
            name,
            f"{v['value']:.4g}",
            f"{v['low']:.4g} to {v['high']:.4g}",
            "" if v["unit"] == "1" else v["unit"],
            _beside(v),
        )
        for name, v in values.items()
    ]
    head = ("parameter", "value", "95 % interval", "unit", "torque regressor")
    sections = ["<h2>Identified</h2>", _table(head, rows)]
    left_out = ", ".join(audit.identified.get("not_excited", ()))
    if left_out:
        sections.append(f"<p>Not excited by this recording: {escape(left_out)}.</p>")
    if audit.findings:
        statements = "".join(f"<li>{escape(str(one['text']))}</li>" for one in audit.findings)
        sections.append(f"<h2>What the recording tells of the model</h2><ul>{statements}</ul>")
    return sections


def _beside(value: dict[str, Any]) -> str:
    other = value.get("torque_regressor")
    return "" if other is None else f"{other['low']:.4g} to {other['high']:.4g}"

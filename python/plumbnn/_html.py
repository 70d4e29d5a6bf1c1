# SPDX-License-Identifier: Apache-2.0
"""What notebooks show: tables of the same few kinds."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from ._text import printable

COLORS = {"wrong": "#c62828", "grey": "#8a6d00", "aligned": "#2e7d32", "not tested": "#666666"}


def escaped(text: Any) -> str:
    return html.escape(printable(str(text)))


def colored(verdict: str) -> str:
    color = COLORS.get(verdict, COLORS["wrong"])
    return f'<b style="color:{color}">{escaped(verdict)}</b>'


def headline(verdict: str, text: str) -> str:
    color = COLORS.get(verdict, COLORS["wrong"])
    return f'<p style="color:{color}"><b>{escaped(text)}</b></p>'


def table(head: str, rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Without rows nothing. Cells that begin with a tag of ours (`Raw`) are not escaped."""
    lines = [
        "<tr>" + "".join(f'<td style="text-align:left">{_cell(cell)}</td>' for cell in row) + "</tr>"
        for row in rows
    ]
    if not lines:
        return ""
    titles = "".join(f'<th style="text-align:left">{escaped(title)}</th>' for title in head.split())
    title = f"<caption>{escaped(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{titles}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


class Raw(str):
    """Markup of ours."""


def _cell(cell: Any) -> str:
    if isinstance(cell, Raw):
        return cell
    return escaped(f"{cell:.3g}" if isinstance(cell, float) else cell)


def more(all_of_them: int, shown: int, what: str) -> str:
    return f"<p>{all_of_them - shown} more {what}</p>" if all_of_them > shown else ""

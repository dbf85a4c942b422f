"""A table of one line per adversary, for sections that set numbers side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from leakgauge.report.page import render_html

_TABLE = """
<div class="scroll" role="region" aria-label="{{ title }}" tabindex="0">
<table>
<caption>{{ caption }}</caption>
<thead><tr><th scope="col">{{ first }}</th>
{% for column, meaning in columns %}
<th scope="col" class="n"{% if meaning %} title="{{ meaning }}"{% endif %}>{{ column }}</th>
{% endfor %}
</tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row">{{ row.name }}</th>
{% for cell in row.cells %}
<td class="n{{ ' beyond' if loop.index0 in row.marked }}">{{ cell }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody>
</table>
</div>
"""


@dataclass(frozen=True)
class HtmlTableRow:
    """Whose numbers they are, the numbers in words, and which of them (0, 1, ...) are marked."""

    name: str
    cells: tuple[str, ...]
    marked: tuple[int, ...] = ()


def html_table(
    title: str,
    columns: Sequence[tuple[str, str]],
    rows: Sequence[HtmlTableRow],
    *,
    caption: str,
    first: str = "Adversary",
) -> Markup:
    """Write the table; a column is its name and what it means, or nothing."""
    return render_html(_TABLE, title=title, columns=columns, rows=rows, caption=caption, first=first)

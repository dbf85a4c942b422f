"""The page of a reproduction: our charts, the published numbers beside ours, and why some differ."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from leakgauge.papers import comparison
from leakgauge.papers.paper import Reproduction
from leakgauge.papers.saved_item import SavedItem
from leakgauge.report import page
from leakgauge.report.number_format import NOTHING, count, lower, measured, times, upper

_TONES = {
    comparison.Agreement.AGREES: "not-violated",
    comparison.Agreement.DIFFERS: "undecided",
    comparison.Agreement.UNDECIDED: "no-promise",
    comparison.Agreement.NOT_PRINTED: "no-promise",
    comparison.Agreement.OTHER_DATA: "no-promise",
    comparison.Agreement.NOT_SIMULATED: "no-promise",
    comparison.Agreement.OURS_ONLY: "no-promise",
}

_SUMMARY = """
<div class="headline {{ tone }}">
<p class="statement">{{ statement }}</p>
<p>{{ detail }}</p>
</div>
<div class="scroll" role="region" aria-label="Items" tabindex="0">
<table>
<caption>Reproduced items</caption>
<thead><tr><th scope="col">Item</th>
{% for name in agreements %}
<th scope="col" class="n">{{ name }}</th>
{% endfor %}
<th scope="col" class="n">Simulated releases</th></tr></thead>
<tbody>
{% for title, counts, rounds in items %}
<tr><th scope="row">{{ title }}</th>
{% for n in counts %}
<td class="n">{{ n }}</td>
{% endfor %}
<td class="n">{{ rounds }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
<details>
<summary>How agreement is judged</summary>
<p>{{ rule }}</p>
</details>
"""

_ITEM = """
<p>{{ about }}</p>
{% for chart in charts %}
{{ chart.figure }}
{% endfor %}
{% if notes %}
<h3>Where we differ, and why</h3>
<ul>
{% for note in notes %}
<li>{{ note }}</li>
{% endfor %}
</ul>
{% endif %}
{{ stated }}
{% if others %}
<details>
<summary>All {{ n_others }} without a printed value</summary>
{{ others }}
</details>
{% endif %}
"""

_TABLE = """
<div class="scroll" role="region" aria-label="{{ caption }}" tabindex="0">
<table>
<caption>{{ caption }}</caption>
<thead><tr><th scope="col">Quantity</th><th scope="col" class="n">{{ reference }}</th>
<th scope="col" class="n">Ours</th><th scope="col">Verdict</th>
{% if explained %}<th scope="col">Why</th>{% endif %}
</tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row">{{ row.setting }}</th>
<td class="n">{{ row.reference }}</td>
<td class="n">{{ row.value }}{% if row.interval %}<small>{{ row.interval }}</small>{% endif %}</td>
<td><span class="badge {{ row.tone }}">{{ row.verdict }}</span></td>
{% if explained %}<td>{{ row.why }}</td>{% endif %}
</tr>
{% endfor %}
</tbody>
</table>
</div>
"""

_HOW_TO_REPEAT = """
<p>All random numbers come from the seed, so the same command with the same versions gives the same
numbers. Everything was simulated with ordinary plans. Their run folders are in <code>runs/</code> next to
this page; <code>reproduction.json</code> lists every number with the reason of its verdict.</p>
<pre class="command"><code>{{ commands }}</code></pre>
<dl class="settings">
<div><dt>Seed</dt><dd>{{ seeds }}</dd></div>
<div><dt>Scale</dt><dd>{{ scales }}</dd></div>
</dl>
{% for name, plan in plans %}
<details>
<summary>The plan of the run <code>{{ name }}</code></summary>
<pre><code>{{ plan }}</code></pre>
</details>
{% endfor %}
"""


def write_page(reproduction: Reproduction, items: Sequence[SavedItem]) -> Path:
    """Write the page of all items in the folder: the outcome first, then each item, then how to repeat it."""
    paper = reproduction.paper
    sections = [
        _summary(items),
        *(_item(item) for item in items),
        _how_to_repeat(items),
    ]
    lead = f"“{paper.title}”, {paper.authors} ({paper.year}). Scale: {_scales(items)}."
    return page.write_page(f"Does {reproduction.name} reproduce?", sections, reproduction.page, lead=lead)


def _scales(items: Sequence[SavedItem]) -> str:
    """The scale of the items, or of each item where they differ."""
    if len({item.scale for item in items}) == 1:
        return items[0].scale.value
    return ", ".join(f"{item.name} {item.scale}" for item in items)


def _summary(items: Sequence[SavedItem]) -> page.Section:
    cells = [cell for item in items for cell in item.cells]
    compared = [cell for cell in cells if cell.verdict.is_compared]
    differs = any(cell.verdict is comparison.Agreement.DIFFERS for cell in cells)
    html = page.render_html(
        _SUMMARY,
        tone=_TONES[comparison.Agreement.DIFFERS if differs else comparison.Agreement.AGREES],
        statement=f"Of {times(len(compared), 'statement')} in the paper, {_agreement_counts(compared)}.",
        detail=_detail(cells),
        agreements=[agreement.value for agreement in comparison.Agreement],
        items=[
            (
                item.title,
                [sum(cell.verdict is kind for cell in item.cells) for kind in comparison.Agreement],
                "theory only" if item.rounds is None else count(item.rounds),
            )
            for item in items
        ],
        rule=comparison.AGREEMENT_RULE,
    )
    return page.Section("In short", html)


def _detail(cells: Sequence[comparison.ComparedNumber]) -> str:
    unprinted, elsewhere, missing, alone = (
        [cell for cell in cells if cell.verdict is kind]
        for kind in (
            comparison.Agreement.NOT_PRINTED,
            comparison.Agreement.OTHER_DATA,
            comparison.Agreement.NOT_SIMULATED,
            comparison.Agreement.OURS_ONLY,
        )
    )
    known = [cell for cell in unprinted if cell.exact is not None]
    inside = sum(bool(cell.holds_exact) for cell in known)
    theory = (
        f" For {len(known)} of them theory gives the value: {inside} lie in our interval." if known else ""
    )
    parts = [
        f"The paper draws {times(len(unprinted), 'value')} without a number.{theory}" if unprinted else "",
        f"Numbers printed for other data, shown but not compared: {len(elsewhere)}." if elsewhere else "",
        f"Numbers that were not simulated: {len(missing)}." if missing else "",
        f"Numbers that are ours only: {len(alone)}." if alone else "",
        "Each difference is explained below.",
    ]
    return " ".join(filter(None, parts))


def _agreement_counts(cells: Sequence[comparison.ComparedNumber]) -> str:
    """How many of these agree with ours, differ, or are undecided."""
    agree, differ, undecided = (
        sum(cell.verdict is kind for cell in cells)
        for kind in (
            comparison.Agreement.AGREES,
            comparison.Agreement.DIFFERS,
            comparison.Agreement.UNDECIDED,
        )
    )
    parts = [f"{agree} agree with ours", f"{differ} differ"]
    parts += [f"{undecided} are undecided"] if undecided else []
    return ", ".join(parts[:-1]) + f" and {parts[-1]}"


def _item(item: SavedItem) -> page.Section:
    stated = [cell for cell in item.cells if cell.published is not None]
    others = [cell for cell in item.cells if cell.published is None]
    html = page.render_html(
        _ITEM,
        about=item.about,
        charts=item.charts,
        notes=item.notes,
        stated=_table(stated, "What the paper prints, beside ours", "Published") if stated else "",
        others=_table(others, _others_caption(item), "Exact") if others else "",
        n_others=times(len(others), "number"),
    )
    return page.Section(item.title, html, item.charts)


def _others_caption(item: SavedItem) -> str:
    sure = f" Each interval holds with {item.confidence} confidence." if item.confidence else ""
    return f"Numbers that the paper draws without a value, or does not have.{sure}"


def _table(cells: Sequence[comparison.ComparedNumber], caption: str, reference: str) -> Markup:
    return page.render_html(
        _TABLE,
        caption=caption,
        reference=reference,
        rows=[_row(cell) for cell in cells],
        explained=any(cell.explanation for cell in cells),
    )


def _row(cell: comparison.ComparedNumber) -> dict[str, Any]:
    value, interval = _our_value(cell.ours)
    return {
        "setting": cell.setting,
        "reference": _reference(cell),
        "value": value,
        "interval": interval,
        "verdict": cell.verdict.value,
        "tone": _TONES[cell.verdict],
        "why": cell.explanation,
    }


def _our_value(ours: comparison.OurNumber | None) -> tuple[str, str]:
    """Our value and its interval, as they are written; a dash where we have none."""
    if ours is None:
        return NOTHING, ""
    if ours.is_exact:
        return comparison.format_exact(ours.value), "exact"
    return measured(ours.value), f"{lower(ours.low)} to {upper(ours.high)}"


def _reference(cell: comparison.ComparedNumber) -> Markup | str:
    if cell.published is not None:
        return page.render_html(
            "{{ text }}<small>{{ where }}</small>", text=cell.published.written, where=cell.published.where
        )
    return NOTHING if cell.exact is None else comparison.format_exact(cell.exact)


def _how_to_repeat(items: Sequence[SavedItem]) -> page.Section:
    html = page.render_html(
        _HOW_TO_REPEAT,
        commands="\n".join(dict.fromkeys(item.command for item in items)),
        seeds=", ".join(dict.fromkeys(str(item.seed) for item in items)),
        scales=_scales(items),
        plans=list(dict.fromkeys(plan for item in items for plan in item.plans.items())),
    )
    return page.Section("How to repeat this", html)

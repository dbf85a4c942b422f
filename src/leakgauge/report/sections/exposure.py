"""Exposure of every person or record: a section of the report, and a page of its own."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leakgauge import catalog
from leakgauge.core.exposure import OWN, SMALLEST_GROUP
from leakgauge.report import page
from leakgauge.report.adversary_names import clip
from leakgauge.report.charts import chart_style
from leakgauge.report.charts.histograms import people_chart
from leakgauge.report.judged_run import JudgedRun
from leakgauge.report.metric_text import describe_metric
from leakgauge.report.number_format import count, level, number, percent, upper
from leakgauge.report.sections.promises import claim_text, promise_text
from leakgauge.report.sections.risk_utility import utility_sentence

ORDER = 55
PEOPLE_TITLE = "How exposed is everybody?"
LOG_TITLE = "How exposed is every record?"
MOST_AUDITS = 6
WHOLE_PERSON = "user"  # the unit of a promise to one person with all they contribute
QUANTILE_KEYS = ("0.5", "0.95", "1.0")  # median, 95th percentile and maximum

_TEMPLATE = """
{% if answers %}
<div class="headline neutral">
<p class="statement">{{ question }}</p>
{% for title, answer in answers %}
<p class="answer">{% if answers|length > 1 %}<strong>{{ title }}</strong>: {% endif %}{{ answer }}</p>
{% endfor %}
</div>
{% endif %}
<p>How well attackers would identify each {{ one }}; the notes below say how this was computed and at which
threshold. <code>exposure.csv</code> lists individuals: keep it private. This page names nobody.
{{ omitted }}</p>
{% for audit in audits %}
<h3>{{ audit.title }}: {{ audit.text }}</h3>
<div class="row">
{% for chart in audit.charts %}
{{ chart.figure }}
{% endfor %}
</div>
<div class="scroll" role="region" aria-label="Exposure" tabindex="0">
<table>
<caption>Exposure of the {{ audit.many }}: median / 95th percentile / maximum</caption>
<thead><tr><th scope="col">Attacker</th>
{% for metric, meaning in metrics %}
<th scope="col" class="n" title="{{ meaning }}">{{ metric }}</th>
{% endfor %}
<th scope="col" class="n" title="largest numerical error of these numbers">Error</th>
</tr></thead>
<tbody>
{% for row in audit.rows %}
<tr><th scope="row">{{ row.name }}</th>
{% for cell in row.cells %}
<td class="n">{{ cell }}</td>
{% endfor %}
<td class="n">{{ row.error }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% if audit.groups %}
<div class="scroll" role="region" aria-label="Exposure by group" tabindex="0">
<table>
<caption>Who is exposed: means over the {{ audit.many }} of a group</caption>
<thead><tr><th scope="col">Group</th><th scope="col" class="n">{{ audit.many|capitalize }}</th>
<th scope="col" class="n">Correct identifications</th><th scope="col" class="n">Members found at 1% false
accusations</th></tr></thead>
<tbody>
{% for name, people, accuracy, tpr in audit.groups %}
<tr><th scope="row">{{ name }}</th><td class="n">{{ people }}</td><td class="n">{{ accuracy }}</td>
<td class="n">{{ tpr }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% if audit.small_groups %}
<p>Not shown, because they are smaller than {{ smallest }}: {{ audit.small_groups }} groups.</p>
{% endif %}
{% endif %}
{% if audit.utility %}
<p>Utility: {{ audit.utility }}</p>
{% endif %}
{% if audit.spent %}
<p>Spent so far on the {{ audit.many }} (median / 95th percentile / maximum):</p>
<ul>
{% for line in audit.spent %}
<li>{{ line }}</li>
{% endfor %}
</ul>
{% endif %}
{% if audit.promised %}
<p>{{ audit.promised.text }} Median / 95th percentile / maximum of ε:
{% for name, spread in audit.promised.rows %}{{ spread }} {{ name }}{{ '; ' if not loop.last else '.'
}}{% endfor %}</p>
{% endif %}
{% endfor %}
<details>
<summary>What these numbers are based on</summary>
<ul>
{% for note in notes %}
<li>{{ note }}</li>
{% endfor %}
</ul>
</details>
"""


def section(run: JudgedRun) -> page.Section | None:
    """Quantiles and histograms; nothing where ``leakgauge expose`` has not been run for this folder."""
    summary = run.manifest.get("exposure")
    return exposure_section(summary) if summary and summary["audits"] else None


def write_exposure_page(summary: Mapping[str, Any], path: Path) -> Path:
    """Write the page of an exposure summary."""
    most = max(summary["audits"], key=lambda audit: audit["people"], default={"people": 0})
    lead = f"{count(most['people'])} {unit_plural(most)} in the data."
    logs = bool(summary["audits"]) and all(unit_plural(audit) == "records" for audit in summary["audits"])
    results = replace(exposure_section(summary), title="Results")  # the question is the heading of the page
    return page.write_page(LOG_TITLE if logs else PEOPLE_TITLE, [results], path, lead=lead)


def exposure_section(summary: Mapping[str, Any]) -> page.Section:
    """The answer first, then for each audit a histogram for every attacker, and quantiles."""
    audits = summary["audits"]
    shown = audits[:MOST_AUDITS]
    names = _metrics(audits)
    panels = [_audit(place, audit, names) for place, audit in enumerate(shown, start=1)]
    omitted = (
        f"Shown are {MOST_AUDITS} of {len(audits)} audits; exposure.json holds them all."
        if len(audits) > MOST_AUDITS
        else ""
    )
    html = page.render_html(
        _TEMPLATE,
        question=exposure_question(shown),
        one="record" if any(unit_plural(audit) == "records" for audit in shown) else "person",
        answers=[(clip(audit["audit"]), exposure_answer(audit)) for audit in shown if exposure_answer(audit)],
        audits=panels,
        metrics=[(exposure_title(name, names), describe_metric(name).meaning) for name in names],
        notes=exposure_notes(shown),
        omitted=omitted,
        smallest=SMALLEST_GROUP,
    )
    return page.Section(PEOPLE_TITLE, html, tuple(chart for audit in panels for chart in audit["charts"]))


def _metrics(audits: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(
        max((attacker["metrics"] for audit in audits for attacker in audit["attackers"]), key=len, default=())
    )


def _audit(place: int, audit: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, Any]:
    unit = unit_plural(audit)
    return {
        "title": clip(audit["audit"]),
        "text": f"{count(audit['people'])} {unit}, each taken in turn as the target",
        "many": unit,
        "spent": spent_lines(audit),
        "groups": group_rows(audit),
        "small_groups": audit.get("small_groups", 0),
        "utility": utility_sentence(audit.get("domain", ""), audit.get("utility")),
        "rows": [_row(attacker, metrics) for attacker in audit["attackers"]],
        "part": part_noun(audit),
        "promised": _promised(audit),
        "charts": _charts(place, audit),
    }


def _row(against: Mapping[str, Any], metrics: Sequence[str]) -> dict[str, Any]:
    known = against["metrics"]
    return {
        "name": against["attacker"],
        "cells": [
            metric_quantiles(name, known[name]["quantiles"]) if name in known else "–" for name in metrics
        ],
        "error": number(against["error"]),
    }


def _promised(audit: Mapping[str, Any]) -> dict[str, Any] | None:
    promised = audit.get("promised")
    if not promised:
        return None
    rows = [
        (f"{kairouz_basis(audit)} (Kairouz et al. 2015)", epsilon_quantiles(promised["kairouz"])),
        ("from the noise distribution", epsilon_quantiles(promised["tight"])),
    ]
    return {"text": f"{nominal_promise(promised)}. {personal_promise(audit)}.", "rows": rows}


def strongest_chart(audit: Mapping[str, Any]) -> page.Chart | None:
    """The histogram of the attacker who recognises most, or of the first one; nothing without attackers."""
    charts = _charts(1, audit)
    if not charts:
        return None
    people = [attacker.get("recognised", {}).get("people", 0) for attacker in audit["attackers"]]
    return charts[people.index(max(people))]


def _charts(place: int, audit: Mapping[str, Any]) -> list[page.Chart]:
    """One histogram for each attacker, all on the same scale."""
    against, people = audit["attackers"], max(audit["people"], 1)
    shares = [np.array(attacker["histogram"]["people"], dtype=float) / people for attacker in against]
    most = max((float(share.max()) for share in shares), default=1.0)
    return [
        _chart(f"exposure-{place}-{n}", audit, attacker, share, most, colour)
        for n, (attacker, share, colour) in enumerate(
            zip(against, shares, chart_style.colours(len(against)), strict=True), start=1
        )
    ]


def _chart(
    name: str, audit: Mapping[str, Any], against: Mapping[str, Any], shares: Any, most: float, colour: str
) -> page.Chart:
    metric = against["histogram"]["metric"]
    title = exposure_title(metric, against["metrics"])
    reached = recognised_text(audit, against)
    middle = against["metrics"][metric]["quantiles"]["0.5"]
    most_of_half = rounded_value(middle, share=describe_metric(metric).is_share)
    half = f"median {most_of_half} over the {unit_plural(audit)}"
    return people_chart(
        name,
        np.array(against["histogram"]["edges"]),
        shares,
        level=against["recognised"]["accuracy"] if reached and metric == "accuracy" else None,
        most=most,
        colour=colour,
        x_title=title,
        caption=f"{against['attacker']}: {reached or half}",
        alternative=f"{title} of {against['attacker']}: {half}",
        who=unit_plural(audit),
    )


def group_rows(audit: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """Each group of people or records by name, with its size and how well its members are identified."""
    return [
        (
            f"{group['group']}: {clip(group['value'])}",
            count(group["people"]),
            rounded_value(group["accuracy"], share=True),
            rounded_value(group["tpr"], share=True),
        )
        for group in audit.get("groups", ())
    ]


def unit_plural(audit: Mapping[str, Any]) -> str:
    """Whose exposure it is: that of people, or of records.

    >>> unit_plural({"unit": "record"}), unit_plural({})
    ('records', 'people')
    """
    return "records" if audit.get("unit") == "record" else "people"


def exposure_question(audits: Sequence[Mapping[str, Any]]) -> str:
    """The question that ``exposure_answer`` answers."""
    everyone = " and ".join(dict.fromkeys(map(unit_plural, audits))) or "people"
    return f"How many {everyone} could be recognised?"


def part_noun(audit: Mapping[str, Any]) -> str:
    """What epsilon is spent on, of which a person or record has many, as the domain calls it.

    >>> part_noun({})
    'part'
    """
    domain = catalog.find_domain(audit.get("domain", ""))
    spec = None if domain is None else domain.log_exposure if "spent" in audit else domain.exposure
    return "part" if spec is None else spec.part


def spent_lines(audit: Mapping[str, Any]) -> list[str]:
    """The epsilon already spent on each record; nothing where the exposure is that of a plan."""
    if "spent" not in audit:
        return []
    spent, parts = audit["spent"], f"{part_noun(audit)}s"
    most = spent["delta"]["1.0"]
    at = f", at δ of at most {number(most)}" if most else ""
    numbers = " / ".join(count(int(spent["answers"][share])) for share in QUANTILE_KEYS)
    lines = [
        f"{parts.capitalize()} that contain them: {numbers}",
        f"ε of those {parts}, by sequential composition{at}: {epsilon_quantiles(spent['epsilon'])}",
    ]
    if "epsilon_tight" in spent:
        tight = epsilon_quantiles(spent["epsilon_tight"])
        lines.append(
            f"ε of those {parts}, by tight composition, at δ = {number(spent['delta_tight'])}: {tight}"
        )
    return [*lines, *audit.get("secret_bits", {}).get("sentences", ())]


def exposure_answer(audit: Mapping[str, Any]) -> str:
    """How many each attacker would recognise, and how well it does against the most exposed one.

    It answers ``exposure_question``, and is empty where that was not counted.
    """
    against = audit["attackers"]
    if not against or any("recognised" not in attacker for attacker in against):
        return ""
    first, *others = (f"by the {_who(audit, attacker)}" for attacker in against)
    people = [f"{_people_share(audit, against[0])} can be recognised {first}"]
    people += [f"{_people_share(audit, attacker)} {who}" for attacker, who in zip(against[1:], others)]
    most = [
        rounded_value(attacker["metrics"]["accuracy"]["quantiles"]["1.0"], share=True) for attacker in against
    ]
    sure = level(against[0]["recognised"]["accuracy"])
    worst = most[0] if len(set(most)) == 1 else _joined(most)
    if any("draws" in attacker["recognised"] for attacker in against):
        worst = f"{worst} (for several draws, that of the mean over them)"
    at = " at the best threshold for each of them" if OWN in against[0]["metrics"] else ""
    return (
        f"Of {count(audit['people'])} {unit_plural(audit)}, {_setting(audit)}{_joined(people)}: right about "
        f"them at least {sure} of the time{at}, and about the most exposed one {worst}.{_means(against)}"
    )


def _means(against: Sequence[Mapping[str, Any]]) -> str:
    """How often the attacks are right on average, at their own thresholds and at the best ones."""
    if OWN not in against[0]["metrics"]:
        return ""
    own, best = (
        _joined([rounded_value(attacker["metrics"][name]["mean"], share=True) for attacker in against])
        for name in (OWN, "accuracy")
    )
    return (
        f" On average they are right {own} of the time at the threshold that the attack fixes itself, and "
        f"{best} at the best threshold for each."
    )


def _setting(audit: Mapping[str, Any]) -> str:
    """Where the numbers hold, if not for the table of everyone."""
    return f"{audit['setting']}, " if audit.get("setting") else ""


def exposure_title(name: str, names: Collection[str]) -> str:
    """The title of one of these metrics of exposure.

    >>> [exposure_title("accuracy", names) for names in (["accuracy"], ["accuracy_own", "accuracy"])]
    ['Correct identifications', 'Correct, at the best threshold']
    """
    if name == "accuracy":
        return "Correct, at the best threshold" if OWN in names else "Correct identifications"
    return describe_metric(name).title


def _who(audit: Mapping[str, Any], against: Mapping[str, Any]) -> str:
    """Who attacks, by what they know, and the name that tables use."""
    title = catalog.knowledge_term(audit.get("domain", ""), against["attacker"]).title
    name = against["attacker"]
    return f"attacker '{name}'" if title == name else f"{title} ({name})"


def recognised_text(audit: Mapping[str, Any], against: Mapping[str, Any]) -> str:
    """How many people one attacker would recognise, for its chart; empty where that was not counted."""
    if "recognised" not in against:
        return ""
    sure = level(against["recognised"]["accuracy"])
    return f"{_people_share(audit, against)} recognised ({sure} right)"


def exposure_notes(audits: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the numbers are based on, each note once; notes on some audits only have the names of those."""
    notes: dict[str, list[str]] = {}
    for audit in audits:
        bases = [
            f"{attacker['attacker']}: {attacker['basis']}{_own_error(attacker)}."
            for attacker in audit["attackers"]
        ]
        for text in dict.fromkeys([*bases, *audit["notes"]]):
            notes.setdefault(text, []).append(clip(audit["audit"]))
    return [
        text if len(names) == len(audits) else f"{text} ({', '.join(names)})" for text, names in notes.items()
    ]


def _own_error(attacker: Mapping[str, Any]) -> str:
    """How far off numbers at the attack's own threshold may be, where that is more than the others are."""
    if attacker.get("own_error", 0.0) <= attacker.get("error", 0.0):
        return ""
    return f"; at its own threshold within {number(attacker['own_error'])}"


def nominal_promise(promised: Mapping[str, Any]) -> str:
    """The epsilon on the label, and what it protects.

    >>> nominal_promise({"nominal": {"epsilon": 0.5, "unit": "event"}})
    'Promised is ε\xa0=\xa00.5 for one event'
    >>> nominal_promise({"nominal": {"epsilon": 0.5, "unit": "user"}, "releases": 4})
    'Promised is ε\xa0=\xa00.5 for one person in each of 4 releases, which add up to ε\xa0=\xa02'
    """
    nominal, n = promised["nominal"], promised.get("releases", 1)
    text = f"Promised is {claim_text(nominal)}"
    if n == 1 or nominal["epsilon"] is None:
        return text
    if nominal["unit"] != WHOLE_PERSON:
        return f"{text} in one of {n} releases"
    total = n * max(nominal["epsilon"], nominal.get("exact") or 0.0)
    return f"{text} in each of {n} releases, which add up to {promise_text({'epsilon': total})}"


def kairouz_basis(audit: Mapping[str, Any]) -> str:
    """What the composition by epsilon alone starts from: the noise of one part, not a stated epsilon.

    >>> kairouz_basis({"promised": {"part_epsilon": 2.0}})
    'from ε\xa0=\xa02, which the noise gives each part'
    """
    part = audit["promised"].get("part_epsilon")
    if part is None:
        return f"from the promise to each {part_noun(audit)}"
    return f"from {promise_text({'epsilon': part})}, which the noise gives each {part_noun(audit)}"


def personal_promise(audit: Mapping[str, Any]) -> str:
    """How the epsilon of a person follows from what is promised."""
    promised = audit["promised"]
    delta = number(promised["delta"]["1.0"])
    parts = f"{part_noun(audit)}s"
    replaced = " and the person who takes their place" if promised.get("replaces") else ""
    whole = "is added or removed and uses" if replaced else "uses"
    at = f"here at δ of at most {delta}"
    if promised["nominal"]["unit"] == WHOLE_PERSON:
        return (
            f"This covers whoever {whole} the whole cap; the numbers of each person are for the {parts} that "
            f"they{replaced} really affect, {at}"
        )
    return f"For one person, ε adds up over all the {parts} they{replaced} affect, {at}"


def epsilon_quantiles(quantiles: Mapping[str, float | None]) -> str:
    """Median, 95th percentile and maximum of epsilon over the people, rounded up.

    >>> epsilon_quantiles({"0.5": 1.2301, "0.95": 14.0, "1.0": None})
    '1.24 / 14.0 / ∞'
    """
    values = (quantiles[share] for share in QUANTILE_KEYS)
    return " / ".join("∞" if value is None else upper(value) for value in values)


def metric_quantiles(name: str, quantiles: Mapping[str, float]) -> str:
    """Median, 95th percentile and maximum of a metric over the people.

    >>> metric_quantiles("accuracy", {"0.5": 0.7312, "0.95": 0.9, "1.0": 0.99999})
    '73.1% / 90.0% / >99.9%'
    """
    return " / ".join(
        rounded_value(quantiles[share], share=describe_metric(name).is_share) for share in QUANTILE_KEYS
    )


def rounded_value(value: float, *, share: bool) -> str:
    """A number to three digits, which is how well it is known; what is below one is never shown as one."""
    text, most = (f"{value:.1%}", ">99.9%") if share else (f"{value:.3f}", ">0.999")
    return most if value < 1 and text in ("100.0%", "1.000") else text


def _people_share(audit: Mapping[str, Any], against: Mapping[str, Any]) -> str:
    recognised, people = against["recognised"], max(audit["people"], 1)
    n = recognised["people"]
    share = f"{count(n)} ({percent(n / people)})"
    if "draws" not in recognised:
        return share
    return (
        f"{count(n)} ({percent(n / people)}; {count(recognised['smallest'])} to "
        f"{count(recognised['largest'])} over {recognised['draws']} random draws)"
    )


def _joined(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"

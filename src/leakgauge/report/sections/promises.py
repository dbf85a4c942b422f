"""What was promised: epsilon and delta, what is protected, and what the label says."""

from collections.abc import Mapping
from typing import Any

from leakgauge.core.guarantee import Unit
from leakgauge.report import judged_run, metric_text, number_format, page
from leakgauge.report.adversary_names import clip
from leakgauge.report.answers import least_protected_sentence, promises_less

ORDER = 25
MOST_ROWS = 40
_ALL_REPLACED = "data in which they are all replaced by others"
INDEPENDENT = "advantage_independent"  # a bound for records that do not depend on one another
RELATIONS: Mapping[str, str] = {
    "add_remove": "data with and without it",
    "replace_one": "data in which it is replaced by another",
}

_EQUALS = "\u00a0=\u00a0"  # keeps an equation in one line

_TEMPLATE = """
<p>A promise protects one unit: a person, or only one of a person's many visits or days. Below, ε is converted
to the unit of this audit. Where the noise distribution is known, a column gives the ε that it really
achieves.
{% if least %}
People with more visits have less protection: ε promised is that of the most active target, and a column gives
that of the most active person of the data.
{% endif %}
{% if composed %}
The last columns give ε of {{ 'the most active target' if least else 'all parts together' }}, with a little
more δ: from the promise to each part
(Kairouz et al. 2015), and, tighter, from the noise distribution.
{% endif %}</p>
{% for text in meanings %}
<p>{{ text }}</p>
{% endfor %}
{% for text in dependent %}
<p class="note">{{ text }}</p>
{% endfor %}
<div class="scroll" role="region" aria-label="The promises" tabindex="0">
<table>
<caption>The promise of each audit. {{ omitted }}</caption>
<thead><tr>
<th scope="col">Audit</th><th scope="col" class="n">ε promised</th><th scope="col" class="n">δ</th>
<th scope="col">Protects</th><th scope="col">Compared are</th><th scope="col">Stated as</th>
<th scope="col" class="n">ε achieved exactly</th>
{% if least %}<th scope="col" class="n">ε of the most active person</th>{% endif %}
{% if composed %}
<th scope="col" class="n">Parts</th><th scope="col" class="n">at δ</th>
<th scope="col" class="n">ε by Kairouz</th><th scope="col" class="n">ε, tight</th>
{% endif %}
</tr></thead>
<tbody>
{% for row in rows %}
<tr><th scope="row">{{ row.audit }}</th><td class="n">{{ row.epsilon }}</td><td class="n">{{ row.delta }}</td>
<td>{{ row.unit }}</td><td>{{ row.relation }}</td><td>{{ row.nominal }}</td>
<td class="n">{{ row.exact }}</td>
{% if least %}<td class="n">{{ row.least }}</td>{% endif %}
{% for cell in row.composed %}
<td class="n">{{ cell }}</td>
{% endfor %}
</tr>
{% endfor %}
</tbody>
</table>
</div>
"""


def section(run: judged_run.JudgedRun) -> page.Section | None:
    """One line per audit that promises something."""
    promises = {verdict.audit: verdict.promised for verdict in run.verdicts if verdict.promised}
    if not promises:
        return None
    shown = list(promises.items())[:MOST_ROWS]
    allowed = {verdict.audit: verdict.bounds.get("accuracy") for verdict in run.verdicts}
    composed = any(promised.get("composed") for _, promised in shown)
    rows = [_row(audit, promised) | {"composed": _composed(promised, composed)} for audit, promised in shown]
    omitted = judged_run.omission_note(len(rows), len(promises), "promises")
    html = page.render_html(
        _TEMPLATE,
        rows=rows,
        composed=composed,
        least=any(promised.get("least_protected") for _, promised in shown),
        omitted=omitted,
        meanings=list(
            dict.fromkeys(promise_meaning(promised, allowed.get(audit)) for audit, promised in shown)
        ),
        dependent=_dependence_notes(run, dict(shown)),
    )
    return page.Section("What was promised", html)


def promise_text(promised: Mapping[str, Any]) -> str:
    """A promise in a few words.

    >>> promise_text({"epsilon": 1.0, "delta": 1e-5, "unit": "user"})
    'ε\xa0=\xa01, δ\xa0=\xa010⁻⁵ for one person'
    """
    unit, epsilon, delta = str(promised.get("unit") or ""), promised.get("epsilon"), promised.get("delta")
    return (
        f"ε{_EQUALS}{'∞' if epsilon is None else number_format.number(epsilon)}"
        + (f", δ{_EQUALS}{number_format.number(delta)}" if delta else "")
        + (f" for {metric_text.UNIT_NAMES.get(unit, clip(unit))}" if unit else "")
    )


def promise_meaning(promised: Mapping[str, Any], allowed_accuracy: float | None) -> str:
    """What a promise means in practice, and where its ε comes from if another one is stated.

    >>> promise_meaning({"epsilon": 1.0, "unit": "user"}, 0.7310)
    'ε\xa0=\xa01 for one person allows an attacker to be right up to 73.1% of the time (coin toss: 50%).'
    """
    text = promise_text({key: promised.get(key) for key in ("epsilon", "unit")})
    allowed = metric_text.bound_text("accuracy", allowed_accuracy)
    right = f"up to {allowed}" if allowed else "all"
    basis = " with this noise" if allowed and promised.get("exact_epsilon") is not None else ""
    meaning = f"{text} allows an attacker to be right {right} of the time{basis} (coin toss: 50%)."
    nominal, unit = promised.get("nominal") or {}, str(promised.get("unit"))
    why = (
        "which the noise that the claim needs protects so far: sampling, which protects more, is not tested"
        if unit in (Unit.STEP, Unit.TRAINING)
        else "for which the ε of all parts add up"
    )
    origin = (
        f" It follows from what is stated, {claim_text(nominal)}: this audit is about "
        f"{metric_text.UNIT_NAMES.get(unit, clip(unit))}, {why}."
        if nominal.get("epsilon") is not None and nominal.get("unit") != unit
        else ""
    )
    least = promised.get("least_protected")
    if least is None:
        return f"{meaning}{origin}"
    if not promises_less(promised.get("epsilon"), least):
        return f"{meaning}{origin} This is the most active person of the data."
    return f"{meaning}{origin} This is the most active target. {least_protected_sentence(least)}"


def _least(least: Mapping[str, Any] | None) -> str:
    if least is None:
        return number_format.NOTHING
    return "∞" if least["epsilon"] is None else number_format.number(least["epsilon"])


def claim_text(nominal: Mapping[str, Any]) -> str:
    """A stated promise, and the ε that the noise gives the same unit if that is another one.

    >>> claim_text({"epsilon": 1.0, "unit": "event", "exact": 2.0})
    'ε\xa0=\xa01 for one event (but its noise gives ε\xa0=\xa02, which is what counts here)'
    """
    stated, exact = nominal.get("epsilon"), nominal.get("exact")
    if stated is None or exact is None or number_format.number(stated) == number_format.number(exact):
        return promise_text(nominal)
    other = "but" if exact > stated else "and"
    return (
        f"{promise_text(nominal)} ({other} its noise gives ε{_EQUALS}{number_format.number(exact)}, which is "
        "what counts here)"
    )


def _dependence_notes(run: judged_run.JudgedRun, shown: Mapping[str, Any]) -> list[str]:
    """Where records depend on one another: what each label would allow if they were independent."""
    bounds = {
        promise_text(shown[verdict.audit]["nominal"]): verdict.bounds[INDEPENDENT]
        for verdict in run.verdicts
        if verdict.audit in shown and verdict.bounds.get(INDEPENDENT) is not None
    }
    return [
        "The members of some audits depend on one another, as patients of one hospital do. The label, "
        f"{label}, would keep the advantage (members found minus non-members accused) at or below "
        f"{number_format.upper(bound)} if records were independent. That bound does not apply here: the "
        "promise in the table is for all records of a release together."
        for label, bound in bounds.items()
    ]


def _composed(promised: Mapping[str, Any], wanted: bool) -> list[str]:
    """What the promises to parts compose to, where any audit of the table has that; bounds are rounded up."""
    if not wanted:
        return []
    composed = promised.get("composed")
    if not composed:
        return [number_format.NOTHING] * 4
    tight = number_format.upper(composed["tight"]) if composed["tight"] is not None else number_format.NOTHING
    kairouz = number_format.upper(composed["kairouz"]) if composed["kairouz"] is not None else "∞"
    if composed.get("part_epsilon") is not None:
        kairouz += f" (from ε{_EQUALS}{number_format.number(composed['part_epsilon'])} for each part)"
    return [number_format.count(composed["parts"]), number_format.number(composed["delta"]), kairouz, tight]


def _row(audit: str, promised: Mapping[str, Any]) -> dict[str, Any]:
    nominal = promised.get("nominal") or {}
    unit, relation = (
        str(promised.get("unit") or number_format.NOTHING),
        str(promised.get("relation") or number_format.NOTHING),
    )
    return {
        "audit": clip(audit),
        "epsilon": number_format.number(promised.get("epsilon")),
        "delta": number_format.number(promised.get("delta")),
        "unit": metric_text.UNIT_NAMES.get(unit, clip(unit)),
        "relation": _ALL_REPLACED if unit == Unit.GROUP else RELATIONS.get(relation, clip(relation)),
        "nominal": claim_text(nominal) if nominal.get("epsilon") is not None else number_format.NOTHING,
        "exact": number_format.number(promised.get("exact_epsilon")),
        "least": _least(promised.get("least_protected")),
    }

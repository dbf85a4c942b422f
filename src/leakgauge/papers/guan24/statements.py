"""Numbers of the page: tables of Guan et al. (2024) beside ours, and claims of the paper about curves."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import hypot, sqrt

from leakgauge.papers import comparison, metric_intervals
from leakgauge.papers.guan24 import plans
from leakgauge.verdict import Verdict

PUBLISHED = comparison.read_published(__package__)
VARIANTS = {variant.label: variant for variant in plans.PAPER_ATTACKS}
THEIR_TARGETS = 50
NORMAL = 1.96
FURTHER_DATA = "The paper says this of its own data."


@dataclass(frozen=True, kw_only=True)
class PrintedNumber:
    """One number of a table, and its standard error."""

    column: str  # the data
    release: plans.ReleaseSetting
    variant: plans.AttackVariant
    value: float
    error: float
    places: int


def _numbers(name: str, release: Callable[[str], plans.ReleaseSetting]) -> tuple[PrintedNumber, ...]:
    """The numbers of a table whose columns are named after a data set and an attack."""
    table = PUBLISHED.tables[name]
    heads = [column.split() for column in table.columns]
    return tuple(
        PrintedNumber(
            column=data,
            release=release(row.name),
            variant=VARIANTS[attack],
            value=value,
            error=error,
            places=table.places,
        )
        for row in table.rows
        for (data, attack), value, error in zip(heads, row.values, row.errors, strict=True)
    )


def _of_group(k: int) -> Callable[[str], plans.ReleaseSetting]:
    return lambda size: plans.ReleaseSetting(k=k, m=None if int(size) == plans.GROUP else int(size))


ACCURACIES = {
    "table_3": _numbers("table_3", lambda k: plans.ReleaseSetting(k=int(k))),
    "table_4": _numbers("table_4", lambda epsilon: plans.ReleaseSetting(epsilon=float(epsilon))),
    "table_5": _numbers(
        "table_5", lambda epsilon: plans.ReleaseSetting(epsilon=float(epsilon), unit=plans.USER_DAY)
    ),
}
AUCS = {
    "table_6": _numbers("table_6", _of_group(k=0)),
    "table_7": _numbers("table_7", _of_group(k=0)),
    "table_8": _numbers("table_8", _of_group(k=1)),
    "table_9": _numbers("table_9", _of_group(k=1)),
}


def auc(verdict: Verdict) -> comparison.OurNumber:
    """The mean over targets of the area under the ROC curve."""
    return metric_intervals.metric(verdict, "auc_mean")


def printed_numbers(
    numbers: Sequence[PrintedNumber],
    where: str,
    verdicts: plans.GameVerdicts,
    places: dict[str, plans.LocationDataSet],
    measure: Callable[[Verdict], comparison.OurNumber],
) -> list[comparison.ComparedNumber]:
    """Numbers of a table, with ours where it was simulated; only those on the paper's data are compared."""
    cells = []
    for number in numbers:
        place = places[number.column]
        setting = f"{number.column}: {number.variant.description}, {number.release.description}"
        published = comparison.PublishedNumber(
            value=number.value, places=number.places, where=f"± {number.error:.3f}, {where}"
        )
        verdict = verdicts.find(place, number.release, number.variant)
        if verdict is None:
            cells.append(comparison.not_simulated(setting, published))
            continue
        ours = measure(verdict)
        cells.append(
            comparison.ComparedNumber(
                setting=setting,
                ours=_widened(ours, number, verdict.n_targets) if place.is_original else ours,
                published=published,
                other_data=not place.is_original,
                why=place.why_not,
            )
        )
    return cells


def _widened(ours: comparison.OurNumber, number: PrintedNumber, n_targets: int) -> comparison.OurNumber:
    """Our interval, widened because the paper has other targets: 50, with the printed standard error."""
    spread = NORMAL * number.error * sqrt(1 + THEIR_TARGETS / n_targets)
    return comparison.OurNumber(
        value=ours.value,
        low=ours.value - hypot(ours.value - ours.low, spread),
        high=ours.value + hypot(ours.high - ours.value, spread),
    )


def with_reason(cell: comparison.ComparedNumber, why: str) -> comparison.ComparedNumber:
    """The cell, with a reason where our value is not what the paper says."""
    return replace(cell, why=why) if cell.contradicts else cell


def on_data(
    place: plans.LocationDataSet, cells: Sequence[comparison.ComparedNumber]
) -> list[comparison.ComparedNumber]:
    """The cells; on data that stand for none of the paper's, its statements are shown but not compared."""
    if not place.is_further:
        return list(cells)
    return [
        cell
        if cell.published is None
        else replace(cell, other_data=True, why=f"{FURTHER_DATA} {cell.why}".strip())
        for cell in cells
        if cell.ours is not None  # the paper states nothing of these data, so nothing is missing
    ]


def against(
    cells: Sequence[comparison.ComparedNumber], published: comparison.PublishedNumber, why: str
) -> list[comparison.ComparedNumber]:
    """Cells that are not compared, with a reason where they are not what the paper says of its attacks."""
    said = f"The paper states {published.written} for its own attacks ({published.where})."
    return [
        replace(cell, why=" ".join(filter(None, [cell.why, said, why])))
        if cell.published is None and replace(cell, published=published).contradicts
        else cell
        for cell in cells
    ]


def auc_claim(
    setting: str, verdict: Verdict | None, published: comparison.PublishedNumber, why: str = ""
) -> list[comparison.ComparedNumber]:
    """One AUC beside what the paper says of it."""
    if verdict is None:
        return [comparison.not_simulated(setting, published)]
    return [
        with_reason(comparison.ComparedNumber(setting=setting, ours=auc(verdict), published=published), why)
    ]


def auc_lead(
    setting: str,
    first: Verdict | None,
    second: Verdict | None,
    published: comparison.PublishedNumber | None = None,
    why: str = "",
) -> list[comparison.ComparedNumber]:
    """The difference of the AUCs of two games; of games that were not simulated, what the paper says."""
    if first is None or second is None:
        return [] if published is None else [comparison.not_simulated(setting, published)]
    ours = metric_intervals.difference(auc(first), auc(second))
    return [with_reason(comparison.ComparedNumber(setting=setting, ours=ours, published=published), why)]


def auc_distance(
    setting: str, first: Verdict | None, second: Verdict | None, published: comparison.PublishedNumber
) -> list[comparison.ComparedNumber]:
    """How far apart the AUCs of two games are; "within" holds in both directions."""
    if first is None or second is None:
        return [comparison.not_simulated(setting, published)]
    ours = metric_intervals.magnitude(metric_intervals.difference(auc(first), auc(second)))
    cell = comparison.ComparedNumber(setting=setting, ours=ours, published=published)
    ahead = plans.ZERO_KNOWLEDGE if auc(second).value > auc(first).value else plans.KNOCK_KNOCK
    return [with_reason(cell, f"{ahead.description[0].upper()}{ahead.description[1:]} is ahead.")]


def falling_auc_claims(
    verdicts: plans.GameVerdicts,
    place: plans.LocationDataSet,
    releases: Sequence[plans.ReleaseSetting],
    variants: Sequence[plans.AttackVariant],
    where: str,
) -> list[comparison.ComparedNumber]:
    """That the AUC falls from each release to the next one that was simulated, or from first to last."""
    claim = comparison.PublishedNumber(value=0.0, where=where, claim=comparison.Claim.ABOVE)
    cells = []
    for variant in variants:
        played = [release for release in releases if verdicts.find(place, release, variant) is not None]
        for weaker, stronger in pairwise(played if len(played) > 1 else (releases[0], releases[-1])):
            cells += auc_lead(
                f"{place_prefix(place)}{variant.description}, AUC at {weaker.description} minus that at "
                f"{stronger.description}",
                verdicts.find(place, weaker, variant),
                verdicts.find(place, stronger, variant),
                claim,
            )
    return cells


def closeness_claims(
    verdicts: plans.GameVerdicts,
    place: plans.LocationDataSet,
    releases: Sequence[plans.ReleaseSetting],
    published: comparison.PublishedNumber,
) -> list[comparison.ComparedNumber]:
    """That the AUCs of both attacks of the paper are this close, whichever is higher."""
    return [
        cell
        for release in releases
        for cell in auc_distance(
            f"{place_prefix(place)}Knock-Knock and zero-knowledge, distance of the AUCs at "
            f"{release.description}",
            verdicts.find(place, release, plans.KNOCK_KNOCK),
            verdicts.find(place, release, plans.ZERO_KNOWLEDGE),
            published,
        )
    ]


def likelihood_leads(
    verdicts: plans.GameVerdicts, place: plans.LocationDataSet, releases: Sequence[plans.ReleaseSetting]
) -> list[comparison.ComparedNumber]:
    """Not in the paper: the likelihood attack compared with its attacks."""
    pairs = [
        (plans.LIKELIHOOD, plans.KNOCK_KNOCK),
        (plans.LIKELIHOOD, plans.LIKELIHOOD_ZERO),
        (plans.ZERO_DECONVOLUTION, plans.ZERO_KNOWLEDGE),
    ]
    return [
        cell
        for release in releases
        for first, second in pairs
        for cell in auc_lead(
            f"{place_prefix(place)}{first.description} minus {second.description}, AUC at "
            f"{release.description}",
            verdicts.find(place, release, first),
            verdicts.find(place, release, second),
        )
    ]


def measured_aucs(
    verdicts: plans.GameVerdicts,
    place: plans.LocationDataSet,
    releases: Sequence[plans.ReleaseSetting],
    variants: Sequence[plans.AttackVariant],
    least: int = plans.LEAST_VISITS,
) -> list[comparison.ComparedNumber]:
    """AUCs of which the paper draws some without a number: those of its attacks on its targets."""
    usual = least == plans.LEAST_VISITS
    active = "" if usual else f", targets of {least} visits or more"
    return [
        comparison.ComparedNumber(
            setting=f"{place_prefix(place)}{variant.description}, {release.description}{active}: mean AUC",
            ours=auc(verdict),
            drawn=usual and variant in plans.PAPER_ATTACKS,
            why=place.why_not,
        )
        for release in releases
        for variant in variants
        if (verdict := verdicts.find(place, release, variant, least)) is not None
    ]


def place_prefix(place: plans.LocationDataSet) -> str:
    """The place of the data, as the beginning of a cell's text."""
    return {"milan": "Milan: ", "city": "city: ", "cdr-city": "CDR city: "}.get(
        place.name, f"{place.description}: "
    )

"""Cells of the page: numbers of the tables beside ours, and what the paper says about curves."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import hypot, sqrt

from leakgauge.papers import metric_intervals
from leakgauge.papers.comparison import Agreement, Claim, ComparedNumber, OurNumber, PublishedNumber
from leakgauge.papers.guan24.plans import (
    KNOCK_KNOCK,
    LIKELIHOOD,
    LIKELIHOOD_ZERO,
    PAPER_ATTACKS,
    ZERO_DECONVOLUTION,
    ZERO_KNOWLEDGE,
    AttackVariant,
    GameVerdicts,
    LocationDataSet,
    ReleaseSetting,
)
from leakgauge.papers.guan24.published import PrintedNumber
from leakgauge.verdict import Verdict

THEIR_TARGETS = 50
NORMAL = 1.96


def auc(verdict: Verdict) -> OurNumber:
    """The mean over targets of the area under the ROC curve."""
    return metric_intervals.metric(verdict, "auc_mean")


def printed_numbers(
    numbers: Sequence[PrintedNumber],
    where: str,
    found: GameVerdicts,
    places: dict[str, LocationDataSet],
    measure: Callable[[Verdict], OurNumber],
) -> list[ComparedNumber]:
    """The numbers of a table that were played, ours beside them; judged on the data of the paper alone."""
    cells = []
    for number in numbers:
        place = places[number.column]
        verdict = found.find(place, number.release, number.variant)
        if verdict is None:
            continue
        ours = measure(verdict)
        cells.append(
            ComparedNumber(
                setting=f"{number.column}: {number.variant.words}, {number.release.words}",
                ours=_widened(ours, number, verdict.n_targets) if place.is_original else ours,
                published=PublishedNumber(
                    value=number.value, places=number.places, where=f"± {number.error:.3f}, {where}"
                ),
                comparable=place.is_original,
                why=place.why_not,
            )
        )
    return cells


def _widened(ours: OurNumber, number: PrintedNumber, n_targets: int) -> OurNumber:
    """Our interval, wide enough for both to be about other targets: theirs are 50, with the printed error."""
    spread = NORMAL * number.error * sqrt(1 + THEIR_TARGETS / n_targets)
    return OurNumber(
        value=ours.value,
        low=ours.value - hypot(ours.value - ours.low, spread),
        high=ours.value + hypot(ours.high - ours.value, spread),
    )


def with_reason(cell: ComparedNumber, why: str) -> ComparedNumber:
    """The cell, with a reason why it is otherwise than the paper says; none is needed where it is not."""
    return cell if cell.verdict is Agreement.AGREES else replace(cell, why=why)


def auc_claim(
    setting: str, verdict: Verdict | None, published: PublishedNumber, why: str = ""
) -> list[ComparedNumber]:
    """One AUC beside what the paper says of it, if it was played."""
    if verdict is None:
        return []
    return [with_reason(ComparedNumber(setting=setting, ours=auc(verdict), published=published), why)]


def auc_lead(
    setting: str,
    first: Verdict | None,
    second: Verdict | None,
    published: PublishedNumber | None = None,
    why: str = "",
) -> list[ComparedNumber]:
    """By how much the AUC of one game is above that of another, if both were played."""
    if first is None or second is None:
        return []
    ours = metric_intervals.difference(auc(first), auc(second))
    return [with_reason(ComparedNumber(setting=setting, ours=ours, published=published), why)]


def falling_auc_claims(
    found: GameVerdicts,
    place: LocationDataSet,
    releases: Sequence[ReleaseSetting],
    variants: Sequence[AttackVariant],
    where: str,
) -> list[ComparedNumber]:
    """That the AUC falls from each release to the next one that was played."""
    said = PublishedNumber(value=0.0, where=where, claim=Claim.ABOVE)
    cells = []
    for variant in variants:
        played = [release for release in releases if found.find(place, release, variant) is not None]
        for weaker, stronger in pairwise(played):
            cells += auc_lead(
                f"{place_prefix(place)}{variant.words}, AUC at {weaker.words} less that at {stronger.words}",
                found.find(place, weaker, variant),
                found.find(place, stronger, variant),
                said,
            )
    return cells


def closeness_claims(
    found: GameVerdicts,
    place: LocationDataSet,
    releases: Sequence[ReleaseSetting],
    published: PublishedNumber,
) -> list[ComparedNumber]:
    """That zero knowledge loses at most so much to Knock-Knock."""
    return [
        cell
        for release in releases
        for cell in auc_lead(
            f"{place_prefix(place)}Knock-Knock less zero-knowledge, AUC at {release.words}",
            found.find(place, release, KNOCK_KNOCK),
            found.find(place, release, ZERO_KNOWLEDGE),
            published,
        )
    ]


def likelihood_leads(
    found: GameVerdicts, place: LocationDataSet, releases: Sequence[ReleaseSetting]
) -> list[ComparedNumber]:
    """What the paper does not have: the likelihood attack beside its attacks."""
    pairs = [(LIKELIHOOD, KNOCK_KNOCK), (LIKELIHOOD, LIKELIHOOD_ZERO), (ZERO_DECONVOLUTION, ZERO_KNOWLEDGE)]
    return [
        cell
        for release in releases
        for first, second in pairs
        for cell in auc_lead(
            f"{place_prefix(place)}{first.words} less {second.words}, AUC at {release.words}",
            found.find(place, release, first),
            found.find(place, release, second),
        )
    ]


def measured_aucs(
    found: GameVerdicts,
    place: LocationDataSet,
    releases: Sequence[ReleaseSetting],
    variants: Sequence[AttackVariant],
) -> list[ComparedNumber]:
    """AUCs of which the paper draws some without a number."""
    return [
        ComparedNumber(
            setting=f"{place_prefix(place)}{variant.words}, {release.words}: mean AUC",
            ours=auc(verdict),
            drawn=variant in PAPER_ATTACKS,
            why=place.why_not,
        )
        for release in releases
        for variant in variants
        if (verdict := found.find(place, release, variant)) is not None
    ]


def place_prefix(place: LocationDataSet) -> str:
    """Where, at the head of a cell."""
    return {"milan": "Milan: ", "city": "city: ", "cdr-city": "CDR city: "}.get(
        place.name, f"{place.words}: "
    )

"""Cells of the page: numbers of the tables beside ours, and what the paper says about curves."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import hypot, sqrt

from leakgauge.papers import measured
from leakgauge.papers.comparison import Agreement, Cell, Ours, Published, Says
from leakgauge.papers.guan24.games import Board
from leakgauge.papers.guan24.places import Place
from leakgauge.papers.guan24.printed import Number
from leakgauge.papers.guan24.setting import (
    KNOCK,
    LIKELIHOOD,
    LIKELIHOOD_ZERO,
    PAPERS,
    ZERO,
    ZERO_OURS,
    Player,
    Release,
)
from leakgauge.verdict import Verdict

THEIR_TARGETS = 50
NORMAL = 1.96


def auc(verdict: Verdict) -> Ours:
    """The mean over targets of the area under the ROC curve."""
    return measured.reached(verdict, "auc_mean")


def printed_cells(
    numbers: Sequence[Number],
    where: str,
    found: Board,
    places: dict[str, Place],
    measure: Callable[[Verdict], Ours],
) -> list[Cell]:
    """The numbers of a table that were played, ours beside them; judged on the data of the paper alone."""
    cells = []
    for number in numbers:
        place = places[number.column]
        verdict = found.at(place, number.release, number.player)
        if verdict is None:
            continue
        ours = measure(verdict)
        cells.append(
            Cell(
                setting=f"{number.column}: {number.player.words}, {number.release.words}",
                ours=_beside(ours, number, verdict.n_targets) if place.is_original else ours,
                published=Published(
                    value=number.value, places=number.places, where=f"± {number.error:.3f}, {where}"
                ),
                comparable=place.is_original,
                why=place.why_not,
            )
        )
    return cells


def _beside(ours: Ours, number: Number, n_targets: int) -> Ours:
    """Our interval, wide enough for both to be about other targets: theirs are 50, with the printed error."""
    spread = NORMAL * number.error * sqrt(1 + THEIR_TARGETS / n_targets)
    return Ours(
        value=ours.value,
        low=ours.value - hypot(ours.value - ours.low, spread),
        high=ours.value + hypot(ours.high - ours.value, spread),
    )


def explained(cell: Cell, why: str) -> Cell:
    """The cell, with a reason why it is otherwise than the paper says; none is needed where it is not."""
    return cell if cell.verdict is Agreement.AGREES else replace(cell, why=why)


def level(setting: str, verdict: Verdict | None, published: Published, why: str = "") -> list[Cell]:
    """One AUC beside what the paper says of it, if it was played."""
    if verdict is None:
        return []
    return [explained(Cell(setting=setting, ours=auc(verdict), published=published), why)]


def lead(
    setting: str,
    first: Verdict | None,
    second: Verdict | None,
    published: Published | None = None,
    why: str = "",
) -> list[Cell]:
    """By how much the AUC of one game is above that of another, if both were played."""
    if first is None or second is None:
        return []
    ours = measured.difference(auc(first), auc(second))
    return [explained(Cell(setting=setting, ours=ours, published=published), why)]


def falls(
    found: Board, place: Place, releases: Sequence[Release], players: Sequence[Player], where: str
) -> list[Cell]:
    """That the AUC falls from each release to the next one that was played."""
    said = Published(value=0.0, where=where, says=Says.ABOVE)
    cells = []
    for player in players:
        played = [release for release in releases if found.at(place, release, player) is not None]
        for weaker, stronger in pairwise(played):
            cells += lead(
                f"{at(place)}{player.words}, AUC at {weaker.words} less that at {stronger.words}",
                found.at(place, weaker, player),
                found.at(place, stronger, player),
                said,
            )
    return cells


def closeness(
    found: Board, place: Place, releases: Sequence[Release], most: float, where: str, why: str = ""
) -> list[Cell]:
    """That zero knowledge loses no more than so much to Knock-Knock."""
    said = Published(value=most, where=where, says=Says.AT_MOST)
    return [
        cell
        for release in releases
        for cell in lead(
            f"{at(place)}Knock-Knock less zero-knowledge, AUC at {release.words}",
            found.at(place, release, KNOCK),
            found.at(place, release, ZERO),
            said,
            why,
        )
    ]


def beyond(found: Board, place: Place, releases: Sequence[Release]) -> list[Cell]:
    """What the paper does not have: the likelihood attack beside its attacks."""
    pairs = [(LIKELIHOOD, KNOCK), (LIKELIHOOD, LIKELIHOOD_ZERO), (ZERO_OURS, ZERO)]
    return [
        cell
        for release in releases
        for first, second in pairs
        for cell in lead(
            f"{at(place)}{first.words} less {second.words}, AUC at {release.words}",
            found.at(place, release, first),
            found.at(place, release, second),
        )
    ]


def levels(found: Board, place: Place, releases: Sequence[Release], players: Sequence[Player]) -> list[Cell]:
    """AUCs of which the paper draws some without a number."""
    return [
        Cell(
            setting=f"{at(place)}{player.words}, {release.words}: mean AUC",
            ours=auc(verdict),
            drawn=player in PAPERS,
            why=place.why_not,
        )
        for release in releases
        for player in players
        if (verdict := found.at(place, release, player)) is not None
    ]


def at(place: Place) -> str:
    """Where, at the head of a cell."""
    return {"milan": "Milan: ", "city": "city: ", "cdr-city": "CDR city: "}.get(
        place.name, f"{place.words}: "
    )

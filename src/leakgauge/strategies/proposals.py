"""Which ways to score are worth trying on the outputs at hand."""

from itertools import combinations, pairwise
from typing import Any

from leakgauge.strategies import linear
from leakgauge.strategies.candidates import Candidate, Lone, Recalled, Sum, Tied
from leakgauge.strategies.classifiers import Boosted, Fitted, Weighted
from leakgauge.strategies.clues import Clue, Sample
from leakgauge.strategies.marks import (
    Combined,
    Decimals,
    Exact,
    Extreme,
    Grid,
    LowestBit,
    Operation,
    Order,
    Pattern,
    Repeats,
    Residue,
)
from leakgauge.strategies.measures import (
    Coordinate,
    Deviation,
    Distance,
    Filled,
    First,
    Gap,
    Last,
    Mean,
    Norm,
    Pair,
    Ranked,
    Tally,
)
from leakgauge.strategies.survey import Survey, survey

_WIDE = 128  # places that are added up
_CLOSE = 16  # places whose numbers are looked at closely
_PAIRED = 10  # places whose pairs are all looked at
_LONE = 60  # single clues that are tried
_WEIGHTED = 40  # clues that are weighted together


def propose(sample: Sample) -> list[Candidate]:
    """Name the candidates, given a first sample of shadows."""
    seen = survey(sample)
    clues = [Clue(mark) for mark in _marks(seen)]
    clues += [Clue(measure, bins) for measure in _measures(seen) for bins in (8, 32)]
    telling = sorted(clues, key=lambda clue: -sample.worth(clue))
    return [
        *map(Lone, telling[:_LONE]),
        *map(Recalled, [Exact(seen.places), *(Exact((place,)) for place in seen.places[:4])]),
        *_sums(seen),
        Weighted(tuple(telling[:_WEIGHTED])),
        *_classifiers(seen, [clue.feature for clue in telling if clue.bins]),
    ]


def _pairs(seen: Survey) -> list[tuple[int, int]]:
    """Pairs of the most telling numeric places, and neighbours."""
    close = sorted(seen.numeric[:_PAIRED])
    return sorted({*combinations(close, 2), *pairwise(sorted(seen.numeric[:_CLOSE]))})


def _marks(seen: Survey) -> list[Any]:
    marks: list[Any] = [Exact(seen.places), Pattern(), *(Exact((place,)) for place in seen.places[:_WIDE])]
    for place in seen.numeric[:_CLOSE]:
        marks += [LowestBit(place), *(Residue(place, step) for step in (1.0, 2.0, 3.0, 5.0, 10.0))]
        marks += [Grid(place), Decimals(place)] if place in seen.real else []
    for first, second in _pairs(seen):
        step = 1e-9 * max(seen.size[first] + seen.size[second], 1e-290)
        marks += [Combined(first, second, how, step) for how in (Operation.SUM, Operation.DIFFERENCE)]
        marks.append(Combined(first, second, Operation.RATIO, 1e-9))
    telling = [place for place in seen.places if place in seen.discrete][:8]
    marks += [Exact(pair) for pair in combinations(sorted(telling), 2)]
    if len(seen.numeric) > 1:
        several = tuple(sorted(seen.numeric))
        marks += [Order(tuple(sorted(seen.numeric[:6]))), Extreme(several, 1), Extreme(several, -1)]
    return [*marks, Repeats(seen.places)] if len(seen.places) > 1 else marks


def _measures(seen: Survey) -> list[Any]:
    measures: list[Any] = [Coordinate(place) for place in seen.numeric[:_WIDE]]
    measures += [Distance(place, seen.centre[place]) for place in seen.numeric[:_CLOSE]]
    measures += [Pair(*pair, sign) for pair in _pairs(seen) for sign in (1, -1)]
    if len(seen.numeric) > 1:
        several = tuple(sorted(seen.numeric))
        centre = tuple(seen.centre[place] for place in several)
        measures += [Mean(several), Deviation(several), Norm(several, centre, 1), Norm(several, centre, 2)]
        measures += [Norm(several, (0.0,) * len(several), order) for order in (1, 2)]
        measures += [Gap(several, -1, 0), Gap(several, -1, -2), Gap(several, 1, 0)]
        few = min(6, len(several))
        measures += [Ranked(several, rank) for rank in (*range(few), *range(-few, 0))]
    if len(seen.places) > 1:
        measures += [kind(symbol) for symbol in seen.symbols for kind in (Tally, First, Last)]
        measures.append(Filled())
    return measures


def _sums(seen: Survey) -> list[Candidate]:
    sums: list[Candidate] = [Sum(tuple(Clue(Exact((place,))) for place in seen.places[:_WIDE]))]
    sums += [Sum(tuple(Clue(Coordinate(p), bins) for p in seen.numeric[:_WIDE])) for bins in (4, 8, 16, 32)]
    sums += [Sum(tuple(Clue(kind(place)) for place in seen.numeric[:_CLOSE])) for kind in (LowestBit, Grid)]
    several = tuple(sorted(seen.numeric))
    if len(several) > 1:
        sums += [Tied(several, bins) for bins in (8, 32, 128)]
        steps = tuple(Clue(Pair(after, before, -1), 16) for before, after in pairwise(several[:_CLOSE]))
        sums.append(Sum((Clue(Coordinate(several[0]), 16), *steps)))
    chain = seen.discrete[:_WIDE]
    if len(chain) > 2:
        links = tuple(Clue(Exact(pair)) for pair in pairwise(chain))
        sums.append(Sum(links, less=tuple(Clue(Exact((place,))) for place in chain[1:-1])))
    return sums


def _classifiers(seen: Survey, telling: list[Any]) -> list[Candidate]:
    if not seen.numeric:
        return []
    several = tuple(Coordinate(place) for place in seen.numeric[:256])
    found: list[Candidate] = [
        Fitted(several[:64], linear.logistic),
        Fitted(several, linear.fisher),
        Fitted(several, linear.fisher, bins=32),
        Fitted(several[:24], linear.quadratic, bins=32),
    ]
    if len(several) > 1:
        found.append(Boosted(tuple(dict.fromkeys([*telling[:40], *several[:24]]))))
    return found

"""Which scores to try on the outputs of a black box, given a first look at their places and values."""

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from leakgauge.domains.blackbox.event_search.candidates import (
    RatioSum,
    ScoreCandidate,
    SharedRatio,
    SingleFeature,
    SymbolMemory,
)
from leakgauge.domains.blackbox.event_search.classifiers import BoostedTrees, FittedScore, WeightedRatios
from leakgauge.domains.blackbox.event_search.discrete_features import (
    CombinedPair,
    DecimalPlaces,
    ExactValues,
    ExtremePosition,
    FloatGrid,
    KindPattern,
    LowestBit,
    PairOperation,
    RepeatedValues,
    Residue,
    SizeOrder,
)
from leakgauge.domains.blackbox.event_search.feature_ratios import FeatureReader, FeatureSpec, ShadowSample
from leakgauge.domains.blackbox.event_search.numeric_features import (
    Coordinate,
    DistanceFromCentre,
    FilledCount,
    FirstPosition,
    LastPosition,
    MeanValue,
    OrderGap,
    OrderStatistic,
    OutputVariance,
    PairSum,
    SymbolCount,
    VectorNorm,
)
from leakgauge.domains.blackbox.event_search.output_table import OutputTable, ValueKind
from leakgauge.strategies import discriminant_analysis

_FEW = 20  # different values make a place discrete
_LOOK = 2000  # rounds looked at where a look is enough
_NARROW = 32  # places that are all looked at in full


@dataclass(frozen=True, eq=False)
class OutputSurvey:
    """Places of a table, the most telling first, and what is usual at them."""

    places: tuple[int, ...]
    numeric: tuple[int, ...]  # those that hold numbers, and more than one
    discrete: tuple[int, ...]  # those that hold few different values, in their own order
    real: frozenset[int]  # those that hold numbers with a fraction
    centre: dict[int, float]  # medians of numeric places
    size: dict[int, float]  # medians of their absolute values
    symbols: tuple[int, ...]  # found at many places, or more often in one world


def survey_outputs(sample: ShadowSample) -> OutputSurvey:
    """Look at shadows before learning from them."""
    table = sample.reader.table
    worth = _information_by_place(sample)
    places = tuple(sorted(worth, key=lambda place: -worth[place]))
    known = {place: _finite(table, place) for place in places}
    numeric = tuple(
        p for p in places if known[p].size > 0.01 * len(table) and (known[p] != known[p][0]).any()
    )
    few = sorted(p for p in places if np.unique(table.keys[:_LOOK, p]).size <= _FEW)
    return OutputSurvey(
        places=places,
        numeric=numeric,
        discrete=tuple(few),
        real=frozenset(p for p in numeric if (known[p] != np.floor(known[p])).any()),
        centre={place: float(np.median(known[place])) for place in numeric},
        size={place: float(np.median(np.abs(known[place]))) for place in numeric},
        symbols=_frequent_symbols(sample),
    )


def varying_places(table: OutputTable) -> list[int]:
    """Return the places where not always the same thing stands."""
    return [
        place
        for place in range(len(table.paths))
        if (table.keys[:, place] != table.keys[0, place]).any()
        or (table.kinds[:, place] != table.kinds[0, place]).any()
    ]


def most_informative_places(sample: ShadowSample, most: int) -> list[int]:
    """Return the places that tell most, in their own order."""
    worth = _information_by_place(sample)
    return sorted(sorted(worth, key=lambda place: -worth[place])[:most])


def _information_by_place(sample: ShadowSample) -> dict[int, float]:
    """What each place tells by itself; in wide tables a look at some rounds must do."""
    n_places = len(sample.reader.table.paths)
    if n_places > _NARROW:
        sample = ShadowSample(FeatureReader(sample.reader.table.rows(slice(_LOOK))), sample.members[:_LOOK])
    worth = {}
    for place in range(n_places):
        worth[place] = sample.worth(FeatureSpec(ExactValues((place,))))
        if _finite(sample.reader.table, place).size:
            worth[place] = max(worth[place], sample.worth(FeatureSpec(Coordinate(place), 16)))
    return worth


def _finite(table: OutputTable, place: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    numbers = table.numbers[:, place]
    return numbers[np.isfinite(numbers)]


def _frequent_symbols(sample: ShadowSample) -> tuple[int, ...]:
    """Pick symbols worth counting: the most frequent ones, and those that differ most between the worlds."""
    rows = slice(max(1, min(len(sample.members), 400_000 // max(1, len(sample.reader.table.paths)))))
    there = sample.reader.table.kinds[rows] != ValueKind.MISSING
    keys = sample.reader.table.keys[rows][there]
    members = np.broadcast_to(sample.members[rows, None], there.shape)[there]
    known, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    often = counts > max(5, 0.001 * keys.size)
    with_target = np.bincount(which[members], minlength=known.size)
    differs = np.where(often, np.abs(2 * with_target - counts) / np.sqrt(counts), 0.0)
    chosen = [*np.argsort(-counts, kind="stable")[:6], *np.argsort(-differs, kind="stable")[:6]]
    return tuple(int(known[place]) for place in dict.fromkeys(map(int, chosen)) if often[place])


_WIDE = 128  # places that are added up
_CLOSE = 16  # places whose numbers are looked at closely
_PAIRED = 10  # places whose pairs are all looked at
_LONE = 60  # single clues that are tried
_WEIGHTED = 40  # clues that are weighted together


def propose_candidates(sample: ShadowSample) -> list[ScoreCandidate]:
    """Name the candidates, given a first sample of shadows."""
    seen = survey_outputs(sample)
    clues = [FeatureSpec(mark) for mark in _discrete_features(seen)]
    clues += [FeatureSpec(measure, bins) for measure in _numeric_features(seen) for bins in (8, 32)]
    telling = sorted(clues, key=lambda clue: -sample.worth(clue))
    return [
        *map(SingleFeature, telling[:_LONE]),
        *map(SymbolMemory, [ExactValues(seen.places), *(ExactValues((place,)) for place in seen.places[:4])]),
        *_sums(seen),
        WeightedRatios(tuple(telling[:_WEIGHTED])),
        *_classifiers(seen, [clue.feature for clue in telling if clue.bins]),
    ]


def _pairs(seen: OutputSurvey) -> list[tuple[int, int]]:
    """Pairs of the most telling numeric places, and neighbours."""
    close = sorted(seen.numeric[:_PAIRED])
    return sorted({*combinations(close, 2), *pairwise(sorted(seen.numeric[:_CLOSE]))})


def _discrete_features(seen: OutputSurvey) -> list[Any]:
    marks: list[Any] = [
        ExactValues(seen.places),
        KindPattern(),
        *(ExactValues((place,)) for place in seen.places[:_WIDE]),
    ]
    for place in seen.numeric[:_CLOSE]:
        marks += [LowestBit(place), *(Residue(place, step) for step in (1.0, 2.0, 3.0, 5.0, 10.0))]
        marks += [FloatGrid(place), DecimalPlaces(place)] if place in seen.real else []
    for first, second in _pairs(seen):
        step = 1e-9 * max(seen.size[first] + seen.size[second], 1e-290)
        marks += [
            CombinedPair(first, second, how, step) for how in (PairOperation.SUM, PairOperation.DIFFERENCE)
        ]
        marks.append(CombinedPair(first, second, PairOperation.RATIO, 1e-9))
    telling = [place for place in seen.places if place in seen.discrete][:8]
    marks += [ExactValues(pair) for pair in combinations(sorted(telling), 2)]
    if len(seen.numeric) > 1:
        several = tuple(sorted(seen.numeric))
        marks += [
            SizeOrder(tuple(sorted(seen.numeric[:6]))),
            ExtremePosition(several, 1),
            ExtremePosition(several, -1),
        ]
    return [*marks, RepeatedValues(seen.places)] if len(seen.places) > 1 else marks


def _numeric_features(seen: OutputSurvey) -> list[Any]:
    measures: list[Any] = [Coordinate(place) for place in seen.numeric[:_WIDE]]
    measures += [DistanceFromCentre(place, seen.centre[place]) for place in seen.numeric[:_CLOSE]]
    measures += [PairSum(*pair, sign) for pair in _pairs(seen) for sign in (1, -1)]
    if len(seen.numeric) > 1:
        several = tuple(sorted(seen.numeric))
        centre = tuple(seen.centre[place] for place in several)
        measures += [
            MeanValue(several),
            OutputVariance(several),
            VectorNorm(several, centre, 1),
            VectorNorm(several, centre, 2),
        ]
        measures += [VectorNorm(several, (0.0,) * len(several), order) for order in (1, 2)]
        measures += [OrderGap(several, -1, 0), OrderGap(several, -1, -2), OrderGap(several, 1, 0)]
        few = min(6, len(several))
        measures += [OrderStatistic(several, rank) for rank in (*range(few), *range(-few, 0))]
    if len(seen.places) > 1:
        measures += [
            kind(symbol) for symbol in seen.symbols for kind in (SymbolCount, FirstPosition, LastPosition)
        ]
        measures.append(FilledCount())
    return measures


def _sums(seen: OutputSurvey) -> list[ScoreCandidate]:
    sums: list[ScoreCandidate] = [
        RatioSum(tuple(FeatureSpec(ExactValues((place,))) for place in seen.places[:_WIDE]))
    ]
    sums += [
        RatioSum(tuple(FeatureSpec(Coordinate(p), bins) for p in seen.numeric[:_WIDE]))
        for bins in (4, 8, 16, 32)
    ]
    sums += [
        RatioSum(tuple(FeatureSpec(kind(place)) for place in seen.numeric[:_CLOSE]))
        for kind in (LowestBit, FloatGrid)
    ]
    several = tuple(sorted(seen.numeric))
    if len(several) > 1:
        sums += [SharedRatio(several, bins) for bins in (8, 32, 128)]
        steps = tuple(
            FeatureSpec(PairSum(after, before, -1), 16) for before, after in pairwise(several[:_CLOSE])
        )
        sums.append(RatioSum((FeatureSpec(Coordinate(several[0]), 16), *steps)))
    chain = seen.discrete[:_WIDE]
    if len(chain) > 2:
        links = tuple(FeatureSpec(ExactValues(pair)) for pair in pairwise(chain))
        sums.append(RatioSum(links, less=tuple(FeatureSpec(ExactValues((place,))) for place in chain[1:-1])))
    return sums


def _classifiers(seen: OutputSurvey, telling: list[Any]) -> list[ScoreCandidate]:
    if not seen.numeric:
        return []
    several = tuple(Coordinate(place) for place in seen.numeric[:256])
    found: list[ScoreCandidate] = [
        FittedScore(several[:64], discriminant_analysis.fit_logistic),
        FittedScore(several, discriminant_analysis.fit_fisher),
        FittedScore(several, discriminant_analysis.fit_fisher, bins=32),
        FittedScore(several[:24], discriminant_analysis.fit_quadratic, bins=32),
    ]
    if len(several) > 1:
        found.append(BoostedTrees(tuple(dict.fromkeys([*telling[:40], *several[:24]]))))
    return found

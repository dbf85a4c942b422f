"""Propose candidate scores for the outputs of a black box, after a survey of their places and values."""

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from leakgauge.domains.blackbox.event_search import candidates, discrete_features, numeric_features
from leakgauge.domains.blackbox.event_search.classifiers import BoostedTrees, FittedScore, WeightedRatios
from leakgauge.domains.blackbox.event_search.feature_ratios import FeatureReader, FeatureSpec, ShadowSample
from leakgauge.domains.blackbox.event_search.output_table import OutputTable, ValueKind
from leakgauge.strategies import discriminant_analysis

_MAX_DISCRETE_VALUES = 20  # a place with at most this many different values is discrete
_SURVEY_ROUNDS = 2000  # rounds examined in a quick survey
_NARROW = 32  # tables with at most this many places are surveyed in full
_WIDE = 128  # places whose log ratios are added up
_CLOSE = 16  # places whose numbers get detailed features
_PAIRED = 10  # places of which all pairs are tried
_MAX_SINGLE = 60  # single features that are tried
_MAX_WEIGHTED = 40  # features that are weighted together


@dataclass(frozen=True, eq=False)
class OutputSurvey:
    """Places of a table, most informative first, and typical values of them."""

    places: tuple[int, ...]
    numeric: tuple[int, ...]  # those with at least two different numbers
    discrete: tuple[int, ...]  # those with few different values, in the order of the table
    real: frozenset[int]  # those with numbers that are not integers
    centre: dict[int, float]  # medians of numeric places
    size: dict[int, float]  # medians of their absolute values
    symbols: tuple[int, ...]  # frequent ones, and those that are more frequent in one world


def survey_outputs(sample: ShadowSample) -> OutputSurvey:
    """Survey shadows before learning from them."""
    table = sample.reader.table
    information = _information_by_place(sample)
    places = tuple(sorted(information, key=lambda place: -information[place]))
    known = {place: _finite(table, place) for place in places}
    numeric = tuple(
        p for p in places if known[p].size > 0.01 * len(table) and (known[p] != known[p][0]).any()
    )
    few = sorted(p for p in places if np.unique(table.keys[:_SURVEY_ROUNDS, p]).size <= _MAX_DISCRETE_VALUES)
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
    """Return the places whose values are not constant."""
    return [
        place
        for place in range(len(table.paths))
        if (table.keys[:, place] != table.keys[0, place]).any()
        or (table.kinds[:, place] != table.kinds[0, place]).any()
    ]


def most_informative_places(sample: ShadowSample, most: int) -> list[int]:
    """Return the most informative places, in the order of the table."""
    information = _information_by_place(sample)
    return sorted(sorted(information, key=lambda place: -information[place])[:most])


def _information_by_place(sample: ShadowSample) -> dict[int, float]:
    """Return the information of each single place; in wide tables it is estimated from some of the rounds."""
    n_places = len(sample.reader.table.paths)
    if n_places > _NARROW:
        sample = ShadowSample(
            FeatureReader(sample.reader.table.rows(slice(_SURVEY_ROUNDS))), sample.members[:_SURVEY_ROUNDS]
        )
    information = {}
    for place in range(n_places):
        information[place] = sample.information(FeatureSpec(discrete_features.ExactValues((place,))))
        if _finite(sample.reader.table, place).size:
            information[place] = max(
                information[place], sample.information(FeatureSpec(numeric_features.Coordinate(place), 16))
            )
    return information


def _finite(table: OutputTable, place: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    numbers = table.numbers[:, place]
    return numbers[np.isfinite(numbers)]


def _frequent_symbols(sample: ShadowSample) -> tuple[int, ...]:
    """Pick symbols to count: the most frequent ones, and those that differ most between the worlds."""
    rows = slice(max(1, min(len(sample.members), 400_000 // max(1, len(sample.reader.table.paths)))))
    present = sample.reader.table.kinds[rows] != ValueKind.MISSING
    keys = sample.reader.table.keys[rows][present]
    members = np.broadcast_to(sample.members[rows, None], present.shape)[present]
    known, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
    often = counts > max(5, 0.001 * keys.size)
    with_target = np.bincount(which[members], minlength=known.size)
    differs = np.where(often, np.abs(2 * with_target - counts) / np.sqrt(counts), 0.0)
    chosen = [*np.argsort(-counts, kind="stable")[:6], *np.argsort(-differs, kind="stable")[:6]]
    return tuple(int(known[place]) for place in dict.fromkeys(map(int, chosen)) if often[place])


def propose_candidates(sample: ShadowSample) -> list[candidates.ScoreCandidate]:
    """Return the candidates, given a first sample of shadows."""
    survey = survey_outputs(sample)
    specs = [FeatureSpec(feature) for feature in _discrete_features(survey)]
    specs += [FeatureSpec(feature, bins) for feature in _numeric_features(survey) for bins in (8, 32)]
    ranked = sorted(specs, key=lambda spec: -sample.information(spec))
    return [
        *map(candidates.SingleFeature, ranked[:_MAX_SINGLE]),
        *map(
            candidates.SymbolMemory,
            [
                discrete_features.ExactValues(survey.places),
                *(discrete_features.ExactValues((place,)) for place in survey.places[:4]),
            ],
        ),
        *_sums(survey),
        WeightedRatios(tuple(ranked[:_MAX_WEIGHTED])),
        *_classifiers(survey, [spec.feature for spec in ranked if spec.bins]),
    ]


def _pairs(survey: OutputSurvey) -> list[tuple[int, int]]:
    """Pairs of the most informative numeric places, and of neighbouring ones."""
    close = sorted(survey.numeric[:_PAIRED])
    return sorted({*combinations(close, 2), *pairwise(sorted(survey.numeric[:_CLOSE]))})


def _discrete_features(survey: OutputSurvey) -> list[Any]:
    features: list[Any] = [
        discrete_features.ExactValues(survey.places),
        discrete_features.KindPattern(),
        *(discrete_features.ExactValues((place,)) for place in survey.places[:_WIDE]),
    ]
    for place in survey.numeric[:_CLOSE]:
        features += [
            discrete_features.LowestBit(place),
            *(discrete_features.Residue(place, step) for step in (1.0, 2.0, 3.0, 5.0, 10.0)),
        ]
        features += (
            [discrete_features.FloatGrid(place), discrete_features.DecimalPlaces(place)]
            if place in survey.real
            else []
        )
    for first, second in _pairs(survey):
        step = 1e-9 * max(survey.size[first] + survey.size[second], 1e-290)
        features += [
            discrete_features.CombinedPair(first, second, how, step)
            for how in (discrete_features.PairOperation.SUM, discrete_features.PairOperation.DIFFERENCE)
        ]
        features.append(
            discrete_features.CombinedPair(first, second, discrete_features.PairOperation.RATIO, 1e-9)
        )
    discrete = [place for place in survey.places if place in survey.discrete][:8]
    features += [discrete_features.ExactValues(pair) for pair in combinations(sorted(discrete), 2)]
    if len(survey.numeric) > 1:
        several = tuple(sorted(survey.numeric))
        features += [
            discrete_features.SizeOrder(tuple(sorted(survey.numeric[:6]))),
            discrete_features.ExtremePosition(several, 1),
            discrete_features.ExtremePosition(several, -1),
        ]
    return (
        [*features, discrete_features.RepeatedValues(survey.places)] if len(survey.places) > 1 else features
    )


def _numeric_features(survey: OutputSurvey) -> list[Any]:
    features: list[Any] = [numeric_features.Coordinate(place) for place in survey.numeric[:_WIDE]]
    features += [
        numeric_features.DistanceFromCentre(place, survey.centre[place]) for place in survey.numeric[:_CLOSE]
    ]
    features += [numeric_features.PairSum(*pair, sign) for pair in _pairs(survey) for sign in (1, -1)]
    if len(survey.numeric) > 1:
        several = tuple(sorted(survey.numeric))
        centre = tuple(survey.centre[place] for place in several)
        features += [
            numeric_features.MeanValue(several),
            numeric_features.OutputVariance(several),
            numeric_features.VectorNorm(several, centre, 1),
            numeric_features.VectorNorm(several, centre, 2),
        ]
        features += [numeric_features.VectorNorm(several, (0.0,) * len(several), order) for order in (1, 2)]
        features += [
            numeric_features.OrderGap(several, -1, 0),
            numeric_features.OrderGap(several, -1, -2),
            numeric_features.OrderGap(several, 1, 0),
        ]
        few = min(6, len(several))
        features += [
            numeric_features.OrderStatistic(several, rank) for rank in (*range(few), *range(-few, 0))
        ]
    if len(survey.places) > 1:
        features += [
            kind(symbol)
            for symbol in survey.symbols
            for kind in (
                numeric_features.SymbolCount,
                numeric_features.FirstPosition,
                numeric_features.LastPosition,
            )
        ]
        features.append(numeric_features.FilledCount())
    return features


def _sums(survey: OutputSurvey) -> list[candidates.ScoreCandidate]:
    sums: list[candidates.ScoreCandidate] = [
        candidates.RatioSum(
            tuple(FeatureSpec(discrete_features.ExactValues((place,))) for place in survey.places[:_WIDE])
        )
    ]
    sums += [
        candidates.RatioSum(
            tuple(FeatureSpec(numeric_features.Coordinate(p), bins) for p in survey.numeric[:_WIDE])
        )
        for bins in (4, 8, 16, 32)
    ]
    sums += [
        candidates.RatioSum(tuple(FeatureSpec(kind(place)) for place in survey.numeric[:_CLOSE]))
        for kind in (discrete_features.LowestBit, discrete_features.FloatGrid)
    ]
    several = tuple(sorted(survey.numeric))
    if len(several) > 1:
        sums += [candidates.SharedRatio(several, bins) for bins in (8, 32, 128)]
        steps = tuple(
            FeatureSpec(numeric_features.PairSum(after, before, -1), 16)
            for before, after in pairwise(several[:_CLOSE])
        )
        sums.append(candidates.RatioSum((FeatureSpec(numeric_features.Coordinate(several[0]), 16), *steps)))
    chain = survey.discrete[:_WIDE]
    if len(chain) > 2:
        links = tuple(FeatureSpec(discrete_features.ExactValues(pair)) for pair in pairwise(chain))
        sums.append(
            candidates.RatioSum(
                links,
                less=tuple(FeatureSpec(discrete_features.ExactValues((place,))) for place in chain[1:-1]),
            )
        )
    return sums


def _classifiers(survey: OutputSurvey, informative: list[Any]) -> list[candidates.ScoreCandidate]:
    if not survey.numeric:
        return []
    several = tuple(numeric_features.Coordinate(place) for place in survey.numeric[:256])
    proposed: list[candidates.ScoreCandidate] = [
        FittedScore(several[:64], discriminant_analysis.fit_logistic),
        FittedScore(several, discriminant_analysis.fit_fisher),
        FittedScore(several, discriminant_analysis.fit_fisher, bins=32),
        FittedScore(several[:24], discriminant_analysis.fit_quadratic, bins=32),
    ]
    if len(several) > 1:
        proposed.append(BoostedTrees(tuple(dict.fromkeys([*informative[:40], *several[:24]]))))
    return proposed

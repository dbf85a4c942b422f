import numpy as np

from leakgauge.domains.blackbox.event_search.candidates import RatioSum, SharedRatio, SingleFeature
from leakgauge.domains.blackbox.event_search.classifiers import BoostedTrees
from leakgauge.domains.blackbox.event_search.feature_ratios import FeatureReader, ShadowSample
from leakgauge.domains.blackbox.event_search.output_table import tabulate
from leakgauge.domains.blackbox.event_search.proposals import (
    most_informative_places,
    propose_candidates,
    survey_outputs,
    varying_places,
)

MEMBERS = np.arange(400) % 2 == 0


def proposed(outputs):
    return propose_candidates(ShadowSample(FeatureReader(tabulate(outputs)), MEMBERS))


def test_most_informative_feature_comes_first():
    rng = np.random.default_rng(1)
    outputs = [[float(noise), "x" if member else "y"] for noise, member in zip(rng.normal(size=400), MEMBERS)]
    first = proposed(outputs)[0]
    assert isinstance(first, SingleFeature)
    assert (
        (
            first.learn(ShadowSample(FeatureReader(tabulate(outputs)), MEMBERS))(
                FeatureReader(tabulate(outputs))
            )
            > 0
        )
        == MEMBERS
    ).all()


def test_trees_are_proposed_for_vectors_only():
    rng = np.random.default_rng(2)
    assert not any(
        isinstance(candidate, BoostedTrees | SharedRatio)
        for candidate in proposed(rng.normal(size=400).tolist())
    )
    kinds = {type(candidate) for candidate in proposed(list(rng.normal(size=(400, 3))))}
    assert {SingleFeature, RatioSum, SharedRatio, BoostedTrees} <= kinds


def test_every_proposal_learns_from_text():
    outputs = [["above", "below", "above"][: 1 + n % 3] for n in range(400)]
    sample = ShadowSample(FeatureReader(tabulate(outputs)), MEMBERS)
    for candidate in propose_candidates(sample):
        assert np.isfinite(candidate.learn(sample)(sample.reader)).all()


RNG = np.random.default_rng(1)
MANY_MEMBERS = np.arange(2000) % 2 == 0


def look(outputs):
    table = tabulate(outputs)
    return ShadowSample(FeatureReader(table), MANY_MEMBERS), {
        path: place for place, path in enumerate(table.paths)
    }


def test_most_informative_column_comes_first():
    sample, places = look(list(RNG.normal(size=(2000, 5)) + MANY_MEMBERS[:, None] * [0, 0, 0, 1, 0.2]))
    assert survey_outputs(sample).places[0] == survey_outputs(sample).numeric[0] == places[3,]


def test_classifies_numbers_symbols_and_fractions():
    outputs = [["above", n % 7, n / 3, 5] for n in range(2000)]
    sample, places = look(outputs)
    seen = survey_outputs(sample)
    assert set(seen.numeric) == {places[1,], places[2,]}
    assert seen.real == {places[2,]}
    assert places[2,] not in seen.discrete
    assert places[0,] in seen.discrete


def test_constant_columns_are_left_out():
    table = tabulate([["above", n % 7, 5] for n in range(50)])
    assert varying_places(table) == [table.paths.index((1,))]


def test_keeps_informative_columns_of_many():
    sample, places = look(list(RNG.normal(size=(2000, 60)) + MANY_MEMBERS[:, None] * (np.arange(60) == 41)))
    assert places[41,] in most_informative_places(sample, 5)
    assert len(most_informative_places(sample, 5)) == 5


def test_rare_informative_symbol_is_counted():
    records = [
        [*RNG.permutation(40)[:3].tolist(), 99 if member and n % 10 == 0 else 0]
        for n, member in enumerate(MANY_MEMBERS)
    ]
    sample, _ = look(records)
    assert int(np.float64(99).view(np.int64)) in survey_outputs(sample).symbols

import numpy as np

from leakgauge.domains.blackbox.event_search.candidates import RatioSum, SharedRatio, SingleFeature
from leakgauge.domains.blackbox.event_search.classifiers import BoostedTrees
from leakgauge.domains.blackbox.event_search.feature_ratios import FeatureReader, ShadowSample
from leakgauge.domains.blackbox.event_search.output_table import tabulate
from leakgauge.domains.blackbox.event_search.proposals import propose_candidates

MEMBERS = np.arange(400) % 2 == 0


def proposed(outputs):
    return propose_candidates(ShadowSample(FeatureReader(tabulate(outputs)), MEMBERS))


def test_the_most_informative_feature_comes_first():
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


def test_single_numbers_need_no_trees_and_vectors_get_everything():
    rng = np.random.default_rng(2)
    assert not any(
        isinstance(candidate, BoostedTrees | SharedRatio)
        for candidate in proposed(rng.normal(size=400).tolist())
    )
    kinds = {type(candidate) for candidate in proposed(list(rng.normal(size=(400, 3))))}
    assert {SingleFeature, RatioSum, SharedRatio, BoostedTrees} <= kinds


def test_every_proposal_can_be_learned_from_words_alone():
    outputs = [["above", "below", "above"][: 1 + n % 3] for n in range(400)]
    sample = ShadowSample(FeatureReader(tabulate(outputs)), MEMBERS)
    for candidate in propose_candidates(sample):
        assert np.isfinite(candidate.learn(sample)(sample.reader)).all()

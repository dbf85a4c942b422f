import numpy as np
import pytest
from scipy.stats import beta

from leakgauge.domains.blackbox.event_search.discrete_features import ExactValues
from leakgauge.domains.blackbox.event_search.feature_ratios import (
    FeatureReader,
    FeatureSpec,
    ShadowSample,
    code_numbers,
    code_symbols,
    estimate_ratios,
)
from leakgauge.domains.blackbox.event_search.numeric_features import Coordinate
from leakgauge.domains.blackbox.event_search.output_table import tabulate


def counted(*pairs):
    """Codes 1, 2, ... seen so often with and without the target."""
    codes = np.concatenate([np.full(a + b, code) for code, (a, b) in enumerate(pairs, start=1)])
    members = np.concatenate([np.arange(a + b) < a for a, b in pairs])
    return codes, members, len(pairs) + 1


def test_log_ratio_of_frequent_codes_matches_their_frequencies():
    ratios = estimate_ratios(*counted((3000, 1000), (1000, 3000)))
    np.testing.assert_allclose(ratios.bold, [0, np.log(3), -np.log(3)], rtol=0.01)


def test_unequal_class_sizes_are_balanced():
    ratios = estimate_ratios(*counted((3000, 500), (1000, 1500)))
    np.testing.assert_allclose(ratios.bold, [0, np.log(3), -np.log(3)], rtol=0.01)


def test_cautious_log_ratio_is_tenth_percentile_of_odds():
    ratios = estimate_ratios(*counted((40, 10), (10, 40)))
    rate = beta.ppf(0.1, 40, 11)
    np.testing.assert_allclose(ratios.cautious, [0, np.log(rate / (1 - rate)), -np.log(rate / (1 - rate))])


def test_rare_codes_get_small_ratios():
    ratios = estimate_ratios(*counted((4, 0), (6, 0), (2000, 600), (0, 6), (600, 2004)))
    assert ratios.bold[1] == ratios.cautious[1] == 0
    assert 0 < ratios.cautious[2] < ratios.cautious[3]


def test_unknown_code_has_ratio_zero():
    codes = np.zeros(100, dtype=np.intp)
    assert estimate_ratios(codes, np.arange(100) < 90, 1).bold.tolist() == [0]


def test_chance_differences_have_no_value():
    rng = np.random.default_rng(1)
    members = np.arange(4000) % 2 == 0
    nothing = [estimate_ratios(rng.integers(1, 33, 4000), members, 33).information for _ in range(50)]
    assert np.mean(nothing) < 0
    shifted = code_numbers(rng.normal(size=4000) + members, 32)
    assert (
        estimate_ratios(shifted(rng.normal(size=4000) + members), members, shifted.n_codes).information > 0.2
    )


def test_rare_and_unseen_symbols_share_the_unknown_code():
    coder = code_symbols(np.array([7] * 9 + [-3] * 5 + [1] * 4))
    assert coder(np.array([7, -3, 1, 99])).tolist() == [2, 1, 0, 0]
    assert code_symbols(np.arange(100))(np.array([5])).tolist() == [0]


def test_bins_have_about_equal_counts():
    numbers = np.random.default_rng(2).laplace(size=3200)
    coder = code_numbers(numbers, 32)
    counts = np.bincount(coder(numbers), minlength=coder.n_codes)
    assert counts[counts > 0].size == 32
    assert counts[counts > 0].min() >= 99


def test_frequent_numbers_and_nan_get_own_bins():
    numbers = np.concatenate([np.zeros(500), np.random.default_rng(3).normal(size=500), np.full(100, np.nan)])
    coder = code_numbers(numbers, 8)
    codes = coder(np.array([0.0, 1e-9, -1e-9, np.nan, np.inf, -np.inf]))
    assert len({codes[0], codes[1], codes[3], codes[4], codes[5]}) == 5
    assert (codes > 0).all()
    assert codes.max() < coder.n_codes


@pytest.mark.parametrize("numbers", [[np.nan] * 10, [np.inf] * 10, [1.0], [np.inf, -np.inf, 0.0] * 9])
def test_degenerate_samples_have_valid_codes(numbers):
    coder = code_numbers(np.array(numbers), 8)
    codes = coder(np.array([0.0, np.nan, np.inf, -np.inf]))
    assert ((codes > 0) & (codes < coder.n_codes)).all()


def test_features_are_computed_once():
    asked = []

    class Spy(Coordinate):
        def __call__(self, table):
            asked.append(self.place)
            return super().__call__(table)

    members = np.arange(100) % 2 == 0
    sample = ShadowSample(FeatureReader(tabulate(list(range(100)))), members)
    for _ in range(3):
        sample.learn(FeatureSpec(Spy(0), 8))
        sample.learn(FeatureSpec(Spy(0), 4))
    assert asked == [0]
    assert sample.learn(FeatureSpec(Spy(0), 8)) is sample.learn(FeatureSpec(Spy(0), 8))


def test_learned_feature_scores_other_outputs():
    members = np.arange(200) % 2 == 0
    sample = ShadowSample(FeatureReader(tabulate(["in" if member else "out" for member in members])), members)
    learned = sample.learn(FeatureSpec(ExactValues((0,))))
    other = FeatureReader(tabulate(["out", "in", "never seen"]))
    assert np.sign(learned.bold(other)).tolist() == [-1, 1, 0]
    assert np.sign(learned.cautious(other)).tolist() == [-1, 1, 0]

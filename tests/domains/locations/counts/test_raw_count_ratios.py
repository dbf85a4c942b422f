from functools import partial

import numpy as np
import pytest

from leakgauge.domains.locations.counts.count_priors import CountPrior
from leakgauge.domains.locations.counts.count_ratios import log_ratios
from leakgauge.domains.locations.counts.raw_count_ratios import MAX_SUPPRESS, RawCountRatios
from leakgauge.domains.locations.release_chain import ReleaseChain
from strategies.direct_summation import by_summation

RATES = np.array([0.0004, 0.6, 0.03, 0.2, 0.01, 0.3, 0.1])
SHAPES = np.array([np.inf, 0.3, 1.0, 1.0, 8.0, 60.0, 2.5])
WEIGHTS = np.array([0.0, 0.3, 1.0, 0.5, 1.0, 0.9, 1.0])
NOBODY = np.zeros(RATES.size, dtype=np.int64)


def ratios_of(chain):
    return RawCountRatios(chain.suppress, partial(log_ratios, chain))


def raw(suppress):
    return ReleaseChain(noise=None, group_size=60, suppress=suppress)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["known", "weighed"])
@pytest.mark.parametrize("sizes", [(40, 40), (39, 40), (38, 40), (0, 1)], ids=str)
@pytest.mark.parametrize("suppress", [0, 1, 5, MAX_SUPPRESS])
def test_matches_direct_summation(suppress, sizes, weights):
    """The sums are over SciPy's beta-binomial law; some outputs are impossible, some are no whole numbers."""
    outputs = np.repeat(
        [[0.0], [1.0], [2.0], [6.0], [17.0], [39.0], [40.0], [41.0], [42.0], [2.5]], 7, axis=1
    )
    known = np.arange(outputs.size).reshape(outputs.shape) % 7
    for coins in (NOBODY, np.array([0, 2, 0, 0, 1, 0, 0])):
        prior = CountPrior(RATES, *sizes, coins, SHAPES)
        for who in (0, known):
            found = ratios_of(raw(suppress)).log_ratios(outputs, who, prior, weights)
            expected = by_summation(raw(suppress), outputs, who, prior, weights)
            np.testing.assert_allclose(found.clip(-1e5, 1e5), expected.clip(-1e5, 1e5), atol=1e-8)


def test_rates_may_differ_between_rounds():
    rng = np.random.default_rng(1)
    rates, shapes = rng.uniform(0.001, 0.3, (20, 7)), rng.choice([0.5, 3.0, np.inf], (20, 7))
    outputs = raw(2).sample(rng.binomial(50, rates), rng)
    found = ratios_of(raw(2)).log_ratios(outputs, 0, CountPrior(rates, 50, 50, NOBODY, shapes))
    by_round = [
        by_summation(raw(2), row[None], 0, CountPrior(p, 50, 50, NOBODY, own))[0]
        for row, p, own in zip(outputs, rates, shapes)
    ]
    np.testing.assert_allclose(found, by_round, atol=1e-8)


@pytest.mark.parametrize(
    "prior",
    [
        CountPrior(np.full(7, 0.1), 0, 0, NOBODY),
        CountPrior(np.append(RATES[:-1], 0.0), 50, 50, NOBODY),
        CountPrior(RATES, 50, 50, NOBODY + 1),
    ],
    ids=["nobody unknown", "rate of 0", "other targets"],
)
def test_leaves_other_counts_to_the_general_computation(prior):
    outputs = np.repeat(np.array([[0.0], [2.0], [9.0]]), 7, axis=1)
    expected = log_ratios(raw(1), outputs, 0, prior)
    np.testing.assert_array_equal(ratios_of(raw(1)).log_ratios(outputs, 0, prior), expected)

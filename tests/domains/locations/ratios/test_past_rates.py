import numpy as np
import pytest

from domains.locations.small_town import traces
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.knowledge import Past
from leakgauge.domains.locations.ratios.past_rates import past_rates
from leakgauge.domains.locations.shadows.simulator import Public
from leakgauge.domains.locations.sketches import known
from leakgauge.mechanisms import laplace

SIZE, CELLS = 100, np.array([1, 7, 20])


def past(chain, rates, n_releases, seed=0):
    """Releases of groups of 100 people, with a target in half of them, in three cells."""
    rng = np.random.default_rng(seed)
    members = rng.random((n_releases, 1)) < 0.5
    counts = rng.binomial(SIZE, rates, size=(n_releases, rates.size))
    counts[np.ix_(members[:, 0], CELLS)] += 1
    where = traces(np.ones((1, rates.size), dtype=int), n_epochs=6).map
    public = Public(chain, SIZE, 1, Relation.ADD_REMOVE, where)
    return Past(public, (known(CELLS),), chain.sample(counts, rng), members)


def rates_of(seed=1):
    rng = np.random.default_rng(seed)
    return 0.04 * np.outer(rng.lognormal(sigma=0.7, size=4), rng.lognormal(sigma=0.3, size=6)).ravel()


@pytest.mark.parametrize(
    "chain",
    [
        Chain(noise=laplace.Mechanism(scale=2.0), group_size=SIZE, round=True, clamp=True, suppress=1),
        Chain(noise=laplace.Mechanism(scale=2.0), group_size=SIZE),
        Chain(noise=None, group_size=SIZE, suppress=2),
        Chain(noise=None, group_size=SIZE),
    ],
    ids=["chain", "unrounded", "suppressed", "raw"],
)
def test_many_earlier_releases_show_the_rates_without_the_target(chain):
    rates = rates_of()
    rates[CELLS] *= [0.5, 1.5, 2.0]  # cells need not be what their place and epoch suggest
    (found,) = past_rates(past(chain, rates, 2_000), chain)
    np.testing.assert_allclose(found, rates[CELLS], rtol=0.12)


def test_a_single_release_with_the_target_shows_how_popular_places_and_epochs_are():
    chain = Chain(noise=None, group_size=SIZE, suppress=1)
    rates = rates_of()
    earlier = past(chain, rates, 30)
    only_with = Past(earlier.public, earlier.sketches, earlier.releases, np.ones((30, 1), dtype=bool))
    (found,) = past_rates(only_with, chain)
    np.testing.assert_allclose(found, rates[CELLS], rtol=0.3)

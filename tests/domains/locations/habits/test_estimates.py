import numpy as np
import pytest

from domains.locations.small_town import town, traces
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.chain.own import OwnChain
from leakgauge.domains.locations.groups import Crowd
from leakgauge.domains.locations.habits.estimates import from_release, from_releases, usual_size
from leakgauge.domains.locations.habits.rates import true_habits
from leakgauge.domains.locations.shadows.simulator import Public
from leakgauge.mechanisms import laplace

NOISE = laplace.Mechanism(scale=1.0)


def public(chain, people, group_size, n_targets=1, relation=Relation.ADD_REMOVE):
    return Public(chain, group_size, n_targets, relation, people.map)


def people(n_people=600, seed=0):
    """Two busy places and six quiet ones; busy by day."""
    rng = np.random.default_rng(seed)
    space, time = np.array([4.0, 4, 1, 1, 1, 1, 1, 1]), np.repeat([1.0, 5, 1], 8)
    rates = np.outer(space, time) / np.outer(space, time).sum() * 12
    return traces(rng.random((n_people, rates.size)) < rates.ravel(), n_epochs=24)


@pytest.mark.parametrize(
    "chain",
    [
        Chain(noise=NOISE, group_size=500, round=True, clamp=True),
        Chain(noise=NOISE, group_size=500),
        Chain(noise=None, group_size=500, suppress=1),
        Chain(noise=None, group_size=500),
    ],
    ids=["chain", "unrounded", "suppressed", "raw"],
)
def test_habits_are_found_through_the_law(chain):
    crowd = people()
    rng = np.random.default_rng(1)
    counts = Crowd(crowd).shadow_counts(3, 500, None, rng)
    truth = true_habits(crowd)
    for found in from_releases(chain.sample(counts, rng), public(chain, crowd, 500)):
        assert found.mean == pytest.approx(truth.mean, rel=0.06)
        assert np.abs(found.space - truth.space).sum() / 2 < 0.05
        assert np.abs(found.time - truth.time).sum() / 2 < 0.08


def test_one_release_is_one_of_several():
    crowd = people()
    chain = Chain(noise=NOISE, group_size=500, round=True, clamp=True)
    rng = np.random.default_rng(2)
    release = chain.sample(Crowd(crowd).shadow_counts(1, 500, None, rng), rng)[0]
    rules = public(chain, crowd, 500)
    np.testing.assert_allclose(
        from_release(release, rules).rates, from_releases(release[None], rules)[0].rates
    )


def law(outputs, counts):
    return -np.abs(outputs - counts) - np.log(2)


def test_the_law_of_a_pipeline_is_used_where_it_is_given():
    crowd = people()
    chain = OwnChain(lambda counts, rng: counts, 8, 24, law=law, whole=False)
    rng = np.random.default_rng(3)
    release = Crowd(crowd).shadow_counts(1, 500, None, rng)[0] + rng.laplace(size=192)
    named = Chain(noise=NOISE, group_size=500)
    np.testing.assert_allclose(
        from_release(release, public(chain, crowd, 500)).rates,
        from_release(release, public(named, crowd, 500)).rates,
        rtol=1e-6,
    )


def test_without_a_law_published_counts_are_taken_for_true():
    crowd = town()
    chain = OwnChain(lambda counts, rng: counts, 4, 6)
    release = np.arange(24.0) - 3
    found = from_release(release, public(chain, crowd, 20))
    counts = np.maximum(release, 0).reshape(4, 6)
    assert found.mean == pytest.approx(counts.sum() / 20)
    np.testing.assert_allclose(found.space, counts.sum(axis=1) / counts.sum())
    np.testing.assert_allclose(found.time, counts.sum(axis=0) / counts.sum())


def test_an_empty_release_says_nothing():
    chain = OwnChain(lambda counts, rng: counts, 4, 6)
    with pytest.raises(BadInput, match="no count above 0"):
        from_release(np.zeros(24), public(chain, town(), 20))


def test_about_half_of_the_targets_are_behind_a_release():
    chain = Chain(noise=None, group_size=20)
    assert usual_size(public(chain, town(), 20)) == 20
    assert usual_size(public(chain, town(), 20, n_targets=10)) == 15
    assert usual_size(public(chain, town(), 20, n_targets=10, relation=Relation.REPLACE_ONE)) == 20

import numpy as np
import pytest

from domains.locations.estimating import chain_of, homely
from leakgauge.domains.locations.mobility.marginals import _release, matching_mean, published_mean
from leakgauge.domains.locations.mobility.mobility_profile import MobilityProfile, true_profile
from leakgauge.domains.locations.mobility.synthetic_traces import TraceSampler, draw_traces

PEOPLE = homely()
HABITS = true_profile(PEOPLE)
SIZE = 1_000


def released(setting, mean, seed=5):
    """A release of people who move exactly as the method believes."""
    chain, rng = chain_of(setting, SIZE), np.random.default_rng(seed)
    people = draw_traces(MobilityProfile(mean, HABITS.space, HABITS.time), SIZE, PEOPLE.map, rng)
    return chain.sample(people.visitors(), rng), chain


def found(method, setting, mean, seed=5):
    release, chain = released(setting, mean, seed)
    start = MobilityProfile(max(release.sum(), 0.5) / SIZE, HABITS.space, HABITS.time)
    return method(release.reshape(36, 72), chain, SIZE, start, PEOPLE.map, 0)


@pytest.mark.parametrize("mean", [4.0, 15.0])
@pytest.mark.parametrize(
    "setting", ["suppress 1", "suppress 3", "event 0.5", "event 1", "event 1, suppress 1"]
)
def test_the_mean_of_people_who_move_as_believed_is_found(setting, mean):
    assert found(matching_mean, setting, mean) == pytest.approx(mean, rel=0.12)


def test_the_search_ends_where_synthetic_and_real_sums_agree():
    release, chain = released("event 1", 10.0)
    mean = found(matching_mean, "event 1", 10.0)
    made_up = _release(
        TraceSampler(PEOPLE.map), MobilityProfile(mean, HABITS.space, HABITS.time), chain, SIZE, 0
    )
    assert abs(made_up.sum() - release.sum()) / SIZE < 0.05


def test_steps_of_twice_the_length_swing_about_the_mean():
    errors = [abs(found(published_mean, "event 0.5", 10.0, seed) - 10.0) for seed in range(4)]
    corrected = [abs(found(matching_mean, "event 0.5", 10.0, seed) - 10.0) for seed in range(4)]
    assert np.mean(corrected) < np.mean(errors)


def test_a_release_smaller_than_noise_alone_has_a_small_positive_mean():
    chain = chain_of("event 0.1", SIZE)
    start = MobilityProfile(1.0, HABITS.space, HABITS.time)
    mean = matching_mean(np.zeros((36, 72)), chain, SIZE, start, PEOPLE.map, 0)
    assert 0 < mean < 0.1


def test_the_same_release_has_the_same_mean():
    assert found(matching_mean, "event 1", 10.0) == found(matching_mean, "event 1", 10.0)

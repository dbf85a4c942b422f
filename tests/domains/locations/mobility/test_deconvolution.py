from functools import cache
from pathlib import Path

import numpy as np
import pytest

from domains.locations.mobility_ground_truth import SETTINGS, chain_of, distances, group_counts, homely
from domains.locations.small_town import town, traces
from domains.locations.test_real_data import FOLDER, KUALA_LUMPUR, NEW_YORK, weeks
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.data.data_loader import load_visits
from leakgauge.domains.locations.data.synthetic_city import SyntheticCity, generate_city
from leakgauge.domains.locations.data.traces import CellMap
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.mobility import marginals
from leakgauge.domains.locations.mobility.deconvolution import (
    deconvolve,
    deconvolve_each,
    deconvolve_together,
    expected_group_size,
    profile_from_release,
    profiles_from_releases,
)
from leakgauge.domains.locations.mobility.mobility_profile import PopularityPrior, true_profile
from leakgauge.domains.locations.release_chain import ReleaseChain, UserReleaseChain
from leakgauge.domains.locations.shadows.simulator import PublicParameters
from leakgauge.mechanisms import gaussian, geometric, laplace
from night import others_at_night

PEOPLE = homely()
TRUE = true_profile(PEOPLE)
SIZE = 800
COUNTS = group_counts(PEOPLE, 6, SIZE)


def releases(chain, seed=2):
    return chain.sample(COUNTS, np.random.default_rng(seed))


def average(estimates, true=TRUE):
    return np.mean([np.abs(distances(one, true)) for one in estimates], axis=0)


def as_the_paper(rows, chain, size, cells):
    return [marginals.estimate_from_marginals(row, chain, size, cells) for row in rows]


@pytest.mark.parametrize("setting", SETTINGS)
def test_marginals_are_closer_to_truth_than_paper(setting):
    chain = chain_of(setting, SIZE)
    rows = releases(chain)
    space, time, _ = average(deconvolve_each(rows, chain, SIZE, PEOPLE.map))
    paper_space, paper_time, _ = average(as_the_paper(rows, chain, SIZE, PEOPLE.map))
    assert space < paper_space + 5e-4
    assert time < paper_time + 5e-4


@pytest.mark.parametrize(
    ("setting", "error"), [("event 0.1", 0.2), ("user-day 0.5", 0.5), ("event 1", 0.05), ("suppress 2", 0.1)]
)
def test_mean_is_stable_under_strong_noise(setting, error):
    chain = chain_of(setting, SIZE)
    means = deconvolve_each(releases(chain), chain, SIZE, PEOPLE.map).means
    assert means.mean() / TRUE.mean - 1 == pytest.approx(0, abs=error)


def test_recovers_profile_of_independent_visits():
    rng = np.random.default_rng(3)
    space, time = rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(48))
    size = 5_000
    chances = np.minimum(40 * np.outer(space, time), 0.9)
    chain = chain_of("event 1", size)
    release = chain.sample(rng.binomial(size, chances).ravel(), rng)
    found = deconvolve(release, chain, size, CellMap(20, 48, np.arange(48) // 24))
    exact = chances / chances.sum()
    assert np.abs(found.space - exact.sum(axis=1)).sum() / 2 < 0.03
    assert np.abs(found.time - exact.sum(axis=0)).sum() / 2 < 0.03
    assert found.mean == pytest.approx(chances.sum(), rel=0.04)


@pytest.mark.parametrize(
    ("noise", "alike"),
    [
        (laplace.Mechanism(epsilon=0.5), "event 0.5"),
        (gaussian.Mechanism(delta=1e-5, sigma=np.sqrt(8.0)), "event 0.5"),
        (geometric.Mechanism(epsilon=0.5), "event 0.5"),
        (laplace.Mechanism(epsilon=5.0), "event 5"),
    ],
    ids=["laplace", "gaussian", "geometric", "little laplace"],
)
@pytest.mark.parametrize("clamp", [False, True])
def test_unrounded_noise_is_deconvolved(noise, alike, clamp):
    chain = ReleaseChain(noise=noise, group_size=SIZE, clamp=clamp)
    rounded = chain_of(alike, SIZE)
    found = average(deconvolve_each(releases(chain), chain, SIZE, PEOPLE.map))
    usual = average(deconvolve_each(releases(rounded), rounded, SIZE, PEOPLE.map))
    assert (found[:2] < 1.15 * usual[:2]).all()
    assert found[2] < 0.06


def test_several_releases_improve_the_estimate():
    chain = chain_of("event 0.1", SIZE)
    rows = releases(chain)
    each = average(deconvolve_each(rows, chain, SIZE, PEOPLE.map))
    together = np.abs(distances(deconvolve_together(rows, chain, SIZE, PEOPLE.map), TRUE))
    assert (together[:2] < 0.75 * each[:2]).all()


def test_estimate_does_not_depend_on_other_releases():
    chain = chain_of("event 1", SIZE)
    rows = releases(chain)
    rows[0] = rows[0].clip(max=rows[1:].max())
    among = deconvolve_each(rows, chain, SIZE, PEOPLE.map)[0]
    alone = deconvolve(rows[0].reshape(36, 72), chain, SIZE, PEOPLE.map)
    assert np.abs(among.space - alone.space).sum() < 1e-3
    assert among.mean == pytest.approx(alone.mean, rel=1e-3)


@pytest.mark.parametrize("setting", ["suppress 5", "event 1", "raw", "user-day 0.1"])
def test_all_zero_release_has_a_profile(setting):
    chain = chain_of(setting, SIZE)
    found = deconvolve(np.zeros(PEOPLE.map.n_cells), chain, SIZE, PEOPLE.map)
    assert 0 < found.mean < 3 * PopularityPrior().visits
    assert found.space.std() * 36 < 0.3


def test_single_place_or_epoch_works():
    rng = np.random.default_rng(4)
    chain = chain_of("event 1", 100)
    for cells in (CellMap(1, 12, np.zeros(12, dtype=np.int64)), CellMap(12, 1, np.zeros(1, dtype=np.int64))):
        counts = rng.binomial(100, 0.3, cells.n_cells)
        found = deconvolve(chain.sample(counts, rng), chain, 100, cells)
        assert found.mean == pytest.approx(3.6, rel=0.25)


def test_dense_release_has_rates_up_to_one():
    rng = np.random.default_rng(5)
    cells = CellMap(10, 24, np.zeros(24, dtype=np.int64))
    chain = chain_of("event 1", 50)
    counts = rng.binomial(50, np.repeat(np.linspace(0.1, 0.95, 10), 24))
    found = deconvolve(chain.sample(counts, rng), chain, 50, cells)
    np.testing.assert_allclose(found.rates.reshape(10, 24).mean(axis=1), np.linspace(0.1, 0.95, 10), atol=0.1)


def test_rejects_releases_over_other_cells():
    with pytest.raises(BadInput, match="releases need 2592 counts each, one for every cell; got"):
        deconvolve_each(np.zeros((2, 7)), chain_of("raw", SIZE), SIZE, PEOPLE.map)
    with pytest.raises(BadInput, match="not a finite number"):
        deconvolve(np.full(2592, np.nan), chain_of("raw", SIZE), SIZE, PEOPLE.map)


@cache
def crowd(name):
    """People, and the size of the groups that are released."""
    if name == "city":
        return generate_city(SyntheticCity(), seed=1).traces, 1000
    table, size = {
        "Kuala Lumpur, a week": (KUALA_LUMPUR | weeks(1), 1000),
        "Kuala Lumpur, four weeks": (KUALA_LUMPUR | weeks(4), 1000),
        "New York, a week": (NEW_YORK | weeks(1), 400),
    }[name]
    return load_visits(table, Path(FOLDER), seed=1).traces, size


def assert_closer_than_the_paper(name, setting, n=10):
    people, size = crowd(name)
    true, chain = true_profile(people), chain_of(setting, size)
    rows = chain.sample(group_counts(people, n, size), np.random.default_rng(6))
    ours = average(deconvolve_each(rows, chain, size, people.map), true)
    paper = average(as_the_paper(rows, chain, size, people.map), true)
    print(f"{name}, {setting}: space, time, mean {ours.round(3)}, by the paper {paper.round(3)}")
    assert (ours[:2] < paper[:2] + 1e-3).all()
    return ours, paper


@pytest.mark.parametrize("setting", others_at_night(SETTINGS, *list(SETTINGS)[::4]))
def test_paper_sized_city_is_closer_to_truth_in_every_setting(setting):
    ours, paper = assert_closer_than_the_paper("city", setting)
    assert ours[2] < paper[2] + 0.02


@pytest.mark.skipif(FOLDER is None, reason="real data are not part of the package; LEAKGAUGE_DATA names them")
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    "name",
    others_at_night(
        ["Kuala Lumpur, a week", "Kuala Lumpur, four weeks", "New York, a week"], "New York, a week"
    ),
)
def test_real_visits_are_closer_to_truth_in_every_setting(name, setting):
    assert_closer_than_the_paper(name, setting, n=6)


NOISE = laplace.Mechanism(scale=1.0)


def public(chain, people, group_size, n_targets=1, relation=Relation.ADD_REMOVE):
    return PublicParameters(chain, group_size, n_targets, relation, people.map)


def people(n_people=600, seed=0):
    """Two busy places and six quiet ones; busy by day."""
    rng = np.random.default_rng(seed)
    space, time = np.array([4.0, 4, 1, 1, 1, 1, 1, 1]), np.repeat([1.0, 5, 1], 8)
    rates = np.outer(space, time) / np.outer(space, time).sum() * 12
    return traces(rng.random((n_people, rates.size)) < rates.ravel(), n_epochs=24)


@pytest.mark.parametrize(
    "chain",
    [
        ReleaseChain(noise=NOISE, group_size=500, round=True, clamp=True),
        ReleaseChain(noise=NOISE, group_size=500),
        ReleaseChain(noise=None, group_size=500, suppress=1),
        ReleaseChain(noise=None, group_size=500),
    ],
    ids=["chain", "unrounded", "suppressed", "raw"],
)
def test_profile_is_estimated_through_the_chain(chain):
    crowd = people()
    rng = np.random.default_rng(1)
    counts = Crowd(crowd).shadow_counts(3, 500, None, rng)
    truth = true_profile(crowd)
    for found in profiles_from_releases(chain.sample(counts, rng), public(chain, crowd, 500)):
        assert found.mean == pytest.approx(truth.mean, rel=0.06)
        assert np.abs(found.space - truth.space).sum() / 2 < 0.05
        assert np.abs(found.time - truth.time).sum() / 2 < 0.08


def test_single_release_equals_batch_of_one():
    crowd = people()
    chain = ReleaseChain(noise=NOISE, group_size=500, round=True, clamp=True)
    rng = np.random.default_rng(2)
    release = chain.sample(Crowd(crowd).shadow_counts(1, 500, None, rng), rng)[0]
    rules = public(chain, crowd, 500)
    np.testing.assert_allclose(
        profile_from_release(release, rules).rates, profiles_from_releases(release[None], rules)[0].rates
    )


def law(outputs, counts):
    return -np.abs(outputs - counts) - np.log(2)


def test_declared_distribution_of_pipeline_is_used():
    crowd = people()
    chain = UserReleaseChain(lambda counts, rng: counts, 8, 24, law=law, whole=False)
    rng = np.random.default_rng(3)
    release = Crowd(crowd).shadow_counts(1, 500, None, rng)[0] + rng.laplace(size=192)
    named = ReleaseChain(noise=NOISE, group_size=500)
    np.testing.assert_allclose(
        profile_from_release(release, public(chain, crowd, 500)).rates,
        profile_from_release(release, public(named, crowd, 500)).rates,
        rtol=1e-6,
    )


def test_undeclared_pipeline_counts_are_used_as_they_are():
    crowd = town()
    chain = UserReleaseChain(lambda counts, rng: counts, 4, 6)
    release = np.arange(24.0) - 3
    found = profile_from_release(release, public(chain, crowd, 20))
    counts = np.maximum(release, 0).reshape(4, 6)
    assert found.mean == pytest.approx(counts.sum() / 20)
    np.testing.assert_allclose(found.space, counts.sum(axis=1) / counts.sum())
    np.testing.assert_allclose(found.time, counts.sum(axis=0) / counts.sum())


def test_rejects_empty_release_of_user_pipeline():
    chain = UserReleaseChain(lambda counts, rng: counts, 4, 6)
    with pytest.raises(BadInput, match="no count above 0"):
        profile_from_release(np.zeros(24), public(chain, town(), 20))


def test_expected_group_size_includes_half_of_targets():
    chain = ReleaseChain(noise=None, group_size=20)
    assert expected_group_size(public(chain, town(), 20)) == 20
    assert expected_group_size(public(chain, town(), 20, n_targets=10)) == 15
    assert expected_group_size(public(chain, town(), 20, n_targets=10, relation=Relation.REPLACE_ONE)) == 20

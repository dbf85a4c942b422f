from functools import cache
from pathlib import Path

import numpy as np
import pytest

from domains.locations.estimating import SETTINGS, chain_of, distances, group_counts, homely
from domains.locations.test_real_data import FOLDER, KUALA_LUMPUR, NEW_YORK, weeks
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.chain.chain import Chain
from leakgauge.domains.locations.data import load
from leakgauge.domains.locations.generating.city import City, generate
from leakgauge.domains.locations.habits import marginals
from leakgauge.domains.locations.habits.deconvolution import estimate, estimate_each, estimate_together
from leakgauge.domains.locations.habits.popularity import Prior
from leakgauge.domains.locations.habits.rates import true_habits
from leakgauge.domains.locations.traces import Map
from leakgauge.mechanisms import gaussian, geometric, laplace

PEOPLE = homely()
TRUE = true_habits(PEOPLE)
SIZE = 800
COUNTS = group_counts(PEOPLE, 6, SIZE)


def releases(chain, seed=2):
    return chain.sample(COUNTS, np.random.default_rng(seed))


def average(estimates, true=TRUE):
    return np.mean([np.abs(distances(one, true)) for one in estimates], axis=0)


def as_the_paper(rows, chain, size, cells):
    return [marginals.estimate(row, chain, size, cells) for row in rows]


@pytest.mark.parametrize("setting", SETTINGS)
def test_places_and_epochs_are_closer_to_the_truth_than_the_papers(setting):
    chain = chain_of(setting, SIZE)
    rows = releases(chain)
    space, time, _ = average(estimate_each(rows, chain, SIZE, PEOPLE.map))
    paper_space, paper_time, _ = average(as_the_paper(rows, chain, SIZE, PEOPLE.map))
    assert space < paper_space + 5e-4
    assert time < paper_time + 5e-4


@pytest.mark.parametrize(
    ("setting", "error"), [("event 0.1", 0.2), ("user-day 0.5", 0.5), ("event 1", 0.05), ("suppress 2", 0.1)]
)
def test_the_mean_does_not_drift_where_noise_swamps_counts(setting, error):
    chain = chain_of(setting, SIZE)
    means = estimate_each(releases(chain), chain, SIZE, PEOPLE.map).means
    assert means.mean() / TRUE.mean - 1 == pytest.approx(0, abs=error)


def test_habits_of_independent_visits_are_found_exactly_where_counts_are_many():
    rng = np.random.default_rng(3)
    space, time = rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(48))
    size = 5_000
    chances = np.minimum(40 * np.outer(space, time), 0.9)
    chain = chain_of("event 1", size)
    release = chain.sample(rng.binomial(size, chances).ravel(), rng)
    found = estimate(release, chain, size, Map(20, 48, np.arange(48) // 24))
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
def test_noise_that_is_not_rounded_is_taken_off_as_well(noise, alike, clamp):
    chain = Chain(noise=noise, group_size=SIZE, clamp=clamp)
    rounded = chain_of(alike, SIZE)
    found = average(estimate_each(releases(chain), chain, SIZE, PEOPLE.map))
    usual = average(estimate_each(releases(rounded), rounded, SIZE, PEOPLE.map))
    assert (found[:2] < 1.15 * usual[:2]).all()
    assert found[2] < 0.06


def test_several_releases_together_tell_more_than_each():
    chain = chain_of("event 0.1", SIZE)
    rows = releases(chain)
    each = average(estimate_each(rows, chain, SIZE, PEOPLE.map))
    together = np.abs(distances(estimate_together(rows, chain, SIZE, PEOPLE.map), TRUE))
    assert (together[:2] < 0.75 * each[:2]).all()


def test_a_release_is_estimated_the_same_alone_and_among_others():
    chain = chain_of("event 1", SIZE)
    rows = releases(chain)
    rows[0] = rows[0].clip(max=rows[1:].max())
    among = estimate_each(rows, chain, SIZE, PEOPLE.map)[0]
    alone = estimate(rows[0].reshape(36, 72), chain, SIZE, PEOPLE.map)
    assert np.abs(among.space - alone.space).sum() < 1e-3
    assert among.mean == pytest.approx(alone.mean, rel=1e-3)


@pytest.mark.parametrize("setting", ["suppress 5", "event 1", "raw", "user-day 0.1"])
def test_a_release_of_zeros_has_habits_too(setting):
    chain = chain_of(setting, SIZE)
    found = estimate(np.zeros(PEOPLE.map.n_cells), chain, SIZE, PEOPLE.map)
    assert 0 < found.mean < 3 * Prior().visits
    assert found.space.std() * 36 < 0.3


def test_one_place_or_one_epoch_is_enough():
    rng = np.random.default_rng(4)
    chain = chain_of("event 1", 100)
    for cells in (Map(1, 12, np.zeros(12, dtype=np.int64)), Map(12, 1, np.zeros(1, dtype=np.int64))):
        counts = rng.binomial(100, 0.3, cells.n_cells)
        found = estimate(chain.sample(counts, rng), chain, 100, cells)
        assert found.mean == pytest.approx(3.6, rel=0.25)


def test_a_dense_release_has_rates_up_to_one():
    rng = np.random.default_rng(5)
    cells = Map(10, 24, np.zeros(24, dtype=np.int64))
    chain = chain_of("event 1", 50)
    counts = rng.binomial(50, np.repeat(np.linspace(0.1, 0.95, 10), 24))
    found = estimate(chain.sample(counts, rng), chain, 50, cells)
    np.testing.assert_allclose(found.rates.reshape(10, 24).mean(axis=1), np.linspace(0.1, 0.95, 10), atol=0.1)


def test_releases_over_other_cells_are_refused():
    with pytest.raises(BadInput, match="releases need 2592 counts each, one for every cell; got"):
        estimate_each(np.zeros((2, 7)), chain_of("raw", SIZE), SIZE, PEOPLE.map)
    with pytest.raises(BadInput, match="not a finite number"):
        estimate(np.full(2592, np.nan), chain_of("raw", SIZE), SIZE, PEOPLE.map)


@cache
def crowd(name):
    """People, and the size of the groups that are released."""
    if name == "city":
        return generate(City(), seed=1).traces, 1000
    table, size = {
        "Kuala Lumpur, a week": (KUALA_LUMPUR | weeks(1), 1000),
        "Kuala Lumpur, four weeks": (KUALA_LUMPUR | weeks(4), 1000),
        "New York, a week": (NEW_YORK | weeks(1), 400),
    }[name]
    return load(table, Path(FOLDER), seed=1).traces, size


def assert_closer_than_the_paper(name, setting, n=10):
    people, size = crowd(name)
    true, chain = true_habits(people), chain_of(setting, size)
    rows = chain.sample(group_counts(people, n, size), np.random.default_rng(6))
    ours = average(estimate_each(rows, chain, size, people.map), true)
    paper = average(as_the_paper(rows, chain, size, people.map), true)
    print(f"{name}, {setting}: space, time, mean {ours.round(3)}, by the paper {paper.round(3)}")
    assert (ours[:2] < paper[:2] + 1e-3).all()
    return ours, paper


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_in_a_city_of_the_papers_size_every_setting_is_closer_to_the_truth(setting):
    ours, paper = assert_closer_than_the_paper("city", setting)
    assert ours[2] < paper[2] + 0.02


@pytest.mark.slow
@pytest.mark.skipif(FOLDER is None, reason="real data are not part of the package; LEAKGAUGE_DATA names them")
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ["Kuala Lumpur, a week", "Kuala Lumpur, four weeks", "New York, a week"])
def test_on_real_visits_every_setting_is_closer_to_the_truth(name, setting):
    assert_closer_than_the_paper(name, setting, n=6)

from collections import Counter
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import chisquare, hypergeom

from domains.locations.small_town import traces
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.data.population_split import PopulationSplit
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.knowledge import count_prior
from leakgauge.domains.locations.partial_traces import PartialTrace, known_cells
from leakgauge.domains.locations.plan_tables import LocationsChallengerTable, LocationsTargetsTable
from leakgauge.domains.locations.release_chain import ReleaseChain, UserReleaseChain
from leakgauge.domains.locations.shadows.simulator import (
    OtherMembers,
    PublicParameters,
    ShadowReleases,
    ShadowSimulator,
)
from leakgauge.mechanisms import laplace


def test_columns_can_be_selected():
    outputs, known = np.arange(12.0).reshape(3, 4), np.ones((3, 4), np.int32)
    shadows = ShadowReleases(outputs, known, np.array([True, False, True]), known + 1)
    cut = shadows.on(np.array([0, 3]))
    np.testing.assert_array_equal(cut.outputs, [[0, 3], [4, 7], [8, 11]])
    np.testing.assert_array_equal(cut.left, [[-1, 2], [3, 6], [7, 10]])
    assert cut.counts.tolist() == [[2, 2]] * 3
    assert cut.members is shadows.members


# Ten people: five of them in cell 0, everybody in cell 1, nobody in cell 2.
TEN = traces([[i < 5, 1, 0, i % 2] for i in range(10)])
RAW = ReleaseChain(noise=None, group_size=6)
NOISY = ReleaseChain(noise=laplace.Mechanism(scale=1.0), group_size=6)
TARGET = known_cells(np.array([0, 2]))
ALL = np.arange(4)


def public(chain=RAW, n_targets=1, relation=Relation.ADD_REMOVE):
    return PublicParameters(chain, 6, n_targets, relation, TEN.map)


def simulator(theta=0.0, sketch=TARGET, **settings):
    return ShadowSimulator(public(**settings), Crowd(TEN), (sketch,), theta)


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("relation", "n_targets", "others", "company"),
    [
        (Relation.ADD_REMOVE, 1, 5, 5),
        (Relation.ADD_REMOVE, 5, 1, 3),  # and half of the four other targets
        (Relation.REPLACE_ONE, 1, 5, 5),
        (Relation.REPLACE_ONE, 5, 1, 5),
    ],
)
def test_expected_number_of_other_members(relation, n_targets, others, company):
    known_to_all = public(n_targets=n_targets, relation=relation)
    assert (known_to_all.n_others, known_to_all.n_expected_others) == (others, company)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("theta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("columns", [np.array([1, 2]), ALL], ids=["some", "all"])
def test_shadow_groups_have_real_size(relation, theta, columns):
    """Cell 1 counts everybody but the target, cell 2 the target alone."""
    shadows = simulator(theta, relation=relation).independent(0, columns, 40, rng())
    places = np.searchsorted(columns, [1, 2])
    size = np.where(shadows.members, 5, 6) if relation is Relation.REPLACE_ONE else np.full(40, 5)
    np.testing.assert_array_equal(shadows.outputs[:, places[0]], size)
    np.testing.assert_array_equal(shadows.outputs[:, places[1]], shadows.members)
    np.testing.assert_array_equal(shadows.known[:, places[0]], int(theta * 5))
    assert shadows.members.sum() == 20


@pytest.mark.parametrize("columns", [np.array([0]), np.array([0, 1]), ALL], ids=["one", "some", "all"])
def test_other_members_are_drawn_without_replacement(columns):
    """Five of ten people, five of whom are in cell 0: the hypergeometric law."""
    shadows = simulator(sketch=known_cells(np.array([2]))).independent(0, columns, 4_000, rng(2))
    seen = np.bincount(shadows.outputs[:, 0].astype(int), minlength=6)
    assert chisquare(seen, 4_000 * hypergeom.pmf(np.arange(6), 10, 5, 5)).pvalue > 1e-3


def test_known_people_are_among_other_members():
    shadows = simulator(0.6).independent(0, ALL, 2_000, rng(3))
    assert (shadows.known <= shadows.counts).all()
    law = hypergeom.pmf(np.arange(4), 10, 5, 3)
    assert chisquare(np.bincount(shadows.known[:, 0].astype(int), minlength=4), 2_000 * law).pvalue > 1e-3
    np.testing.assert_array_equal(shadows.left, shadows.outputs - shadows.known)


def test_share_of_others_is_floored_despite_float_error():
    crowd, rules = Crowd(TEN), replace(public(), group_size=101)
    assert ShadowSimulator(rules, crowd, (TARGET,), 0.29).n_known == 29
    assert ShadowSimulator(rules, crowd, (TARGET,), 0.295).n_known == 29


def test_worlds_are_in_random_order():
    members = simulator().independent(0, ALL, 400, rng(4)).members
    runs = 1 + np.count_nonzero(np.diff(members))
    assert 160 < runs < 240  # about 200, give or take 10


def test_uncertain_target_follows_its_weights():
    sketch = PartialTrace(np.array([2]), np.array([0.3]))
    shadows = simulator(sketch=sketch).independent(0, ALL, 4_000, rng(5))
    assert shadows.counts[shadows.members, 2].mean() == pytest.approx(0.3, abs=0.05)
    assert not shadows.counts[~shadows.members, 2].any()


def test_shadows_keep_outputs_and_true_counts():
    shadows = simulator(chain=NOISY).independent(0, ALL, 2_000, rng(6))
    noise = shadows.outputs - shadows.counts
    assert np.abs(noise).mean() == pytest.approx(1.0, abs=0.05)  # of Laplace noise of scale 1
    assert np.unique(noise).size > 0.99 * noise.size


@pytest.mark.parametrize("relation", list(Relation))
def test_pairs_differ_by_target_alone(relation):
    pairs = simulator(chain=NOISY, relation=relation).paired(0, ALL, 30, rng(7))
    assert pairs.members.tolist() == [True] * 30 + [False] * 30
    difference = pairs.outputs[:30] - pairs.outputs[30:]
    np.testing.assert_allclose(difference, pairs.counts[:30] - pairs.counts[30:], atol=1e-6)  # the same noise
    replaced = relation is Relation.REPLACE_ONE
    np.testing.assert_array_equal(pairs.counts[:30, 1] - pairs.counts[30:, 1], -1 if replaced else 0)
    np.testing.assert_array_equal(pairs.counts[:30, 2] - pairs.counts[30:, 2], 1)
    if not replaced:
        np.testing.assert_allclose(difference, np.tile([1, 0, 1, 0], (30, 1)), atol=1e-6)


def test_columns_outside_target_cells_have_no_target():
    shadows = simulator().independent(0, np.array([1, 3]), 20, rng(8))
    assert (shadows.outputs[:, 0] == 5).all()
    assert set(shadows.outputs[:, 1]) <= set(range(6))


def test_user_pipeline_gets_all_cells():
    def shares(counts, rng):
        return counts / counts.sum()

    chain = UserReleaseChain(shares, 4, 1)
    shadows = simulator(chain=chain).independent(0, np.array([1, 2]), 10, rng(9))
    whole = simulator(chain=chain).independent(0, ALL, 10, rng(9))
    np.testing.assert_array_equal(shadows.outputs, whole.outputs[:, [1, 2]])
    np.testing.assert_allclose(whole.outputs.sum(axis=1), 1.0)


# Shadows against the game itself, in a town so small that every group can be written down.


CELLS = np.arange(3)
TARGETS = [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
OTHERS = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0], [1, 1, 1]]
SIZE = 5  # of a group: two others and three targets
CHAIN, CROWD = ReleaseChain(noise=None, group_size=SIZE), Crowd(traces(OTHERS))


def law(relation):
    """Counts of the group with target 0 in and without it, by writing down every group and every coin.

    The two others, and under replace_one somebody for each target who is out, are drawn from the crowd in
    order and without replacement.
    """
    laws = []
    for member in (True, False):
        found: Counter[tuple[int, ...]] = Counter()
        for coins in product([True, False], repeat=2):
            bits = (member, *coins)
            n_out = bits.count(False) if relation is Relation.REPLACE_ONE else 0
            groups = list(combinations(OTHERS, SIZE - 3 + n_out))
            for group in groups:
                inside = [*group, *(trace for trace, bit in zip(TARGETS, bits, strict=True) if bit)]
                found[tuple(np.sum(inside, axis=0).tolist())] += 1 / (4 * len(groups))
        assert sum(found.values()) == pytest.approx(1.0)
        laws.append(found)
    return laws


def assert_law(rows, expected):
    seen = Counter(map(tuple, rows.astype(int).tolist()))
    assert set(seen) <= set(expected)
    observed = np.array([seen[counts] for counts in expected])
    assert chisquare(observed, len(rows) * np.array(list(expected.values()))).pvalue > 1e-3


def town_simulator(relation, theta=0.0, sketches=None):
    whole = tuple(known_cells(np.flatnonzero(trace), complete=True) for trace in np.array(TARGETS))
    public = PublicParameters(CHAIN, SIZE, len(TARGETS), relation, CROWD.traces.map)
    return ShadowSimulator(public, CROWD, whole if sketches is None else sketches, theta)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("theta", [0.0, 0.5])
@pytest.mark.parametrize("columns", [CELLS, CELLS[:2]], ids=["all", "some"])
def test_independent_shadows_match_game_distribution(relation, theta, columns):
    shadows = town_simulator(relation, theta).independent(0, columns, 8_000, np.random.default_rng(1))
    for member, expected in zip((True, False), law(relation), strict=True):
        cut: Counter[tuple[int, ...]] = Counter()
        for counts, chance in expected.items():
            cut[counts[: columns.size]] += chance
        assert_law(shadows.counts[shadows.members == member], cut)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("theta", [0.0, 0.5])
def test_paired_shadows_match_game_distribution(relation, theta):
    shadows = town_simulator(relation, theta).paired(0, CELLS, 6_000, np.random.default_rng(2))
    for member, expected in zip((True, False), law(relation), strict=True):
        assert_law(shadows.counts[shadows.members == member], expected)


@pytest.mark.parametrize("relation", list(Relation))
def test_game_matches_enumerated_distribution(relation):
    """Three targets with their traces, and a pool that holds the five others."""
    people = PopulationSplit(np.arange(3), np.arange(3, 8), np.empty(0, dtype=np.int64))
    everybody = traces(np.concatenate([TARGETS, OTHERS]))
    played = Challenger(
        traces=everybody,
        people=people,
        crowd=Crowd(everybody),
        chain=CHAIN,
        table=LocationsChallengerTable(
            group_size=SIZE, relation=relation, targets=LocationsTargetsTable(n=3)
        ),
        guarantee=None,
        digest="",
        seed=1,
    )
    rng = np.random.default_rng(3)
    members = played.flip(12_000, rng)
    counts = played.release(members, rng).rounds.counts()
    for member, expected in zip((True, False), law(relation), strict=True):
        assert_law(counts[members[:, 0] == member], expected)


@pytest.mark.parametrize("relation", list(Relation))
def test_pairs_share_all_other_members(relation):
    shadows = town_simulator(relation).paired(0, CELLS, 500, np.random.default_rng(4))
    more = shadows.counts[:500] - shadows.counts[500:]
    if relation is Relation.ADD_REMOVE:
        assert (more == TARGETS[0]).all()
    else:
        instead = {tuple(row) for row in (np.array(TARGETS[0]) - more).tolist()}
        assert instead == set(map(tuple, OTHERS))


def test_known_targets_are_included_by_random_bits():
    guessed = PartialTrace(np.array([2]), np.array([1.0]), guessed=True)
    part = (*(known_cells(np.array([0])) for _ in range(2)), guessed)
    for relation, n_always in ((Relation.ADD_REMOVE, 3), (Relation.REPLACE_ONE, 4)):
        company = town_simulator(relation, sketches=part).other_members(0)
        assert company.n_always == n_always
        assert [visits.tolist() for visits in company.visits] == [[0], []]
        coins = np.array([[True, True], [False, True]])
        assert company.n_drawn(coins).tolist() == [n_always] * 2
        counts = np.zeros((2, 3), dtype=np.int32)
        company.join(counts, coins, CELLS)
        assert counts.tolist() == [[1, 0, 0], [0, 0, 0]]
        assert company.prior(known_cells(CELLS), np.full(3, 0.5), 0).coins.tolist() == [1, 0, 0]


def test_absent_targets_are_replaced_only_under_replace_one():
    coins = np.array([[True, True], [True, False], [False, False]])
    assert town_simulator(Relation.ADD_REMOVE).other_members(0).n_drawn(coins).tolist() == [2, 2, 2]
    assert town_simulator(Relation.REPLACE_ONE).other_members(0).n_drawn(coins).tolist() == [2, 3, 4]


@pytest.mark.parametrize("n_known", [0, 2])
def test_prior_means_match_game_with_known_traces(n_known):
    rates = np.array([0.6, 0.6])  # shares of the crowd in the cells of target 0
    for relation in Relation:
        one = town_simulator(relation)
        prior = count_prior(one.public, one.sketches, 0, rates, n_known)
        assert prior.coins.tolist() == [1, 1]  # target 1 in cell 0, target 2 in cell 1
        inside, outside = (
            sum(np.array(counts)[:2] * chance for counts, chance in world.items()) for world in law(relation)
        )
        assert prior.n_in * rates + 0.5 + 1 + n_known * rates == pytest.approx(inside)
        assert prior.n_out * rates + 0.5 + n_known * rates == pytest.approx(outside)


def test_single_target_has_only_other_people():
    company = OtherMembers.beside(0, (known_cells(np.array([1])),), 4, 1, Relation.REPLACE_ONE)
    assert (company.n_always, company.visits) == (4, ())
    assert company.prior(known_cells(np.array([1])), np.array([0.5]), 0).coins.tolist() == [0]

"""Shadows against the game itself, in a town so small that every group can be written down."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import chisquare

from domains.locations.small_town import traces
from leakgauge.core.guarantee import Relation
from leakgauge.domains.locations.challenger import Challenger
from leakgauge.domains.locations.data.population_split import PopulationSplit
from leakgauge.domains.locations.group_sampling.crowd import Crowd
from leakgauge.domains.locations.knowledge import count_prior
from leakgauge.domains.locations.partial_traces import PartialTrace, known_cells
from leakgauge.domains.locations.plan_tables import LocationsChallengerTable, LocationsTargetsTable
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.domains.locations.shadows.simulator import OtherMembers, PublicParameters, ShadowSimulator

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


def simulator(relation, theta=0.0, sketches=None):
    whole = tuple(known_cells(np.flatnonzero(trace), complete=True) for trace in np.array(TARGETS))
    public = PublicParameters(CHAIN, SIZE, len(TARGETS), relation, CROWD.traces.map)
    return ShadowSimulator(public, CROWD, whole if sketches is None else sketches, theta)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("theta", [0.0, 0.5])
@pytest.mark.parametrize("columns", [CELLS, CELLS[:2]], ids=["all", "some"])
def test_independent_shadows_have_the_law_of_the_game(relation, theta, columns):
    shadows = simulator(relation, theta).independent(0, columns, 8_000, np.random.default_rng(1))
    for member, expected in zip((True, False), law(relation), strict=True):
        cut: Counter[tuple[int, ...]] = Counter()
        for counts, chance in expected.items():
            cut[counts[: columns.size]] += chance
        assert_law(shadows.counts[shadows.members == member], cut)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("theta", [0.0, 0.5])
def test_paired_shadows_have_the_law_of_the_game_in_each_world(relation, theta):
    shadows = simulator(relation, theta).paired(0, CELLS, 6_000, np.random.default_rng(2))
    for member, expected in zip((True, False), law(relation), strict=True):
        assert_law(shadows.counts[shadows.members == member], expected)


@pytest.mark.parametrize("relation", list(Relation))
def test_the_game_itself_has_that_law(relation):
    """Three targets with their traces, and a pool that holds the five others."""
    people = PopulationSplit(np.arange(3), np.arange(3, 8), np.empty(0, dtype=np.int64))
    played = Challenger(
        traces=traces(np.concatenate([TARGETS, OTHERS])),
        people=people,
        crowd=CROWD,
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
def test_pairs_share_everybody_but_the_target(relation):
    shadows = simulator(relation).paired(0, CELLS, 500, np.random.default_rng(4))
    more = shadows.counts[:500] - shadows.counts[500:]
    if relation is Relation.ADD_REMOVE:
        assert (more == TARGETS[0]).all()
    else:
        instead = {tuple(row) for row in (np.array(TARGETS[0]) - more).tolist()}
        assert instead == set(map(tuple, OTHERS))


def test_what_is_known_of_targets_comes_by_coins_and_people_stand_for_the_rest():
    guessed = PartialTrace(np.array([2]), np.array([1.0]), guessed=True)
    part = (*(known_cells(np.array([0])) for _ in range(2)), guessed)
    for relation, n_always in ((Relation.ADD_REMOVE, 3), (Relation.REPLACE_ONE, 4)):
        company = simulator(relation, sketches=part).other_members(0)
        assert company.n_always == n_always
        assert [visits.tolist() for visits in company.visits] == [[0], []]
        coins = np.array([[True, True], [False, True]])
        assert company.n_drawn(coins).tolist() == [n_always] * 2
        counts = np.zeros((2, 3), dtype=np.int32)
        company.join(counts, coins, CELLS)
        assert counts.tolist() == [[1, 0, 0], [0, 0, 0]]
        assert company.prior(known_cells(CELLS), np.full(3, 0.5), 0).coins.tolist() == [1, 0, 0]


def test_who_is_out_is_replaced_under_replace_one_alone():
    coins = np.array([[True, True], [True, False], [False, False]])
    assert simulator(Relation.ADD_REMOVE).other_members(0).n_drawn(coins).tolist() == [2, 2, 2]
    assert simulator(Relation.REPLACE_ONE).other_members(0).n_drawn(coins).tolist() == [2, 3, 4]


@pytest.mark.parametrize("n_known", [0, 2])
def test_where_all_traces_are_known_the_prior_has_the_means_of_the_game(n_known):
    rates = np.array([0.6, 0.6])  # shares of the crowd in the cells of target 0
    for relation in Relation:
        one = simulator(relation)
        prior = count_prior(one.public, one.sketches, 0, rates, n_known)
        assert prior.coins.tolist() == [1, 1]  # target 1 in cell 0, target 2 in cell 1
        inside, outside = (
            sum(np.array(counts)[:2] * chance for counts, chance in world.items()) for world in law(relation)
        )
        assert prior.n_in * rates + 0.5 + 1 + n_known * rates == pytest.approx(inside)
        assert prior.n_out * rates + 0.5 + n_known * rates == pytest.approx(outside)


def test_an_only_target_has_no_company_but_the_others():
    company = OtherMembers.beside(0, (known_cells(np.array([1])),), 4, 1, Relation.REPLACE_ONE)
    assert (company.n_always, company.visits) == (4, ())
    assert company.prior(known_cells(np.array([1])), np.array([0.5]), 0).coins.tolist() == [0]

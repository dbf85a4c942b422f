import numpy as np
import pytest

from domains.locations.small_town import LAPLACE, RAW, game, town
from leakgauge.core.guarantee import Relation

ALL = np.arange(24)


def played(mechanism=LAPLACE, seed=2, relation="add_remove", n_rounds=6):
    challenger = game(town(), mechanism, targets=2, relation=relation)
    return challenger.release(
        challenger.flip(n_rounds, np.random.default_rng(1)), np.random.default_rng(seed)
    )


def by_hand(rounds, n_cells=24):
    """The true counts, one person at a time."""
    visits, targets = rounds.crowd.visits.toarray().astype(int), rounds.targets.toarray().astype(int)
    counts = np.zeros((len(rounds.members), n_cells), dtype=int)
    for i, count in enumerate(counts):
        for person in (
            *rounds.people[i],
            *(rounds.spares[i][rounds.spares[i] >= 0] if rounds.spares.size else ()),
        ):
            count += visits[person]
        for target in np.flatnonzero(rounds.members[i]):
            count += targets[target]
    return counts


@pytest.mark.parametrize("relation", list(Relation))
def test_true_counts_match_enumeration(relation):
    rounds = played(relation=relation).rounds
    np.testing.assert_array_equal(rounds.counts(), by_hand(rounds))
    np.testing.assert_array_equal(rounds.counts(np.array([3, 7, 20])), by_hand(rounds)[:, [3, 7, 20]])


def test_groups_have_no_duplicates():
    rounds = played(relation="replace_one").rounds
    for people, spares in zip(rounds.people, rounds.spares):
        in_group = np.concatenate([people, spares[spares >= 0]])
        assert np.unique(in_group).size == in_group.size


def test_known_people_are_the_first_of_the_group():
    rounds = played().rounds
    visits = rounds.crowd.visits.toarray().astype(int)
    expected = visits[rounds.people[:, :5]].sum(axis=1)
    np.testing.assert_array_equal(rounds.known(5, ALL), expected)
    np.testing.assert_array_equal(rounds.known(0, ALL), np.zeros((6, 24)))
    np.testing.assert_array_equal(
        rounds.known(18, ALL) + rounds.members @ rounds.targets.toarray(), rounds.counts()
    )


@pytest.mark.parametrize("mechanism", [LAPLACE, RAW], ids=["laplace", "raw"])
@pytest.mark.parametrize("first", ["near", "whole", "mixed"])
def test_release_does_not_depend_on_order_of_views(mechanism, first):
    reference = played(mechanism).whole
    other = played(mechanism)
    near = other.near
    looks = {"near": near, "whole": ALL, "mixed": np.array([0, near[0], 23])}
    other.at(looks[first])
    for columns in looks.values():
        np.testing.assert_array_equal(other.at(columns), reference[:, columns])
    np.testing.assert_array_equal(other.whole, reference)


def test_near_cells_match_full_release():
    block = played()
    block.at(block.near[:3])
    assert "whole" not in vars(block)


def test_near_cells_are_those_of_the_targets():
    block = played()
    assert set(block.near) == set(np.flatnonzero(block.rounds.targets.toarray().any(axis=0)))


def test_raw_counts_are_true_ones():
    block = played(RAW)
    np.testing.assert_array_equal(block.whole, block.rounds.counts())


def test_noise_is_fresh_in_every_cell_and_round():
    block = played()
    noise = block.whole - block.rounds.counts()
    assert np.unique(noise).size == noise.size

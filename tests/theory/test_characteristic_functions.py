import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.theory.asymmetric_composition import DistributionPair
from leakgauge.theory.characteristic_functions import LARGEST_SCORE, ScoreLaws, laws_on_nodes, score_nodes


def laws_of(pairs: list[DistributionPair], largest: float) -> ScoreLaws:
    kinds = np.concatenate([np.full(pair.members.size, i) for i, pair in enumerate(pairs)])
    parts = ([getattr(pair, name) for pair in pairs] for name in ("losses", "members", "others"))
    return laws_on_nodes(score_nodes(largest), len(pairs), kinds, *(np.concatenate(part) for part in parts))


@pytest.mark.parametrize("largest", [1e-3, 0.5, 4.0, 100.0])
def test_nodes_reach_as_far_as_scores_and_lie_densely_near_zero(largest):
    nodes = score_nodes(largest)
    finite = nodes[1:-1]
    assert (nodes[0], nodes[-1]) == (-np.inf, np.inf)
    assert finite[-1] == pytest.approx(min(largest, LARGEST_SCORE))
    np.testing.assert_allclose(finite, -finite[::-1])
    gaps = np.diff(finite)
    assert gaps.min() < 0.03 * min(0.02, largest / 10)
    assert gaps.max() < 0.03 * min(largest, LARGEST_SCORE)
    assert finite.size < 1000


def test_placing_scores_keeps_probabilities_and_means():
    rng = np.random.default_rng(1)
    scores, kinds = rng.normal(size=200), rng.integers(3, size=200)
    members, others = rng.random((2, 200))
    laws = laws_on_nodes(score_nodes(5.0), 3, kinds, scores, members, others)
    for found, given in ((laws.members, members), (laws.others, others)):
        for kind in range(3):
            own = kinds == kind
            assert found[kind].sum() == pytest.approx(given[own].sum())
            assert found[kind, 1:-1] @ laws.nodes[1:-1] == pytest.approx(given[own] @ scores[own])


def test_scores_beyond_the_nodes_decide_for_sure():
    laws = laws_on_nodes(
        score_nodes(1.0),
        1,
        np.zeros(4, dtype=np.int64),
        np.array([-np.inf, -2.0, 1.5, np.inf]),
        *np.eye(2, 4),
    )
    assert (laws.members[0, 0], laws.others[0, 0]) == (1.0, 1.0)
    laws = laws_on_nodes(
        score_nodes(1.0), 1, np.zeros(2, dtype=np.int64), np.array([1.5, np.inf]), np.ones(2), np.zeros(2)
    )
    assert laws.members[0, -1] == 2.0


def test_a_mixture_is_the_mean_of_its_kinds():
    laws = laws_of(
        [DistributionPair.of([0.6, 0.4], [0.4, 0.6]), DistributionPair.of([0.9, 0.1], [0.5, 0.5])], 2.0
    )
    mixed = laws.mixed(np.array([[0.25, 0.75]]))
    np.testing.assert_allclose(mixed.members[0], 0.25 * laws.members[0] + 0.75 * laws.members[1])
    assert mixed.others.sum() == pytest.approx(1)


@pytest.mark.parametrize("r", [0.0, 0.01, 0.3, 1.0])
def test_replacing_a_non_member_is_the_pair_of_the_mixed_law(r):
    members, others = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.3, 0.4, 0.2])
    found = laws_of([DistributionPair.of(members, others)], 3.0).replaced(np.array([r]))
    exact = laws_of([DistributionPair.of(members, (1 - r) * others + r * members)], 3.0)
    for world in ("members", "others"):
        mean = getattr(found, world)[0, 1:-1] @ found.nodes[1:-1]
        assert mean == pytest.approx(getattr(exact, world)[0, 1:-1] @ exact.nodes[1:-1], abs=2e-4)
        assert getattr(found, world)[0, 0] == pytest.approx(getattr(exact, world)[0, 0])
        assert getattr(found, world).sum() == pytest.approx(1)


def test_columns_of_different_length_are_refused():
    with pytest.raises(BadInput, match="2 scores, but 1 kinds"):
        laws_on_nodes(score_nodes(1.0), 1, np.zeros(1, dtype=np.int64), np.zeros(2), np.zeros(2), np.zeros(2))

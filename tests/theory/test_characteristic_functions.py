"""Score distributions on nodes, and the inversion of their characteristic functions."""

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import ndtr

from leakgauge.core.errors import BadInput
from leakgauge.theory.asymmetric_composition import DistributionPair
from leakgauge.theory.characteristic_functions import (
    LARGEST_SCORE,
    CharacteristicTable,
    Resolution,
    ScoreLaws,
    SummedScores,
    laws_on_nodes,
    score_nodes,
)

FINE = Resolution(384, 2, 2).finer(4)


def laws_of(pairs: list[DistributionPair], largest: float) -> ScoreLaws:
    kinds = np.concatenate([np.full(pair.members.size, i) for i, pair in enumerate(pairs)])
    parts = ([getattr(pair, name) for pair in pairs] for name in ("losses", "members", "others"))
    return laws_on_nodes(score_nodes(largest), len(pairs), kinds, *(np.concatenate(part) for part in parts))


@pytest.mark.parametrize("largest", [1e-3, 0.5, 4.0, 100.0])
def test_nodes_cover_scores_and_are_dense_near_zero(largest):
    nodes = score_nodes(largest)
    finite = nodes[1:-1]
    assert (nodes[0], nodes[-1]) == (-np.inf, np.inf)
    assert finite[-1] == pytest.approx(min(largest, LARGEST_SCORE))
    np.testing.assert_allclose(finite, -finite[::-1])
    gaps = np.diff(finite)
    assert gaps.min() < 0.03 * min(0.02, largest / 10)
    assert gaps.max() < 0.03 * min(largest, LARGEST_SCORE)
    assert finite.size < 1000


def test_placing_on_nodes_keeps_probabilities_and_means():
    rng = np.random.default_rng(1)
    scores, kinds = rng.normal(size=200), rng.integers(3, size=200)
    members, others = rng.random((2, 200))
    laws = laws_on_nodes(score_nodes(5.0), 3, kinds, scores, members, others)
    for found, given in ((laws.members, members), (laws.others, others)):
        for kind in range(3):
            own = kinds == kind
            assert found[kind].sum() == pytest.approx(given[own].sum())
            assert found[kind, 1:-1] @ laws.nodes[1:-1] == pytest.approx(given[own] @ scores[own])


def test_scores_beyond_nodes_are_certain():
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


def test_mixture_is_mean_of_kinds():
    laws = laws_of(
        [DistributionPair.of([0.6, 0.4], [0.4, 0.6]), DistributionPair.of([0.9, 0.1], [0.5, 0.5])], 2.0
    )
    mixed = laws.mixed(np.array([[0.25, 0.75]]))
    np.testing.assert_allclose(mixed.members[0], 0.25 * laws.members[0] + 0.75 * laws.members[1])
    assert mixed.others.sum() == pytest.approx(1)


@pytest.mark.parametrize("r", [0.0, 0.01, 0.3, 1.0])
def test_replacement_mixes_the_distributions(r):
    members, others = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.1, 0.3, 0.4, 0.2])
    found = laws_of([DistributionPair.of(members, others)], 3.0).replaced(np.array([r]))
    exact = laws_of([DistributionPair.of(members, (1 - r) * others + r * members)], 3.0)
    for world in ("members", "others"):
        mean = getattr(found, world)[0, 1:-1] @ found.nodes[1:-1]
        assert mean == pytest.approx(getattr(exact, world)[0, 1:-1] @ exact.nodes[1:-1], abs=2e-4)
        assert getattr(found, world)[0, 0] == pytest.approx(getattr(exact, world)[0, 0])
        assert getattr(found, world).sum() == pytest.approx(1)


def test_rejects_columns_of_different_length():
    with pytest.raises(BadInput, match="2 scores, but 1 kinds"):
        laws_on_nodes(score_nodes(1.0), 1, np.zeros(1, dtype=np.int64), np.zeros(2), np.zeros(2), np.zeros(2))


# -- inversion -----------------------------------------------------------------------------------------------


def votes(hit: float, alarm: float) -> ScoreLaws:
    """One kind of cell: +1 with a chance of its own in each world, else -1."""
    nodes = np.array([-np.inf, -1.0, 1.0, np.inf])
    return ScoreLaws(nodes, np.array([[0, 1 - hit, hit, 0]]), np.array([[0, 1 - alarm, alarm, 0]]))


def summed(laws: ScoreLaws, counts: list[int], period: float, resolution: Resolution) -> SummedScores:
    table = CharacteristicTable.of(laws, period, resolution)
    return SummedScores.of(table, csr_array([counts]).astype(table.columns.dtype) @ table.columns)


def exact_rates(members: np.ndarray, others: np.ndarray) -> tuple[float, float, float]:
    """Accuracy, AUC and TPR at 1 % of thresholds on scores with these probabilities, lowest score first."""
    tpr, fpr = (np.append(0.0, np.cumsum(world[::-1])) for world in (members, others))
    auc = sum(m * (others[:i].sum() + others[i] / 2) for i, m in enumerate(members))
    return (1 + (tpr - fpr).max()) / 2, auc, float(np.interp(0.01, fpr, tpr))


@pytest.mark.parametrize("single", [True, False])
def test_table_matches_direct_characteristic_functions(single):
    """Against the plain sum of probability times e^(i t score), and the chances of certain decisions."""
    rng, resolution = np.random.default_rng(1), Resolution(40, 4, 5, single=single)
    nodes = np.concatenate([[-np.inf], np.sort(rng.normal(size=7)), [np.inf]])
    laws = ScoreLaws(nodes, *rng.dirichlet(np.ones(9), size=(2, 3)))
    columns = CharacteristicTable.of(laws, 11.0, resolution).columns.astype(np.float64)
    n = resolution.n
    assert columns.shape == (3, 4 * n + 4)
    for kind, (i, world) in product(range(3), enumerate((laws.members, laws.others))):
        size, angle = columns[kind, i * n : (i + 1) * n], columns[kind, (i + 2) * n : (i + 3) * n]
        for k in range(1, n + 1):
            exact = sum(
                mass * np.exp(2j * np.pi * k / 11.0 * score)
                for mass, score in zip(world[kind, 1:-1], nodes[1:-1])
            )
            assert np.exp(size[k - 1] + 1j * angle[k - 1]) == pytest.approx(
                exact, abs=2e-5 if single else 1e-12
            )
        assert np.exp(columns[kind, 4 * n + i]) == pytest.approx(1 - world[kind, 0], abs=1e-6)
        assert np.exp(columns[kind, 4 * n + 2 + i]) == pytest.approx(world[kind, 1:-1].sum(), abs=1e-6)


def test_several_cells_multiply_characteristic_functions():
    sums = summed(votes(0.8, 0.3), [5], 16.0, FINE)
    t = 2 * np.pi / 16.0 * np.arange(1, FINE.n + 1)
    for waves, chance in zip(sums.waves, (0.8, 0.3)):
        np.testing.assert_allclose(waves[0], (chance * np.exp(1j * t) + (1 - chance) * np.exp(-1j * t)) ** 5)


@pytest.mark.parametrize(
    ("n", "hit", "alarm"), [(1, 0.9, 0.2), (6, 0.6, 0.4), (7, 0.55, 0.05), (30, 0.6, 0.5)]
)
def test_vote_sums_match_binomial(n, hit, alarm):
    law = [
        np.array([comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1)])
        for chance in (hit, alarm)
    ]
    found = summed(votes(hit, alarm), [n], 2.2 * n + 2, FINE).rates(np.array([-1.05 * n]))
    assert [float(rate[0]) for rate in found[:3]] == pytest.approx(exact_rates(*law), abs=2e-5)
    says_member = (np.sign(2 * np.arange(n + 1) - n) + 1) / 2  # a sum of zero is right half of the time
    exact = 0.5 + (law[0] @ says_member - law[1] @ says_member) / 2
    assert float(found[3][0]) == pytest.approx(exact, abs=2e-5)


def test_mixed_cells_match_enumeration():
    nodes = np.array([-np.inf, -1.5, -0.25, 0.5, 2.0, np.inf])
    rng = np.random.default_rng(2)
    members, others = rng.dirichlet(np.ones(4), size=(2, 2))
    pad = ((0, 0), (1, 1))
    laws = ScoreLaws(nodes, np.pad(members, pad), np.pad(others, pad))
    scores, chances = [], []
    for outcome in product(range(4), repeat=3):  # two cells of the first kind, one of the second
        scores.append(nodes[1:-1][list(outcome)].sum())
        chances.append(
            [np.prod([world[kind, o] for kind, o in zip((0, 0, 1), outcome)]) for world in (members, others)]
        )
    values, place = np.unique(np.round(scores, 9), return_inverse=True)
    law = [np.bincount(place, world) for world in np.transpose(chances)]
    found = summed(laws, [2, 1], 14.0, FINE).rates(np.array([values[0] - 1.0]))
    assert [float(rate[0]) for rate in found[:3]] == pytest.approx(exact_rates(*law), abs=1e-4)


def laplace_scores(shift: float, start: float, period: float) -> tuple[float, ...]:
    """Scores with Laplace noise of scale one, members ``shift`` higher, by its characteristic function."""
    t = 2 * np.pi / period * np.arange(1, FINE.n + 1)
    size, middle = -np.log1p(t**2), start + period / 2
    columns = np.concatenate([size, size, t * (middle + shift / 2), t * (middle - shift / 2), np.zeros(4)])
    sums = SummedScores.of(CharacteristicTable(period, columns[None], FINE), columns[None])
    return tuple(float(rate[0]) for rate in sums.rates(np.array([start])))


@pytest.mark.parametrize("shift", [0.5, 2.0, 5.0])
def test_shifted_laplace_scores_match_closed_forms(shift):
    """Cut midway; the difference of two Laplace variables; the tail e^-x / 2 above ln 50."""
    tail = np.log(50) - shift
    exact = (
        1 - np.exp(-shift / 2) / 2,
        1 - (1 / 2 + shift / 4) * np.exp(-shift),
        np.exp(-tail) / 2 if tail > 0 else 1 - np.exp(tail) / 2,
    )
    assert laplace_scores(shift, -40.0, 80.0) == pytest.approx((*exact, exact[0]), abs=1e-3)


def test_start_of_period_does_not_matter():
    rates = [laplace_scores(2.0, start, 80.0) for start in (-40.0, -3.0, 0.0, 117.3)]
    for moved in rates[1:]:
        assert moved[:3] == pytest.approx(rates[0][:3], abs=1e-4)
    assert [moved[3] for moved in rates[1:]] == pytest.approx([0.5] * 3)  # all scores are above zero


def test_certain_decisions_match_infinite_scores():
    """Two cells that may each decide: "in" unless one says "out", which is as rare as 1 - .9^2."""
    nodes = np.array([-np.inf, -1.0, 1.0, np.inf])
    laws = ScoreLaws(nodes, np.array([[0.1, 0.3, 0.4, 0.2]]), np.array([[0.5, 0.2, 0.2, 0.1]]))
    sums = summed(laws, [2], 8.0, FINE)
    assert [float(chance[0]) for chance in sums.inside] == pytest.approx([0.7**2, 0.4**2])
    assert [float(chance[0]) for chance in sums.sure] == pytest.approx([0.9**2 - 0.7**2, 0.5**2 - 0.4**2])
    finite = [np.convolve(world[0, 1:3], world[0, 1:3]) for world in (laws.members, laws.others)]
    law = [
        np.concatenate([[1 - reach**2], middle, [reach**2 - middle.sum()]])
        for reach, middle in zip((0.9, 0.5), finite)
    ]
    found = [float(rate[0]) for rate in sums.rates(np.array([-2.5]))[:3]]
    assert found == pytest.approx(exact_rates(*law), abs=1e-4)


def test_gaussian_taper_never_overstates_accuracy():
    """Coarse on purpose: atoms blur into one another, as if the attacker had added noise."""
    law = [
        np.array([comb(12, k) * chance**k * (1 - chance) ** (12 - k) for k in range(13)])
        for chance in (0.6, 0.4)
    ]
    exact = exact_rates(*law)
    errors = []
    for n in (8, 16, 32, 128):
        sums = summed(votes(0.6, 0.4), [12], 32.0, Resolution(n, 2, 64 * 8 // n, single=False))
        accuracy, auc, *_ = (float(rate[0]) for rate in sums.rates(np.array([-16.0])))
        assert accuracy < exact[0] + 1e-6
        assert auc < exact[1] + 1e-6
        errors.append(exact[0] - accuracy)
    assert errors[0] > 1e-3
    assert errors == sorted(errors, reverse=True)


def test_few_votes_are_discrete_and_many_cells_are_smooth():
    resolution = Resolution(96, 4, 5)
    rng = np.random.default_rng(3)
    nodes = np.concatenate([[-np.inf], np.sort(rng.normal(size=40)), [np.inf]])
    spread = np.pad(rng.dirichlet(np.ones(40), size=(2, 1)), ((0, 0), (0, 0), (1, 1)))
    smooth = CharacteristicTable.of(ScoreLaws(nodes, *spread), 80.0, resolution)
    assert smooth.lumpy(csr_array([[1], [60]]) @ smooth.columns).tolist() == [True, False]
    two_values = CharacteristicTable.of(votes(0.6, 0.4), 80.0, resolution)
    assert two_values.lumpy(csr_array([[1], [60]]) @ two_values.columns).tolist() == [True, True]


def test_finer_resolution_has_more_frequencies():
    coarse = Resolution(96, 4, 5)
    assert coarse.finer(1) is coarse
    assert coarse.finer(3) == Resolution(288, 4, 5, single=False)
    assert (coarse.dtype, coarse.finer(2).dtype) == (np.float32, np.float64)
    fade = coarse.fade
    assert fade[0] == pytest.approx(1)
    assert fade[-1] == pytest.approx(np.exp(-10 * (96 / 97) ** 4))
    assert (np.diff(fade) < 0).all()


@pytest.mark.parametrize("offset", [0.0, 1 / 32, 1 / 16])
def test_best_threshold_is_interpolated(offset):
    """Normal scores one apart: the best threshold lies midway, here up to half a place off the grid."""
    resolution, period = Resolution(64, 4, 2, single=False), 16.0
    t = 2 * np.pi / period * np.arange(1, resolution.n + 1)
    size = -(t**2) / 2
    columns = np.concatenate([size, size, t * (offset + 0.5), t * (offset - 0.5), np.zeros(4)])
    sums = SummedScores.of(CharacteristicTable(period, columns[None], resolution), columns[None])
    accuracy, auc, *_ = sums.rates(np.array([offset - period / 2]))
    assert accuracy[0] == pytest.approx(ndtr(0.5), abs=5e-5)
    assert auc[0] == pytest.approx(ndtr(np.sqrt(0.5)), abs=1e-3)


def test_tails_at_common_thresholds_match_binomial_and_never_rise():
    """Also at thresholds beside the place where the circle is cut."""
    n, period = 12, 40.0
    sums = summed(votes(0.6, 0.4), [n], period, FINE)
    for start in (-15.3, -13.01, -12.7):
        thresholds = np.unique(
            np.concatenate([np.linspace(-60, 60, 4001), start + period * np.arange(-1, 2)])
        )
        for found, chance in zip(sums.tails(np.array([start]), thresholds), (0.6, 0.4)):
            assert (np.diff(found[0]) <= 1e-3).all()
            middle = np.arange(-11.0, 12.0, 2.0)  # between two sums of votes
            exact = [
                sum(comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(n + 1) if 2 * k - n > m)
                for m in middle
            ]
            assert np.interp(middle, thresholds, found[0]) == pytest.approx(exact, abs=2e-3)

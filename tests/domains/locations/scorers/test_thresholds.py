import numpy as np
import pytest
from scipy.stats import binom

from domains.locations.small_town import LAPLACE, RAW, game, pipeline_file, town, traces
from domains.locations.threshold_games import same_halves
from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.counts.cell_expectations import (
    CellMoments,
    TargetCases,
    cell_moments,
    cell_votes,
)
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.mobility.deconvolution import profiles_from_releases
from leakgauge.domains.locations.scorers.thresholds import (
    ExpectationsFromRelease,
    ExpectationsFromTraces,
    NormalScore,
    PerRoundSumScorer,
    PerRoundVoteScorer,
    best_cutoff,
    known_tail_distribution,
    normal_sum,
    normal_votes,
    same_every_round,
    sampling_variance,
    shared_variance,
    typical_known,
    votes_needed,
)
from leakgauge.support.user_code import UserCodeLoader
from leakgauge.theory.threshold_attacks import chance_of_votes


def gain(scores, members, cut):
    says = scores >= cut
    return says[members].mean() - says[~members].mean()


@pytest.mark.parametrize("seed", range(20))
def test_cut_is_optimal(seed):
    rng = np.random.default_rng(seed)
    members = rng.permutation(np.arange(31) % 3 == 0)
    scores = np.round(rng.normal(size=31) + 0.5 * members, 1)  # with ties
    values = np.unique(scores)
    inside = [gain(scores, members, cut) for cut in (values[1:] + values[:-1]) / 2]
    assert gain(scores, members, best_cutoff(scores, members)) == pytest.approx(max(inside))


def test_uninformative_score_is_cut_between_two_scores():
    scores, members = np.array([3.0, 2.0, 1.0, 0.0]), np.array([False, False, True, True])
    assert 0 < best_cutoff(scores, members) < 3


def test_constant_score_accuses_everyone():
    assert best_cutoff(np.full(4, 7.0), np.arange(4) % 2 == 0) == 7.0


def test_single_class_gives_lowest_score():
    assert best_cutoff(np.array([5.0, 2.0, 3.0]), np.ones(3, bool)) == 2.0
    assert best_cutoff(np.zeros(0), np.zeros(0, bool)) == 0.0


def test_middle_of_equally_good_cuts_is_used():
    members = np.array([False, True, False, True, False, True])  # any cut below a member gains one third
    assert best_cutoff(np.arange(6.0), members) == 2.5


NORMAL_RNG = np.random.default_rng(1)


def shadows(gap, deviation, n=4_000):
    members = NORMAL_RNG.permutation(np.arange(n) % 2 == 1)
    return NORMAL_RNG.normal(7.0, deviation, n) + gap * members, members


def test_means_and_variance_match_shadows():
    law = NormalScore.of(*shadows(4.0, 3.0))
    assert law.without == pytest.approx(7.0, abs=0.3)
    assert law.with_target == pytest.approx(11.0, abs=0.3)
    assert law.variance == pytest.approx(9.0, rel=0.1)
    assert law.midpoint == pytest.approx(9.0, abs=0.2)


@pytest.mark.parametrize("fpr", [0.01, 0.05, 0.3])
def test_target_fpr_is_kept_on_new_releases(fpr):
    threshold = NormalScore.of(*shadows(4.0, 3.0, n=20_000)).threshold(fpr)
    scores, members = shadows(4.0, 3.0, n=100_000)
    assert (scores[~members] >= threshold).mean() == pytest.approx(fpr, rel=0.15)


def test_evidence_score_is_log_likelihood_ratio():
    law = NormalScore(7.0, 11.0, 9.0)
    x = 10.3
    exact = -((x - 11) ** 2) / 18 + (x - 7) ** 2 / 18
    assert law.evidence * (x - law.midpoint) == pytest.approx(exact)


def test_chance_does_not_flip_the_score():
    scores, members = shadows(0.0, 1.0, n=50)
    for flip in (scores, -scores):
        assert NormalScore.of(flip, members).evidence > 0


def test_extreme_scores_are_finite():
    assert 0 < NormalScore(0.0, 5.0, 0.0).evidence < np.inf
    assert NormalScore(3.0, 3.0, 0.0).evidence == 0.0
    many = NormalScore(np.zeros(2), np.array([0.0, 2.0]), np.array([0.0, 4.0]))
    assert many.evidence.tolist() == [0.0, 0.5]
    assert many.threshold(0.5).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("fpr", [0.01, 0.05, 0.9])
def test_constant_score_raises_no_false_alarm(fpr):
    law = NormalScore.of(np.array([4.0, 4.0, 9.0, 9.0]), np.array([False, False, True, True]))
    assert law.variance == 0.0
    assert 4.0 < law.threshold(fpr) <= 9.0
    rounds = NormalScore(np.array([4.0, 4.0]), np.array([9.0, 9.0]), np.array([0.0, 1.0]))
    assert rounds.threshold(0.5).tolist() == [6.5, 4.0]


def test_both_worlds_are_needed():
    with pytest.raises(BadInput, match="two releases"):
        NormalScore.of(np.arange(4.0), np.array([True, True, True, False]))


EXPECTED_RNG = np.random.default_rng(20240501)
N = 200_000


def spread(values):
    return TargetCases(values, values + 1, values)


def test_weighted_sum_moments_match_simulation():
    """Cells of Poisson counts and Gaussian noise; the target is in each with the chance of its weight."""
    rates, weights = np.array([2.0, 0.5, 7.0]), np.array([1.0, 0.3, 0.6])
    cells = CellMoments(spread(rates), TargetCases(rates + 1, rates + 1, rates + 1))
    law = normal_sum(cells, weights, shared=0.0)
    outside = EXPECTED_RNG.poisson(rates, (N, 3)) + EXPECTED_RNG.normal(size=(N, 3))
    inside = outside + (EXPECTED_RNG.random((N, 3)) < weights)
    assert law.without == pytest.approx((outside @ weights).mean(), abs=0.03)
    assert law.with_target == pytest.approx((inside @ weights).mean(), abs=0.03)
    variance = ((outside @ weights).var() + (inside @ weights).var()) / 2
    assert law.variance == pytest.approx(variance, rel=0.02)
    assert normal_sum(cells, weights, shared=5.0).variance == pytest.approx(law.variance + 5.0)


def test_uncertain_target_adds_variance():
    quiet = CellMoments(spread(np.zeros(8)), TargetCases(*np.full((3, 8), 0.01)))
    weights = np.full(8, 0.5)
    inside = ((EXPECTED_RNG.random((N, 8)) < weights) + EXPECTED_RNG.normal(scale=0.1, size=(N, 8))) @ weights
    assert normal_sum(quiet, weights).variance == pytest.approx((inside.var() + 8 * 0.01 / 4) / 2, rel=0.02)


def test_vote_moments_match_simulation():
    chances, weights = (
        TargetCases(np.array([0.2, 0.5]), np.array([0.7, 0.6]), np.array([0.2, 0.5])),
        np.array([1.0, 0.5]),
    )
    law = normal_votes(chances, weights)
    outside = (EXPECTED_RNG.random((N, 2)) < chances.out) @ weights
    inside = (EXPECTED_RNG.random((N, 2)) < chances.member(weights)) @ weights
    assert law.without == pytest.approx(outside.mean(), abs=0.01)
    assert law.with_target == pytest.approx(inside.mean(), abs=0.01)
    assert law.variance == pytest.approx((outside.var() + inside.var()) / 2, rel=0.02)


def test_cells_may_differ_between_rounds():
    rows = TargetCases(
        np.array([[0.1, 0.2], [0.3, 0.4]]), np.full((2, 2), 0.8), np.array([[0.1, 0.2], [0.3, 0.4]])
    )
    law = normal_votes(rows, np.ones(2))
    assert law.without.tolist() == pytest.approx([0.3, 0.7])
    needed = votes_needed(law, np.ones(2), 0.1, rows.out)
    assert needed.tolist() == [2.0, 3.0]  # .28 and .58 of at least one vote, .02 and .12 of two


@pytest.mark.parametrize("fpr", [0.01, 0.05, 0.2])
def test_vote_threshold_keeps_target_fpr(fpr):
    alarms = EXPECTED_RNG.uniform(0.1, 0.6, 40)
    law = normal_votes(TargetCases(alarms, alarms + 0.2, alarms), np.ones(40))
    exact = votes_needed(law, np.ones(40), fpr, alarms)
    assert chance_of_votes(alarms, exact) <= fpr < chance_of_votes(alarms, exact - 1)
    normal = votes_needed(law, np.ones(40), fpr)
    assert abs(np.ceil(normal) - exact) <= 1


@pytest.mark.parametrize(("n", "fpr"), [(40, 0.02), (40, 0.05), (40, 0.1), (100, 0.05), (100, 0.1)])
def test_normal_vote_threshold_is_continuity_corrected(n, fpr):
    """Binomial(40, .3) reaches the normal threshold for .05 in .063 of cases, half a vote more in .032."""
    alarms = np.full(n, 0.3)
    law = normal_votes(TargetCases(alarms, 1 - alarms, alarms), np.ones(n))
    assert binom.sf(np.ceil(votes_needed(law, np.ones(n), fpr)) - 1, n, 0.3) <= fpr
    assert binom.sf(np.ceil(law.threshold(fpr)) - 1, n, 0.3) > fpr


def test_correlated_cells_need_more_votes():
    """One coin moves all cells: the Poisson-binomial law does not hold, the normal one about does."""
    low, high, n = 0.2, 0.5, 60
    alarms, shared = np.full(n, 0.35), n * (n - 1) * 0.15**2
    law = normal_votes(TargetCases(alarms, alarms + 0.2, alarms), np.ones(n), shared)
    drawn = EXPECTED_RNG.random((N // 10, n)) < np.where(EXPECTED_RNG.random((N // 10, 1)) < 0.5, low, high)
    needed = votes_needed(law, np.ones(n), 0.05, alarms, shared)
    assert (drawn.sum(axis=1) >= needed).mean() <= 0.05
    apart = votes_needed(
        normal_votes(TargetCases(alarms, alarms + 0.2, alarms), np.ones(n)), np.ones(n), 0.05, alarms
    )
    assert (drawn.sum(axis=1) >= apart).mean() > 0.2


def test_default_threshold_is_the_midpoint():
    law = normal_votes(TargetCases(np.full(4, 0.25), np.full(4, 0.75), np.full(4, 0.25)), np.ones(4))
    assert votes_needed(law, np.ones(4), None) == 2.0


CLAMPED = {**LAPLACE, "round": True, "clamp": True, "suppress": 1}
SEVERAL = {"targets": {"n": 3, "min_visits": 3}, "group_size": 30}


def seen_by(knowledge, challenger, n_rounds=4):
    members = challenger.flip(n_rounds, np.random.default_rng(1))
    return knowledge.view(challenger.release(members, np.random.default_rng(2)))


@pytest.mark.parametrize(
    ("mechanism", "knowledge", "parameters", "same"),
    [
        (LAPLACE, "auxiliary", {}, True),
        (CLAMPED, "auxiliary", {}, True),
        (LAPLACE, "informed", {}, True),
        (CLAMPED, "informed", {}, False),
        (CLAMPED, "partial", {"theta": 0.1}, False),
        (LAPLACE, "zero", {}, False),
    ],
)
def test_expectations_are_constant_or_per_round(mechanism, knowledge, parameters, same):
    assert same_every_round(build(knowledge, parameters, game(town(), mechanism), seed=1)) is same


def test_computed_thresholds_need_known_chain(tmp_path):
    pipeline_file(tmp_path, "def publish(counts, rng):\n    return counts\n")
    own = game(town(), {"name": "own", "release": "mine:publish"}, loader=UserCodeLoader(tmp_path))
    assert known_tail_distribution(build("auxiliary", {}, own, seed=1)) is None
    assert known_tail_distribution(build("past", {}, game(town()), seed=1)) is None
    assert known_tail_distribution(build("zero", {}, game(town()), seed=1)) is not None


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_known_people_are_added_to_expected_counts(relation):
    challenger = game(town(200), CLAMPED, relation=relation, **SEVERAL)
    knowledge = build("partial", {"theta": 0.5}, challenger, seed=1)
    seen, law = seen_by(knowledge, challenger), known_tail_distribution(knowledge)
    expectations = ExpectationsFromTraces.of(knowledge, law, fpr=0.2)
    for target, (found, voted) in enumerate(
        zip(expectations.moments(seen), expectations.votes(seen), strict=True)
    ):
        prior, cells = knowledge.prior(target, 0.0), knowledge.sketches[target].cells
        known = seen.known(cells)
        assert known.any()
        for round_ in range(4):
            for cell in range(cells.size):
                number = int(known[round_, cell])
                exact = cell_moments(law, prior, number)
                assert found.mean.there[round_, cell] == pytest.approx(exact.mean.there[cell])
                assert found.variance.out[round_, cell] == pytest.approx(exact.variance.out[cell])
                assert voted.cut[round_, cell] == cell_votes(law, prior, 0.2, number).cut[cell]


@pytest.mark.parametrize("mechanism", [LAPLACE, CLAMPED], ids=str)
def test_zero_knowledge_uses_estimated_profile(mechanism):
    challenger = game(town(200), mechanism, **SEVERAL)
    knowledge = build("zero", {}, challenger, seed=1)
    seen, law = seen_by(knowledge, challenger), known_tail_distribution(knowledge)
    habits = profiles_from_releases(seen.whole, knowledge.public)
    found = list(ExpectationsFromRelease.of_moments(knowledge, law).moments(seen))
    voted = list(ExpectationsFromRelease.of_votes(knowledge, law, None).votes(seen))
    for target, sketch in enumerate(knowledge.sketches):
        for round_, rates in enumerate(habits.rates(sketch.cells)):
            exact = cell_moments(law, knowledge.prior(target, rates))
            np.testing.assert_allclose(found[target].mean.out[round_], exact.mean.out, rtol=1e-3, atol=1e-3)
            middle = (exact.mean.out + exact.mean.there) / 2
            np.testing.assert_allclose(voted[target].cut[round_], middle, rtol=1e-3, atol=1e-3)


JOINT_RNG = np.random.default_rng(20240501)


def crowd(n_people=3_000):
    """Half of the people visit each of six cells often, the others hardly ever."""
    return JOINT_RNG.random((n_people, 6)) < np.where(JOINT_RNG.random((n_people, 1)) < 0.5, 0.5, 0.02)


def test_joint_visits_add_covariance():
    visits, steps = crowd(), np.array([1.0, 1.0, 0.5, 2.0, 0.0, 1.0])
    knowledge = build("auxiliary", {}, same_halves(visits, np.ones((1, 6)), RAW, group_size=51), seed=1)
    groups = np.array([visits[JOINT_RNG.integers(len(visits), size=50)].sum(axis=0) for _ in range(20_000)])
    together = (groups @ steps).var() - (groups.var(axis=0) * steps**2).sum()
    assert shared_variance(knowledge, 0, steps) == pytest.approx(together, rel=0.05)
    assert sampling_variance(knowledge, 0, steps) == pytest.approx(
        (groups @ steps).var() * 50 / 3_000, rel=0.05
    )


def test_other_targets_add_covariance():
    """Nobody else goes anywhere; two other targets are in by fair coins."""
    visits = np.zeros((63, 6))
    visits[0], visits[1, :3], visits[2, 1:2] = 1, 1, 1
    challenger = game(traces(visits), RAW, targets={"n": 3, "min_visits": 1})
    knowledge = build("auxiliary", {}, challenger, seed=1)
    steps = np.arange(1.0, 7.0)
    coins = JOINT_RNG.random((50_000, 2)) < 0.5
    sums = coins @ np.array([1.0 + 2.0 + 3.0, 2.0])
    apart = (1.0 + 4.0 + 9.0 + 4.0) / 4
    assert shared_variance(knowledge, 0, steps) == pytest.approx(sums.var() - apart, rel=0.03)


def test_informed_attacker_has_no_covariance():
    knowledge = build("informed", {}, same_halves(crowd(200), np.ones((1, 6)), RAW, group_size=51), seed=1)
    assert shared_variance(knowledge, 0, np.ones(6)) == 0.0
    assert sampling_variance(knowledge, 0, np.ones(6)) == 0.0
    expected = np.rint(50 * knowledge.visitors / 200)
    np.testing.assert_array_equal(typical_known(knowledge, 0), expected)


ROUND_RNG = np.random.default_rng(1)


def informed(mechanism, n_rounds=300):
    challenger = game(town(200), mechanism, **SEVERAL)
    knowledge = build("informed", {}, challenger, seed=1)
    members = challenger.flip(n_rounds, ROUND_RNG)
    return knowledge, members, knowledge.view(challenger.release(members, ROUND_RNG))


def scorers(knowledge, fpr=None):
    expectations, shared = (
        ExpectationsFromTraces.of(knowledge, known_tail_distribution(knowledge)),
        (0.0,) * len(knowledge.sketches),
    )
    return (
        kind(expectations, knowledge.sketches, shared, fpr)
        for kind in (PerRoundSumScorer, PerRoundVoteScorer)
    )


def test_unclamped_known_counts_are_subtracted():
    """Sums and votes of what is left, as the rules of a single threshold have them."""
    knowledge, _, seen = informed(LAPLACE)
    sums, votes = (scorer(seen, ROUND_RNG) for scorer in scorers(knowledge))
    for target, sketch in enumerate(knowledge.sketches):
        left = seen.at(sketch.cells) - seen.known(sketch.cells)
        coins = knowledge.prior(target, 0.0).coins
        middle = coins.sum() / 2 + sketch.cells.size / 2
        signs = np.sign(left.sum(axis=1) - middle)
        np.testing.assert_array_equal(np.sign(sums[:, target]), signs)
        assert np.corrcoef(sums[:, target], left.sum(axis=1))[0, 1] > 1 - 1e-9
        number = (left >= coins / 2 + 0.5).sum(axis=1)
        assert np.corrcoef(votes[:, target], number)[0, 1] > 1 - 1e-9


def test_known_counts_set_expectations_under_suppression():
    """Without noise, counts up to 5 published as 0: better than any threshold on what is beyond them."""
    knowledge, members, seen = informed({"name": "raw", "suppress": 5}, n_rounds=2_000)
    right = [(scorer(seen, ROUND_RNG) >= 0) == members for scorer in scorers(knowledge)]
    for target, sketch in enumerate(knowledge.sketches):
        left = (seen.at(sketch.cells) - seen.known(sketch.cells)).sum(axis=1)
        best = max(((left >= cut) == members[:, target]).mean() for cut in np.unique(left))
        assert min(found[:, target].mean() for found in right) > best + 0.05


def test_lower_fpr_needs_higher_threshold():
    knowledge, _, seen = informed(LAPLACE)
    for middle, strict in zip(scorers(knowledge), scorers(knowledge, fpr=1e-3), strict=True):
        assert (strict(seen, ROUND_RNG) < middle(seen, ROUND_RNG)).all()

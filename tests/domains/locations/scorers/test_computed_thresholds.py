import numpy as np
import pytest

from domains.locations.small_town import LAPLACE, RAW, game, pipeline_file, town, traces
from domains.locations.threshold_games import same_halves
from leakgauge.domains.locations.counts.cell_expectations import cell_moments, cell_votes
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.mobility.deconvolution import profiles_from_releases
from leakgauge.domains.locations.scorers.computed_thresholds import (
    ExpectationsFromRelease,
    ExpectationsFromTraces,
    PerRoundSumScorer,
    PerRoundVoteScorer,
    known_tail_distribution,
    same_every_round,
    sampling_variance,
    shared_variance,
    typical_known,
)
from leakgauge.support.user_code import UserCodeLoader

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

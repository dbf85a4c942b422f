import numpy as np

from domains.locations.small_town import LAPLACE, game, town
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.scorers.computed_thresholds import (
    ExpectationsFromTraces,
    PerRoundSumScorer,
    PerRoundVoteScorer,
    known_tail_distribution,
)

RNG = np.random.default_rng(1)
SEVERAL = {"targets": {"n": 3, "min_visits": 3}, "group_size": 30}


def informed(mechanism, n_rounds=300):
    challenger = game(town(200), mechanism, **SEVERAL)
    knowledge = build("informed", {}, challenger, seed=1)
    members = challenger.flip(n_rounds, RNG)
    return knowledge, members, knowledge.view(challenger.release(members, RNG))


def scorers(knowledge, fpr=None):
    expectations, shared = (
        ExpectationsFromTraces.of(knowledge, known_tail_distribution(knowledge)),
        (0.0,) * len(knowledge.sketches),
    )
    return (
        kind(expectations, knowledge.sketches, shared, fpr)
        for kind in (PerRoundSumScorer, PerRoundVoteScorer)
    )


def test_where_nothing_is_clamped_the_known_are_just_taken_off():
    """Sums and votes of what is left, as the rules of a single threshold have them."""
    knowledge, _, seen = informed(LAPLACE)
    sums, votes = (scorer(seen, RNG) for scorer in scorers(knowledge))
    for target, sketch in enumerate(knowledge.sketches):
        left = seen.at(sketch.cells) - seen.known(sketch.cells)
        coins = knowledge.prior(target, 0.0).coins
        middle = coins.sum() / 2 + sketch.cells.size / 2
        signs = np.sign(left.sum(axis=1) - middle)
        np.testing.assert_array_equal(np.sign(sums[:, target]), signs)
        assert np.corrcoef(sums[:, target], left.sum(axis=1))[0, 1] > 1 - 1e-9
        number = (left >= coins / 2 + 0.5).sum(axis=1)
        assert np.corrcoef(votes[:, target], number)[0, 1] > 1 - 1e-9


def test_where_counts_are_suppressed_known_ones_say_what_to_expect():
    """Without noise, counts up to 5 published as 0: better than any threshold on what is beyond them."""
    knowledge, members, seen = informed({"name": "raw", "suppress": 5}, n_rounds=2_000)
    right = [(scorer(seen, RNG) >= 0) == members for scorer in scorers(knowledge)]
    for target, sketch in enumerate(knowledge.sketches):
        left = (seen.at(sketch.cells) - seen.known(sketch.cells)).sum(axis=1)
        best = max(((left >= cut) == members[:, target]).mean() for cut in np.unique(left))
        assert min(found[:, target].mean() for found in right) > best + 0.05


def test_a_fixed_rate_asks_for_more():
    knowledge, _, seen = informed(LAPLACE)
    for middle, strict in zip(scorers(knowledge), scorers(knowledge, fpr=1e-3), strict=True):
        assert (strict(seen, RNG) < middle(seen, RNG)).all()

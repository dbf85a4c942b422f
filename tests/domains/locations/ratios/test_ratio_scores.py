import numpy as np
import pytest

from domains.locations.small_town import LAPLACE, game, town
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.habits.estimates import from_releases
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.ratios.group_fit import group_fit
from leakgauge.domains.locations.ratios.ratio_scores import (
    FittedRates,
    RatioScores,
    SeenRates,
    UsualRates,
    prepared,
)
from leakgauge.domains.locations.ratios.reference_rates import reference_rates
from leakgauge.strategies.count_ratios import log_ratios


@pytest.fixture(scope="module")
def setting():
    """A block, an adversary with a reference, and the rates that this suggests."""
    challenger = game(town(n_people=200), LAPLACE, group_size=60, targets=3)
    knowledge = build("auxiliary", {}, challenger, 1)
    members = challenger.flip(6, stream(1, Role.BITS))
    seen = knowledge.view(challenger.release(members, stream(1, Role.RELEASE)))
    usual = reference_rates(knowledge.reference)
    return knowledge, seen, usual, tuple(usual(sketch.cells) for sketch in knowledge.sketches)


def test_usual_rates_are_the_same_in_every_round(setting):
    _, seen, _, rates = setting
    assert UsualRates(rates).of(seen) is rates


def test_fitted_rates_are_the_usual_ones_times_the_factors_of_the_release(setting):
    knowledge, seen, usual, rates = setting
    fit = group_fit(knowledge.reference, knowledge.public.chain, 58, usual.everywhere)
    factors = fit.factors(seen.whole)
    for sketch, own, found in zip(
        knowledge.sketches, rates, FittedRates(rates, knowledge.sketches, fit).of(seen), strict=True
    ):
        np.testing.assert_allclose(found, own * factors.at(sketch.cells))
        assert found.shape == (6, sketch.cells.size)


def test_seen_rates_are_those_of_the_release(setting):
    knowledge, seen, _, _ = setting
    habits = from_releases(seen.whole, knowledge.public)
    for sketch, found in zip(
        knowledge.sketches, SeenRates(knowledge.public, knowledge.sketches).of(seen), strict=True
    ):
        np.testing.assert_allclose(found, habits.rates(sketch.cells))


def test_the_target_hardly_changes_the_rates_that_a_release_shows():
    """It is one of 60 people; with it in, the rates of its cells rise by little more than its share."""
    challenger = game(town(n_people=200), LAPLACE, group_size=60, targets=1)
    knowledge = build("zero", {}, challenger, 1)
    rates = SeenRates(knowledge.public, knowledge.sketches)
    means = []
    for bit in (False, True):
        members = np.full((40, 1), bit)
        seen = knowledge.view(challenger.release(members, stream(2, Role.RELEASE)))
        means.append(rates.of(seen)[0].mean())
    assert means[0] < means[1] < 1.1 * means[0]


@pytest.mark.parametrize("vary", [False, True])
def test_tables_change_nothing(setting, vary):
    knowledge, seen, _, rates = setting
    law = knowledge.public.chain
    priors = tuple(knowledge.prior(target, 0.0) for target in range(3))
    scores = RatioScores(
        prepared(law, priors, rates, 0, vary=vary), knowledge.sketches, priors, UsualRates(rates), 0
    )(seen, stream(1, Role.SCORE))
    for target, (sketch, prior, own) in enumerate(zip(knowledge.sketches, priors, rates, strict=True)):
        fresh = type(prior)(own, prior.n_in, prior.n_out, prior.coins)
        expected = log_ratios(law, seen.at(sketch.cells), 0, fresh).sum(axis=1)
        np.testing.assert_allclose(scores[:, target], expected, atol=2e-3)

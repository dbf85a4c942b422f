import os
import pickle
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import betabinom, binom

from domains.locations.small_town import LAPLACE, RAW, game, pipeline_file, town
from domains.locations.test_real_data import KUALA_LUMPUR, weeks
from domains.locations.threshold_games import alone_with, play_out, same_halves
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations import DOMAIN
from leakgauge.domains.locations import challenger as challengers
from leakgauge.domains.locations.attacks.likelihood import (
    Attack,
    FixedRates,
    GroupFittedRates,
    LikelihoodRatioScorer,
    RateEstimate,
    ReleaseRates,
    precompute_for_targets,
    release_distribution,
    score_shadows,
)
from leakgauge.domains.locations.counts.count_priors import round_shapes
from leakgauge.domains.locations.counts.count_ratios import log_ratios
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.mobility.cell_rates import rates_from_past, rates_from_reference
from leakgauge.domains.locations.mobility.deconvolution import profiles_from_releases, shapes_of_releases
from leakgauge.domains.locations.mobility.group_effects import group_effects_model
from leakgauge.domains.locations.release_chain import ReleaseChain
from leakgauge.support.user_code import UserCodeLoader
from leakgauge.theory.loss_composition import best_attack, cells_under_laplace
from mechanisms import independent_optimum

COINS = """
import numpy as np
def publish(counts, rng):
    return counts + rng.integers(0, 2, size=counts.shape)
def law(outputs, counts):
    return np.where((outputs == counts) | (outputs == counts + 1), np.log(0.5), -np.inf)
"""


def knowledge(name, folder, **mechanism):
    pipeline_file(folder, COINS)
    table = {"name": "own", "release": "mine:publish", **mechanism}
    return build(name, {}, game(town(n_people=200), table, loader=UserCodeLoader(folder), group_size=60), 1)


def rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize("name", ["auxiliary", "past", "zero"])
def test_chain_provides_its_distribution(name):
    challenger = game(town(), {"name": "laplace", "epsilon": 1.0})
    law = release_distribution(build(name, {}, challenger, 1), rng())
    assert isinstance(law, ReleaseChain)
    assert law is challenger.chain


@pytest.mark.parametrize("name", ["auxiliary", "past", "zero"])
def test_declared_distribution_is_used(tmp_path, name):
    law = release_distribution(knowledge(name, tmp_path, law="mine:law"), rng())
    np.testing.assert_allclose(np.exp(law.log_law(np.arange(4.0), np.full(4, 1.0))), [0, 0.5, 0.5, 0])


def test_distribution_is_learned_from_known_people(tmp_path):
    law = release_distribution(knowledge("auxiliary", tmp_path), rng())
    found = np.exp(law.log_law(np.arange(12, 18.0), np.full(6, 14.0)))
    np.testing.assert_allclose(found, [0, 0, 0.5, 0.5, 0, 0], atol=0.02)
    assert law.whole


@pytest.mark.parametrize("name", ["past", "zero"])
def test_attacker_without_traces_gets_advice(tmp_path, name):
    with pytest.raises(
        BadInput, match=rf"knowledge '{name}' .*set mechanism\.law, or use knowledge = \"auxiliary\""
    ):
        release_distribution(knowledge(name, tmp_path), rng())


@pytest.fixture(scope="module")
def setting():
    """A block, an attacker with a reference, and the rates that this suggests."""
    challenger = game(town(n_people=200), LAPLACE, group_size=60, targets=3)
    knowledge = build("auxiliary", {}, challenger, 1)
    members = challenger.flip(6, stream(1, Role.BITS))
    seen = knowledge.view(challenger.release(members, stream(1, Role.RELEASE)))
    usual = rates_from_reference(knowledge.reference)
    estimates = (
        RateEstimate(usual(sketch.cells), usual.shapes(sketch.cells)) for sketch in knowledge.sketches
    )
    return knowledge, seen, usual, tuple(estimates)


def test_prior_rates_are_constant_over_rounds(setting):
    _, seen, _, rates = setting
    assert FixedRates(rates).of(seen) is rates


def test_fitted_rates_multiply_prior_by_factors(setting):
    knowledge, seen, usual, rates = setting
    fit = group_effects_model(knowledge.reference, knowledge.public.chain, 58, usual.everywhere)
    factors = fit.factors(seen.whole)
    for sketch, own, found in zip(
        knowledge.sketches, rates, GroupFittedRates(rates, knowledge.sketches, fit).of(seen), strict=True
    ):
        np.testing.assert_allclose(found.rates, own.rates * factors.at(sketch.cells))
        assert found.rates.shape == (6, sketch.cells.size)
        np.testing.assert_array_equal(found.shapes, own.shapes)


def test_zero_knowledge_rates_come_from_release(setting):
    knowledge, seen, _, _ = setting
    habits = profiles_from_releases(seen.whole, knowledge.public)
    shapes = shapes_of_releases(seen.whole, habits, knowledge.public)[:, None]
    for sketch, found in zip(
        knowledge.sketches, ReleaseRates(knowledge.public, knowledge.sketches).of(seen), strict=True
    ):
        np.testing.assert_allclose(found.rates, habits.rates(sketch.cells) * (1 + 1 / shapes))
        np.testing.assert_allclose(found.shapes, np.broadcast_to(shapes + 1, found.rates.shape), rtol=0.026)


def test_target_barely_changes_estimated_rates():
    """It is one of 60 people; with it in, the rates of its cells rise by little more than its share."""
    challenger = game(town(n_people=200), LAPLACE, group_size=60, targets=1)
    knowledge = build("zero", {}, challenger, 1)
    rates = ReleaseRates(knowledge.public, knowledge.sketches)
    means = []
    for bit in (False, True):
        members = np.full((40, 1), bit)
        seen = knowledge.view(challenger.release(members, stream(2, Role.RELEASE)))
        means.append(rates.of(seen)[0].rates.mean())
    assert means[0] < means[1] < 1.1 * means[0]


@pytest.mark.parametrize("factor", [None, 1.01, 4.0])
def test_precomputed_tables_change_no_score(setting, factor):
    knowledge, seen, _, rates = setting
    factors = None if factor is None else [np.full(own.rates.size, factor) for own in rates]
    law = knowledge.public.chain
    priors = tuple(knowledge.prior(target, 0.0) for target in range(3))
    scores = LikelihoodRatioScorer(
        precompute_for_targets(law, priors, rates, 0, factors),
        knowledge.sketches,
        priors,
        FixedRates(rates),
        0,
    )(seen, stream(1, Role.SCORE))
    for target, (sketch, prior, own) in enumerate(zip(knowledge.sketches, priors, rates, strict=True)):
        fresh = replace(prior, rates=own.rates, shapes=own.shapes)
        expected = log_ratios(law, seen.at(sketch.cells), 0, fresh).sum(axis=1)
        np.testing.assert_allclose(scores[:, target], expected, atol=2e-3)


def tried(challenger, name="auxiliary", n=2_000, **parameters):
    knowledge = build(name, parameters, challenger, 1)
    rates = [knowledge.visitors[sketch.cells] / knowledge.reference.n_people for sketch in knowledge.sketches]
    certain = [RateEstimate(own, np.full(own.size, np.inf)) for own in rates]
    return score_shadows(
        knowledge, partial(log_ratios, knowledge.public.chain), certain, n, np.random.default_rng(1)
    )


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize(
    ("name", "parameters"), [("auxiliary", {}), ("partial", {"theta": 0.5}), ("informed", {})]
)
def test_shadow_scores_are_log_likelihood_ratios(name, parameters, relation):
    """Non-members have a mean likelihood ratio of one; cells are independent here, and groups small."""
    crowd = town(n_people=800, n_places=10, density=0.05)
    challenger = game(crowd, LAPLACE, targets={"n": 2, "min_visits": 3}, relation=relation, group_size=20)
    for one in tried(challenger, name, 4_000, **parameters):
        assert one.members.sum() == 2_000
        ratios = np.exp(one.scores[~one.members])
        assert ratios.mean() == pytest.approx(1.0, abs=4 * ratios.std() / np.sqrt(2_000))
        assert one.scores[one.members].mean() > one.scores[~one.members].mean()


CHAINS = {
    "chain": {"name": "laplace", "epsilon": 1.0, "round": True, "clamp": True, "suppress": 1},
    "unrounded": {"name": "laplace", "epsilon": 1.0},
    "gaussian": {"name": "gaussian", "sigma": 1.5, "delta": 1e-5},
    "geometric": {"name": "geometric", "epsilon": 1.0, "clamp": True},
    "suppressed": {"name": "raw", "suppress": 1},
}
EVERY = {
    "informed": {},
    "partial": {"theta": 0.5},
    "auxiliary": {},
    "past": {"releases": 60},
    "zero": {},
    "friends": {"friends": 3},
}
PLAIN = Attack(fit="never", shadows=0)


@dataclass(frozen=True, eq=False)
class Block:
    """What an attacker may look at in a block, and nothing else."""

    whole: np.ndarray
    counts: np.ndarray  # of the people it knows
    n_rounds: int

    def at(self, columns):
        return self.whole[:, columns]

    def known(self, columns):
        return self.counts[:, columns]

    def once(self, key, make):
        return make(self.whole)


def studied(challenger, name, attack=PLAIN, seed=1, **parameters):
    knowledge = build(name, parameters or EVERY[name], challenger, 1)
    return knowledge, attack.study(knowledge, stream(seed, Role.STUDY))


def block(challenger, knowledge, n_rounds=5):
    """A block as the knowledge shows it, copied."""
    members = challenger.flip(n_rounds, stream(3, Role.BITS))
    seen = knowledge.view(challenger.release(members, stream(3, Role.RELEASE)))
    everything = np.arange(challenger.traces.map.n_cells)
    return members, Block(seen.whole, seen.known(everything), n_rounds)


def by_hand(chain, seen, cells, rates, shapes, n_in, n_out, coins, weights=None):
    """The sum over cells of log ratios, by plain sums over all counts, with SciPy's beta-binomial laws."""
    weights, coins = np.ones(cells.size) if weights is None else weights, np.broadcast_to(coins, cells.shape)
    scores = np.zeros(seen.n_rounds)
    for i in range(seen.n_rounds):
        row, own = (np.broadcast_to(some, (seen.n_rounds, cells.size))[i] for some in (rates, shapes))
        for cell, rate, shape, coin, weight in zip(cells, row, own, coins, weights, strict=True):
            output, known = seen.whole[i, cell], seen.counts[i, cell]
            worlds = []
            for n, added in ((n_in, 1), (n_in, 0), (n_out, 0)):
                others = betabinom.pmf(np.arange(n + 1), n, shape, shape * (1 - rate) / rate)
                if np.isinf(shape):
                    others = binom.pmf(np.arange(n + 1), n, rate)
                law = np.convolve(others, binom.pmf(np.arange(coin + 1), coin, 0.5))
                counts = known + np.arange(law.size) + added
                worlds.append(law @ np.exp(chain.log_law(np.full(law.size, output), counts)))
            there, away, out = worlds
            inside = weight * there + (1 - weight) * away
            if inside > 0 and out > 0:
                scores[i] += np.log(inside / out)
            elif inside != out:
                scores[i] += 1e6 if inside > 0 else -1e6
    return scores


def test_accepts_every_knowledge():
    assert set(Attack.accepts) == set(DOMAIN.knowledge_terms) == set(EVERY)


@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
@pytest.mark.parametrize("mechanism", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("name", ["auxiliary", "partial", "informed", "friends"])
def test_score_is_log_likelihood_ratio_summed_over_cells(name, mechanism, relation):
    challenger = game(town(), mechanism, targets=3, relation=relation)
    knowledge, scorer = studied(challenger, name)
    _, seen = block(challenger, knowledge)
    scores = scorer.score(seen, stream(1, Role.SCORE))
    usual = rates_from_reference(knowledge.reference)
    for target, sketch in enumerate(knowledge.sketches):
        prior = knowledge.prior(target, 0.0)
        rates = usual(sketch.cells, sketch.weights)
        expected = by_hand(
            knowledge.public.chain,
            seen,
            sketch.cells,
            rates,
            usual.shapes(sketch.cells, sketch.weights),
            prior.n_in,
            prior.n_out,
            prior.coins,
            sketch.weights,
        )
        np.testing.assert_allclose(scores[:, target], expected, atol=2e-3)


@pytest.mark.parametrize("mechanism", CHAINS.values(), ids=CHAINS)
def test_with_zero_knowledge_rates_come_from_each_release(mechanism):
    challenger = game(town(n_people=200), mechanism, group_size=60, targets=3)
    knowledge, scorer = studied(challenger, "zero")
    assert isinstance(scorer.score.rates, ReleaseRates)
    _, seen = block(challenger, knowledge, n_rounds=3)
    scores = scorer.score(seen, stream(1, Role.SCORE))
    found = profiles_from_releases(seen.whole, knowledge.public)
    shapes = shapes_of_releases(seen.whole, found, knowledge.public)[:, None]
    for target, sketch in enumerate(knowledge.sketches):
        prior = knowledge.prior(target, np.zeros(sketch.cells.size))
        expected = by_hand(
            knowledge.public.chain,
            seen,
            sketch.cells,
            found.rates(sketch.cells) * (1 + 1 / shapes),  # one visit more, that of the target
            round_shapes(shapes + 1),
            prior.n_in,
            prior.n_out,
            prior.coins,
        )
        np.testing.assert_allclose(scores[:, target], expected, atol=2e-3)


def test_earlier_releases_give_rates_without_target():
    challenger = game(town(n_people=200), CHAINS["chain"], group_size=60, targets=3)
    knowledge, scorer = studied(challenger, "past", releases=300)
    _, seen = block(challenger, knowledge, n_rounds=3)
    scores = scorer.score(seen, stream(1, Role.SCORE))
    for target, (sketch, (rates, shapes)) in enumerate(
        zip(knowledge.sketches, rates_from_past(knowledge, knowledge.public.chain), strict=True)
    ):
        expected = by_hand(knowledge.public.chain, seen, sketch.cells, rates, shapes, 58, 58, 0)
        np.testing.assert_allclose(scores[:, target], expected, atol=2e-3)


def test_informed_score_is_clipped_sum():
    """|y - c| - |y - c - 1| over the scale: the likelihood ratio of Laplace noise."""
    challenger = game(town(), {"name": "laplace", "scale": 2.0})
    knowledge, scorer = studied(challenger, "informed")
    _, seen = block(challenger, knowledge)
    cells = knowledge.sketches[0].cells
    beyond = seen.at(cells) - seen.known(cells)
    expected = ((np.abs(beyond) - np.abs(beyond - 1)) / 2.0).sum(axis=1)
    np.testing.assert_allclose(scorer.score(seen, stream(1, Role.SCORE))[:, 0], expected, atol=1e-6)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("mechanism", [*CHAINS.values(), RAW], ids=[*CHAINS, "raw"])
def test_scores_are_finite_reproducible_and_can_be_pickled(name, mechanism):
    challenger = game(town(n_people=120), mechanism, targets=3)
    knowledge, scorer = studied(challenger, name)
    _, seen = block(challenger, knowledge)
    scores = scorer.score(seen, stream(1, Role.SCORE))
    assert scores.shape == (5, 3)
    assert np.isfinite(scores).all()
    again = pickle.loads(pickle.dumps(scorer)).score(seen, stream(1, Role.SCORE))
    np.testing.assert_array_equal(scores, again)


def test_raw_counts_reveal_everyone_to_informed_attacker():
    outcome = play_out(game(town(), RAW), PLAIN, "informed", rounds=200, block=100)
    np.testing.assert_array_equal(outcome.says, outcome.members)


def test_empty_cell_proves_absence():
    challenger = game(town(n_people=120, density=0.05), RAW)
    knowledge, scorer = studied(challenger, "auxiliary")
    members, seen = block(challenger, knowledge, n_rounds=50)
    scores = scorer.score(seen, stream(1, Role.SCORE))[:, 0]
    empty = (seen.at(knowledge.sketches[0].cells) == 0).any(axis=1)
    assert empty.any()
    assert (scores[empty] < -1e5).all()
    assert not members[empty, 0].any()


@pytest.mark.parametrize("name", EVERY)
def test_every_knowledge_separates_members(name):
    crowd = town(n_people=300, n_places=8, n_epochs=12, density=0.05, seed=3)
    challenger = game(
        crowd, {"name": "laplace", "epsilon": 2.0}, group_size=80, targets={"n": 4, "min_visits": 6}
    )
    outcome = play_out(challenger, PLAIN, name, EVERY[name], rounds=200, block=200)
    assert outcome.auc > (0.5 if name == "friends" else 0.75)  # nobody in this town has friends
    assert outcome.scorer.reading.threshold == 0
    assert outcome.scorer.reading.signed


def test_more_knowledge_is_better():
    crowd = town(n_people=300, n_places=8, n_epochs=12, density=0.05, seed=3)
    challenger = game(crowd, LAPLACE, group_size=80, targets={"n": 5, "min_visits": 7})

    def auc(name, **parameters):
        return play_out(challenger, PLAIN, name, parameters, rounds=400, block=400).auc

    by_trace = [auc("auxiliary", trace=share) for share in (0.25, 0.5, 1.0)]
    by_others = [auc("auxiliary"), auc("partial", theta=0.6), auc("informed")]
    assert by_trace == sorted(by_trace)
    assert by_others == sorted(by_others)


def test_dependent_people_are_recognised_by_whole_release():
    """Half of the people are often everywhere, half are hardly anywhere: some groups are busier."""
    rng = np.random.default_rng(4)
    active = rng.random((400, 1)) < 0.5
    visits = rng.random((400, 240)) < np.where(active, 0.3, 0.01)
    target = np.zeros((1, 240), dtype=bool)
    target[0, rng.permutation(240)[:40]] = True
    challenger = same_halves(visits, target, LAPLACE, n_epochs=24, group_size=60)
    never, fitted = (
        play_out(challenger, Attack(fit=fit, shadows=0), "auxiliary", rounds=400, block=200)
        for fit in ("never", "always")
    )
    assert fitted.auc > never.auc + 0.05


def test_rates_are_fitted_unless_asked_otherwise():
    challenger = game(town(n_people=300, density=0.05), targets=3, group_size=60)
    _, scorer = studied(challenger, "auxiliary", Attack())
    assert isinstance(scorer.score.rates, GroupFittedRates)
    assert isinstance(studied(challenger, "auxiliary", PLAIN)[1].score.rates, FixedRates)


def test_partial_knowledge_of_group_fits_nothing():
    challenger = game(town(), targets=3)
    _, scorer = studied(challenger, "partial", Attack(fit="always"))
    assert isinstance(scorer.score.rates, FixedRates)


def test_shadows_fix_share_of_guesses_in_advance():
    challenger = game(town(), targets=3)
    none = studied(challenger, "auxiliary", Attack(shadows=0, fit="never"))[1]
    some = studied(challenger, "auxiliary", Attack())[1]
    assert none.reading.fraction is None
    assert 0 < some.reading.fraction <= 1


def own(folder, text, **parameters):
    pipeline_file(folder, text)
    crowd = town(n_people=300, n_places=6, n_epochs=8, seed=2)
    mechanism = {"name": "own", "release": "mine:publish", **parameters}
    return game(crowd, mechanism, loader=UserCodeLoader(folder), group_size=80, targets=3)


NOISY = """
import numpy as np
def publish(counts, rng):
    return counts + np.floor(rng.laplace(size=counts.shape))
def law(outputs, counts):
    steps = np.where(outputs >= counts, outputs - counts, counts - outputs - 1)
    return np.log((1 - np.exp(-1)) / 2) - steps
"""


def test_declared_distribution_of_pipeline_is_used(tmp_path):
    """Laplace noise rounded down: with x steps above or -1 - x below, e^-x (1 - 1/e) / 2."""
    mine = own(tmp_path, NOISY, law="mine:law")
    named = game(mine.traces, {"name": "laplace", "scale": 1.0, "round": True}, group_size=80, targets=3)
    for name in ("auxiliary", "informed", "zero", "past"):
        knowledge, scorer = studied(mine, name)
        _, seen = block(mine, knowledge, n_rounds=4)
        found = scorer.score(seen, stream(1, Role.SCORE))
        if name != "past":  # whose earlier releases have other noise
            expected = studied(named, name)[1].score(seen, stream(1, Role.SCORE))
            np.testing.assert_allclose(found, expected, atol=2e-3)
        assert np.isfinite(found).all()


def test_undeclared_distribution_of_pipeline_is_learned(tmp_path):
    mine = own(tmp_path, NOISY)
    for name in ("auxiliary", "informed"):
        learned = play_out(mine, PLAIN, name, rounds=300, block=300)
        given = play_out(own(tmp_path, NOISY, law="mine:law"), PLAIN, name, rounds=300, block=300)
        assert learned.auc == pytest.approx(given.auc, abs=0.02)
        assert np.corrcoef(learned.scores.ravel(), given.scores.ravel())[0, 1] > 0.98


@pytest.mark.parametrize("name", ["zero", "past"])
def test_pipeline_without_traces_needs_declared_distribution(tmp_path, name):
    with pytest.raises(BadInput, match=rf"knowledge '{name}' has no traces .* set mechanism\.law, or use"):
        studied(own(tmp_path, NOISY), name)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"shadows": 5}, "shadows must be 0 or >= 10, got 5"),
    ],
)
def test_rejects_odd_parameters(parameters, problem):
    with pytest.raises(BadInput, match=problem):
        Attack(**parameters)


# -- figures known from elsewhere ---------------------------------------------------------------------------


def test_laplace_accuracy_matches_optimum_on_60_cells():
    """Balanced accuracy .9639, AUC .9945: the optimum by convolution of privacy losses."""
    challenger = alone_with(60, 40, {"name": "laplace", "epsilon": 0.5})
    outcome = play_out(challenger, Attack(), "informed", rounds=50_000, block=10_000)
    best = best_attack(cells_under_laplace(np.ones(60), 2.0))
    assert outcome.accuracy == pytest.approx(0.964, abs=0.005)
    assert outcome.accuracy <= best.accuracy[1] + 3 * np.sqrt(0.964 * 0.036 / 50_000)
    assert pooled_auc(outcome) <= best.auc[1] + 0.001


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize(
    ("mechanism", "losses"),
    [
        ({"name": "logistic", "scale": 2.0}, independent_optimum.logistic_losses(2.0)),
        (
            {"name": "discrete_gaussian", "sigma": 3.0, "delta": 1e-5},
            independent_optimum.discrete_gaussian_losses(3.0),
        ),
    ],
    ids=["logistic", "discrete_gaussian"],
)
def test_other_noise_matches_optimum_on_20_cells(mechanism, losses, rounded):
    """The optimum by adding up privacy losses; rounding changes it only where the noise is not whole."""
    challenger = alone_with(20, 40, mechanism | {"round": rounded})
    outcome = play_out(challenger, Attack(), "informed", rounds=4_000, block=2_000)
    expected = independent_optimum.best_accuracy(*losses, 20)
    error = np.sqrt(expected * (1 - expected) / 4_000)
    assert outcome.accuracy <= expected + 4 * error
    if mechanism["name"] == "discrete_gaussian" or not rounded:
        assert outcome.accuracy == pytest.approx(expected, abs=4 * error)


def pooled_auc(outcome):
    """By ranks, without ties."""
    order = outcome.scores.ravel().argsort().argsort() + 1.0
    members = outcome.members.ravel()
    n_in, n_out = members.sum(), (~members).sum()
    return (order[members].sum() - n_in * (n_in + 1) / 2) / (n_in * n_out)


def one_percent_everywhere(n_people, n_cells, seed=0):
    """In every cell exactly one person in a hundred."""
    rng = np.random.default_rng(seed)
    visits = np.zeros((n_people, n_cells), dtype=np.uint8)
    for cell in range(n_cells):
        visits[rng.permutation(n_people)[: n_people // 100], cell] = 1
    return visits


def test_auxiliary_accuracy_matches_liu24_figure_7():
    """2,000 of 10,000 people, of whom 1 % visit each of 60 cells; Laplace noise of epsilon 0.5: .788."""
    visits = one_percent_everywhere(10_000, 60)
    challenger = same_halves(visits, np.ones((1, 60)), {"name": "laplace", "epsilon": 0.5}, group_size=2_000)
    outcome = play_out(challenger, Attack(), "auxiliary", rounds=20_000, block=2_000)
    assert outcome.accuracy == pytest.approx(0.788, abs=0.01)


CITY = {"group_size": 1000, "reference": 0.5, "splits": 1, "targets": {"n": 50, "min_visits": 10}}
STEPS = {"round": True, "clamp": True}


def built(data, mechanism, folder=Path(), **challenger):
    return challengers.build(data=data, challenger=challenger, mechanism=mechanism, folder=folder, seed=1)


@pytest.mark.parametrize(
    ("mechanism", "expected"),
    [
        pytest.param({"name": "laplace", "epsilon": 1.0, **STEPS}, 0.941, marks=pytest.mark.nightly),
        pytest.param({"name": "laplace", "epsilon": 0.5, **STEPS}, 0.866, marks=pytest.mark.nightly),
        ({"name": "raw", "suppress": 1}, 0.975),
    ],
    ids=["epsilon 1", "epsilon 0.5", "suppressed"],
)
def test_milan_sized_city_matches_first_trial(mechanism, expected):
    """The first trial of this attack, on another city of that size: .941, .866 and .975 with a reference."""
    challenger = built({}, mechanism, **CITY)
    auxiliary = play_out(challenger, Attack(), "auxiliary", rounds=100, block=100)
    zero = play_out(challenger, Attack(), "zero", rounds=100, block=100)
    usual = play_out(challenger, Attack(fit="never"), "auxiliary", rounds=100, block=100)
    assert auxiliary.auc > expected - 0.015
    assert zero.auc > auxiliary.auc - 0.02
    assert auxiliary.auc > usual.auc


@pytest.mark.skipif(
    "LEAKGAUGE_DATA" not in os.environ,
    reason="real data are not part of the package; LEAKGAUGE_DATA names their folder",
)
@pytest.mark.parametrize(
    ("mechanism", "expected"),
    [
        pytest.param({"name": "laplace", "epsilon": 1.0, **STEPS}, 0.972, marks=pytest.mark.nightly),
        pytest.param({"name": "laplace", "epsilon": 0.5, **STEPS}, 0.897, marks=pytest.mark.nightly),
        ({"name": "laplace", "epsilon": 1.0, "clamp": True, "suppress": 1}, 0.962),
    ],
    ids=["epsilon 1", "epsilon 0.5", "suppressed"],
)
def test_kuala_lumpur_matches_first_trial(mechanism, expected):
    """The first trial on these check-ins, other targets: .972, .897 and .962 with a reference."""
    challenger = built(KUALA_LUMPUR | weeks(4), mechanism, Path(os.environ["LEAKGAUGE_DATA"]), **CITY)
    auxiliary = play_out(challenger, Attack(), "auxiliary", rounds=100, block=100)
    zero = play_out(challenger, Attack(), "zero", rounds=30, block=30)
    assert auxiliary.auc > expected - 0.02
    assert zero.auc > auxiliary.auc - 0.03

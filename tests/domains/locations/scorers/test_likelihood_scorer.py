import numpy as np
import pytest
from scipy.special import ndtr

from domains.locations.small_town import LAPLACE, game, pipeline_file, town, traces
from leakgauge.core.errors import BadInput
from leakgauge.core.randomness import Role, stream
from leakgauge.domains.locations.counts.count_ratios import log_ratios
from leakgauge.domains.locations.knowledge import build
from leakgauge.domains.locations.mobility.cell_rates import rates_from_reference
from leakgauge.domains.locations.mobility.deconvolution import profiles_from_releases
from leakgauge.domains.locations.mobility.group_effects import group_effects_model
from leakgauge.domains.locations.release_chain.chain import ReleaseChain
from leakgauge.domains.locations.scorers.likelihood_scorer import (
    FixedRates,
    GroupFittedRates,
    LikelihoodRatioScorer,
    ReleaseRates,
    _auc_lost_to_joint_visits,
    precompute_for_targets,
    release_distribution,
    score_shadows,
)
from leakgauge.support.user_code import UserCodeLoader

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
    return knowledge, seen, usual, tuple(usual(sketch.cells) for sketch in knowledge.sketches)


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
        np.testing.assert_allclose(found, own * factors.at(sketch.cells))
        assert found.shape == (6, sketch.cells.size)


def test_zero_knowledge_rates_come_from_release(setting):
    knowledge, seen, _, _ = setting
    habits = profiles_from_releases(seen.whole, knowledge.public)
    for sketch, found in zip(
        knowledge.sketches, ReleaseRates(knowledge.public, knowledge.sketches).of(seen), strict=True
    ):
        np.testing.assert_allclose(found, habits.rates(sketch.cells))


def test_target_barely_changes_estimated_rates():
    """It is one of 60 people; with it in, the rates of its cells rise by little more than its share."""
    challenger = game(town(n_people=200), LAPLACE, group_size=60, targets=1)
    knowledge = build("zero", {}, challenger, 1)
    rates = ReleaseRates(knowledge.public, knowledge.sketches)
    means = []
    for bit in (False, True):
        members = np.full((40, 1), bit)
        seen = knowledge.view(challenger.release(members, stream(2, Role.RELEASE)))
        means.append(rates.of(seen)[0].mean())
    assert means[0] < means[1] < 1.1 * means[0]


@pytest.mark.parametrize("vary", [False, True])
def test_precomputed_tables_change_no_score(setting, vary):
    knowledge, seen, _, rates = setting
    law = knowledge.public.chain
    priors = tuple(knowledge.prior(target, 0.0) for target in range(3))
    scores = LikelihoodRatioScorer(
        precompute_for_targets(law, priors, rates, 0, vary=vary),
        knowledge.sketches,
        priors,
        FixedRates(rates),
        0,
    )(seen, stream(1, Role.SCORE))
    for target, (sketch, prior, own) in enumerate(zip(knowledge.sketches, priors, rates, strict=True)):
        fresh = type(prior)(own, prior.n_in, prior.n_out, prior.coins)
        expected = log_ratios(law, seen.at(sketch.cells), 0, fresh).sum(axis=1)
        np.testing.assert_allclose(scores[:, target], expected, atol=2e-3)


def tried(challenger, name="auxiliary", n=2_000, **parameters):
    knowledge = build(name, parameters, challenger, 1)
    rates = [knowledge.visitors[sketch.cells] / knowledge.reference.n_people for sketch in knowledge.sketches]
    return score_shadows(knowledge, knowledge.public.chain, rates, n, np.random.default_rng(1))


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


def test_independent_cells_have_no_correlation_cost():
    rng = np.random.default_rng(2)
    members = rng.random(4_000) < 0.5
    ratios = rng.normal(np.where(members, 0.1, -0.1)[:, None], 1.0, size=(4_000, 20))
    assert _auc_lost_to_joint_visits(ratios, members) == pytest.approx(0.0, abs=0.01)


def test_correlation_cost_is_difference_of_normal_aucs():
    """Twenty cells with a common part: variances 20 x 2 apart, 20 x 1 + 400 x 1 together."""
    rng = np.random.default_rng(3)
    members = rng.random(40_000) < 0.5
    common = rng.normal(size=(40_000, 1))
    ratios = rng.normal(np.where(members, 0.2, -0.2)[:, None], 1.0, size=(40_000, 20)) + common
    distance = 20 * 0.4
    expected = ndtr(distance / np.sqrt(2 * 40)) - ndtr(distance / np.sqrt(2 * 420))
    assert _auc_lost_to_joint_visits(ratios, members) == pytest.approx(expected, abs=0.01)


def test_certain_cell_does_not_hide_others():
    ratios = np.array([[1e6, 1.0], [-1e6, -1.0], [1e6, 0.5], [-1e6, -0.5]])
    assert abs(_auc_lost_to_joint_visits(ratios, np.array([True, False, True, False]))) < 1
    assert _auc_lost_to_joint_visits(np.zeros((4, 2)), np.array([True, False, True, False])) == 0


def test_dependent_people_correlate_cells():
    rng = np.random.default_rng(4)
    active = rng.random((300, 1)) < 0.5
    visits = rng.random((300, 60)) < np.where(active, 0.4, 0.01)
    challenger = game(traces(visits), LAPLACE, targets={"n": 1, "choose": "most"}, group_size=60)
    (found,) = tried(challenger)
    assert found.auc_loss > 0.02

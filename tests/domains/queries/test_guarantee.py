import numpy as np
import pytest
from scipy.stats import norm

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Coins, Reading, Trials
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.domains.queries.guarantee import guarantee_of_answers, least_epsilon, oracle_guarantee
from leakgauge.domains.queries.oracle import AnswerCache, OracleRules
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.plan import MetricsTable
from leakgauge.theory.tradeoff import max_tpr
from leakgauge.verdict import decide_finding


def rules(noise, **changed):
    return OracleRules(noise=noise, **({"budget": 3.0} | changed))


@pytest.mark.parametrize("accountant", ["sequential", "per_predicate"])
@pytest.mark.parametrize("noise", [laplace.Mechanism(epsilon=0.3), geometric.Mechanism(epsilon=0.3)])
def test_sound_accountant_promises_affordable_answers(noise, accountant):
    found = oracle_guarantee(rules(noise, accountant=accountant), None)
    assert found.epsilon == pytest.approx(3.0)
    assert (found.unit, found.relation, found.delta) == (Unit.RECORD, Relation.ADD_REMOVE, 0.0)
    assert found.nominal_epsilon == pytest.approx(0.3)
    assert found.composed.parts == 10
    fpr = np.linspace(0, 1, 101)
    assert (np.interp(fpr, found.curve.fpr, found.curve.tpr) <= max_tpr(fpr, found) + 1e-9).all()


def test_budget_is_rounded_down_to_whole_answers():
    assert oracle_guarantee(rules(laplace.Mechanism(epsilon=0.7)), None).epsilon == pytest.approx(2.8)


def test_curve_matches_optimal_attack_on_all_answers():
    found = oracle_guarantee(rules(gaussian.Mechanism(sigma=2.0, delta=1e-5), budget=20.0), None)
    n = found.composed.parts
    fpr = np.array([0.01, 0.1, 0.5])
    exact = norm.sf(norm.isf(fpr) - np.sqrt(n) / 2)
    np.testing.assert_allclose(np.interp(fpr, found.curve.fpr, found.curve.tpr), exact, atol=2e-3)


def test_sums_have_same_promise_as_counts():
    count, total = (laplace.Mechanism(epsilon=0.3, sensitivity=s) for s in (1.0, 50.0))
    one, other = oracle_guarantee(rules(count), None), oracle_guarantee(rules(total), None)
    assert one.epsilon == pytest.approx(other.epsilon)
    np.testing.assert_allclose(one.curve.tpr, other.curve.tpr)


@pytest.mark.parametrize("changed", [{"accountant": "per_row"}, {"accountant": "none"}, {"budget": None}])
def test_unsound_accountant_has_no_promise(changed):
    assert oracle_guarantee(rules(laplace.Mechanism(epsilon=0.3), **changed), None) is None


def test_owner_may_state_a_promise():
    found = oracle_guarantee(rules(laplace.Mechanism(epsilon=0.3), accountant="per_row"), 3.0)
    assert (found.epsilon, found.nominal_epsilon, found.curve, found.exact_epsilon) == (3.0, 0.3, None, None)


def test_two_copies_are_held_against_the_curve_of_their_noise():
    """Half of the stated noise is found in 200 rounds of one answer with epsilon 1."""
    copies = rules(laplace.Mechanism(epsilon=1.0), accountant="none", cache=AnswerCache.NONE, budget=None)
    assert oracle_guarantee(copies, 1.0).curve is None
    promised = oracle_guarantee(copies, 1.0, without_sessions=True)
    exact = guarantee_of_answers(copies.noise, 1).curve
    assert promised.epsilon == 1.0
    assert np.array_equal(promised.curve.tpr, exact.tpr)
    assert oracle_guarantee(copies, 0.5, without_sessions=True).curve is None  # it pays for no answer
    found = []
    for seed in range(10):
        rng = np.random.default_rng([61, seed])
        members = rng.random(200) < 0.5
        answers = members + rng.laplace(scale=0.5, size=200)
        rounds, none = np.arange(200), np.zeros(200, dtype=np.int64)
        trials = Trials(rounds, none, members, answers - 0.5, Coins.FAIR, Reading(threshold=0.0, signed=True))
        found.append(decide_finding(trials, promised, MetricsTable(), 2, None))
    assert found.count("violated") >= 8


def test_least_epsilon_is_the_sum_without_delta_and_far_less_with_it():
    assert least_epsilon(laplace.Mechanism(epsilon=0.25), 14, 0.0) == pytest.approx(3.5)
    gaussian_noise = gaussian.Mechanism(epsilon=0.25, delta=1e-5)
    exact = guarantee_of_answers(gaussian_noise, 30).epsilon
    assert least_epsilon(gaussian_noise, 30, 1e-5) == pytest.approx(exact, rel=1e-6)
    assert exact < 2.5
    assert least_epsilon(gaussian_noise, 0, 1e-5) == 0.0


def test_budget_at_a_delta_pays_for_what_a_loss_accountant_allows():
    from dp_accounting.pld.privacy_loss_distribution import from_laplace_mechanism

    rules = OracleRules(noise=laplace.Mechanism(epsilon=0.05), budget=3.0, delta=1e-6)
    loss = from_laplace_mechanism(1 / 0.05, value_discretization_interval=1e-4)
    within, beyond = (
        loss.self_compose(n).get_epsilon_for_delta(1e-6) for n in (rules.most_answers, rules.most_answers + 1)
    )
    assert within <= 3.0 + 1e-3
    assert beyond > 3.0
    promised = oracle_guarantee(rules, None)
    assert promised.delta == 1e-6
    assert promised.epsilon == pytest.approx(within, abs=2e-3)


@pytest.mark.parametrize(("delta", "rule"), [(0.0, "must be in"), (1e-9, "less than that of one answer")])
def test_refuses_a_delta_that_answers_do_not_have(delta, rule):
    with pytest.raises(BadInput, match=rule):
        OracleRules(noise=gaussian.Mechanism(epsilon=0.3, delta=1e-6), budget=3.0, delta=delta)

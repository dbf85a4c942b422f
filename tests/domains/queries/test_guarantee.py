import numpy as np
import pytest
from scipy.stats import norm

from leakgauge.core.guarantee import Relation, Unit
from leakgauge.domains.queries.guarantee import oracle_guarantee
from leakgauge.domains.queries.oracle import OracleRules
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.theory.tradeoff import max_tpr


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

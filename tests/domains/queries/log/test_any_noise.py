"""Noise of any mechanism in a log, against sums over a grid of outputs that use none of our code."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import logistic

from domains.queries.log.query_logs import answers, sparse, written
from leakgauge.domains.queries.log import best_attack as module
from leakgauge.domains.queries.log import record_epsilon, tabulated_kinds
from leakgauge.domains.queries.log.best_attack import best_attack_per_record, record_signatures
from leakgauge.domains.queries.log.exposure import expose_query_log
from leakgauge.domains.queries.log.files import QueryLogFiles
from leakgauge.domains.queries.log.record_epsilon import epsilon_per_record
from leakgauge.mechanisms import mechanism_names
from leakgauge.mechanisms._additive import adds_noise

LOGISTIC, DISCRETE_GAUSSIAN = 3, 4  # positions among the mechanisms of query_logs
DELTA = 1e-5


def discrete_gaussian(places, sigma):
    weights = np.exp(-((places / sigma) ** 2) / 2)
    return weights / np.exp(-((np.arange(-400, 401) / sigma) ** 2) / 2).sum()


def rates_of(members, others):
    """Accuracy, AUC and TPR at 1 % FPR of the likelihood ratio, from the probabilities of all outputs."""
    order = np.argsort(-members / others, kind="stable")
    tpr, fpr = (np.append(0.0, np.cumsum(world[order])) for world in (members, others))
    accuracy = (1 + np.max(tpr - fpr)) / 2
    return accuracy, np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2), np.interp(0.01, fpr, tpr)


def attack(log, found):
    made = record_signatures(log, found, epsilon_per_record(log, found, DELTA).mu_squared)
    return made, *best_attack_per_record(made)


@pytest.mark.parametrize("few", [True, False])
def test_mixed_noise_matches_sum_over_all_outputs(monkeypatch, few):
    """Two logistic answers and one discrete Gaussian answer, moved by 1, 1 and 2."""
    monkeypatch.setattr(module, "_ONE_BY_ONE", 400 if few else 0)
    log = answers([1.0, 2.5, 3.0], noise=[LOGISTIC, LOGISTIC, DISCRETE_GAUSSIAN], bound=[1, 1, 2])
    _, reached, error = attack(log, sparse(3, 1, range(3), [0] * 3))
    worlds = []
    for moved in (1, 0):
        first, second = np.linspace(-12, 13, 301), np.linspace(-30, 31, 301)
        parts = [logistic.pdf(first - moved), logistic.pdf((second - moved) / 2.5)]
        parts.append(discrete_gaussian(np.arange(-20, 23) - 2 * moved, 3.0))
        joint = np.multiply.outer(np.multiply.outer(parts[0], parts[1]), parts[2]).ravel()
        worlds.append(joint / joint.sum())
    expected = rates_of(*worlds)
    found = [reached.accuracy[0], reached.auc[0], reached.tpr[0]]
    np.testing.assert_allclose(found, expected, atol=3e-4)
    assert 0 <= error < 5e-4


@pytest.mark.parametrize("tight", [True, False])
def test_epsilon_of_discrete_gaussian_answers_is_an_upper_bound(monkeypatch, tight):
    """Of equal answers the sum of outputs is sufficient, and its distribution a convolution."""
    monkeypatch.setattr(record_epsilon, "MOST_TIGHT", 200 if tight else 0)
    log = answers([2.0, 2.0, 2.0, 4.0], noise=[DISCRETE_GAUSSIAN] * 3 + [LOGISTIC])
    spent = epsilon_per_record(log, sparse(4, 2, [0, 1, 2, 3, 3], [0, 0, 0, 0, 1]), DELTA)
    one = discrete_gaussian(np.arange(-40, 41), 2.0)
    noise = np.convolve(np.convolve(one, one), one)
    members, others = np.append(np.zeros(3), noise), np.append(noise, np.zeros(3))

    def excess(epsilon):
        return np.maximum(members - np.exp(epsilon) * others, 0.0).sum() - DELTA

    exact = brentq(excess, 0.1, 20.0)
    together = spent.epsilon[0] - 0.25
    assert exact - 1e-6 < together < exact * (1.001 if tight else 1.12)
    assert spent.epsilon[1] == 0.25
    assert spent.at_delta.tolist() == [True, False]
    assert spent.top[0].tolist() == [0, 1, 2]


def test_epsilon_counts_gaussian_and_discrete_gaussian_answers_together():
    """The exact epsilon lies between that of the costlier answer and the sum of both."""
    log = answers([3.0, 3.0], noise=[2, DISCRETE_GAUSSIAN])
    spent = epsilon_per_record(log, sparse(2, 2, [0, 1, 1], [0, 0, 1]), DELTA)
    alone = spent.top_epsilon[0][:2]
    assert alone.max() < spent.epsilon[0] < 0.8 * alone.sum()
    assert spent.epsilon[1] == pytest.approx(alone[1], rel=1e-9)


def test_shift_beyond_tables_has_infinite_epsilon():
    log = answers([0.001], noise=DISCRETE_GAUSSIAN)
    found = sparse(1, 1, [0], [0])
    assert epsilon_per_record(log, found, DELTA).epsilon.tolist() == [np.inf]
    assert attack(log, found)[1].accuracy[0] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("noise", [LOGISTIC, DISCRETE_GAUSSIAN])
def test_rounding_tabulated_shifts_up_never_lowers_exposure(monkeypatch, noise):
    rng = np.random.default_rng(8)
    log = answers([2000.0] * 4, noise=noise, bound=4000.0)
    sizes = rng.integers(1000, 4001, 16).astype(float)
    found = sparse(4, 4, np.tile(np.arange(4), 4), np.repeat(np.arange(4), 4), sizes)
    _, exact, width = attack(log, found)
    monkeypatch.setattr(tabulated_kinds, "MOST_TABULATED", 3)
    made, rough, error = attack(log, found)
    assert made.rounded == tabulated_kinds.STEPS[-1]
    for name in ("accuracy", "auc", "tpr"):
        more = getattr(rough, name) - getattr(exact, name)
        assert (more > -2 * width).all()
        assert (more < error).all()
    assert (rough.accuracy > exact.accuracy).any()


@pytest.mark.parametrize("name", mechanism_names(adds_noise))
def test_every_mechanism_that_adds_noise_may_be_logged(tmp_path, name):
    """More noise, less exposure."""
    rows = f"1,a,{name},1,1e-6\n2,b,{name},0.1,1e-6\n"
    found = expose_query_log(
        QueryLogFiles(written(tmp_path, "query,records,mechanism,epsilon,delta\n" + rows))
    )
    (informed,) = found.against
    assert 0.5 < informed.accuracy[1] < informed.accuracy[0] < 1 / (1 + np.exp(-1.0)) + 1e-5
    assert found.spent.epsilon[0] == pytest.approx(1.0, rel=0.2)
    assert np.isfinite(found.spent.epsilon).all()

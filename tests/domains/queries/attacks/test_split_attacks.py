"""Splitting attacks: measured success agrees with theory, for every score, noise and kind of query."""

import math

import numpy as np
import pytest

from domains.queries.fake_oracle import FakeSeen, knowledge, played, success
from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.attacks import split_likelihood, split_midpoint, split_t_test
from leakgauge.domains.queries.query import Query
from leakgauge.mechanisms import discrete_gaussian, gaussian, geometric, logistic
from leakgauge.theory import query_splitting
from mechanisms import independent_optimum

NUMBERS = [(10, 1.0), (29, 0.33), (10, 0.3), (4, 2.5)]


def near(found, expected, sure=4.0):
    value, error = found
    return abs(value - expected) < sure * error + 3e-4


@pytest.mark.parametrize(("m", "epsilon"), NUMBERS)
def test_measured_success_matches_theory(m, epsilon):
    known = knowledge(epsilon=epsilon)
    assert near(
        success(split_midpoint.Attack(queries=m), known), query_splitting.midpoint_laplace(m, epsilon)
    )
    assert near(
        success(split_likelihood.Attack(queries=m), known), query_splitting.optimum_laplace(m, epsilon)[0]
    )
    assert near(success(split_t_test.Attack(queries=m), known), query_splitting.success_laplace(m, epsilon))


@pytest.mark.parametrize(
    ("m", "epsilon", "textbook", "paper", "one_sided", "midpoint", "likelihood"),
    [
        (10, 1.0, 0.766, 0.777, 0.825, 0.873, 0.916),
        pytest.param(29, 0.33, 0.600, 0.604, 0.655, 0.737, 0.802, marks=pytest.mark.nightly),
        pytest.param(10, 0.3, 0.532, 0.533, 0.564, 0.636, 0.675, marks=pytest.mark.nightly),
    ],
)
def test_success_matches_published_values(m, epsilon, textbook, paper, one_sided, midpoint, likelihood):
    known, n = knowledge(epsilon=epsilon), 200_000
    expected = {
        split_t_test.Attack(queries=m): (textbook, query_splitting.success_laplace(m, epsilon)),
        split_t_test.Attack(queries=m, form="paper"): (
            paper,
            query_splitting.success_laplace(m, epsilon, form="paper"),
        ),
        split_t_test.Attack(queries=m, sides=1): (
            one_sided,
            query_splitting.success_laplace(m, epsilon, sides=1),
        ),
        split_midpoint.Attack(queries=m): (midpoint, query_splitting.midpoint_laplace(m, epsilon)),
        split_likelihood.Attack(queries=m): (likelihood, query_splitting.optimum_laplace(m, epsilon)[0]),
    }
    for attack, (published, exact) in expected.items():
        found = success(attack, known, n)
        assert near(found, exact)
        assert found[0] == pytest.approx(published, abs=0.01)


def test_measured_success_differs_from_theorem_5():
    found, error = success(split_t_test.Attack(queries=10), knowledge(epsilon=1.0), 200_000)
    printed = query_splitting.success_as_printed(10, 1 / query_splitting.SQRT_2)
    normal = query_splitting.success_normal(10, 1 / query_splitting.SQRT_2)
    assert found > normal + 10 * error > printed + 10 * error


@pytest.mark.parametrize("value", [100.0, -50.0, 20.0])
def test_success_on_sum_depends_on_value_over_bound(value):
    query = Query(kind="sum", column="income", bound=100.0)
    known = knowledge(epsilon=1.0, query=query, shifts=(value,))
    ratio = query_splitting.laplace_ratio(1.0, value, 100.0)
    assert near(success(split_midpoint.Attack(), known), query_splitting.midpoint_laplace(10, ratio))
    assert near(success(split_likelihood.Attack(), known), query_splitting.optimum_laplace(10, ratio)[0])
    assert near(
        success(split_t_test.Attack(sides=1), known), query_splitting.success_laplace(10, ratio, sides=1)
    )


def test_likelihood_equals_midpoint_under_gaussian_noise():
    known = knowledge(noise=gaussian.Mechanism(sigma=3.0, delta=1e-5))
    expected = query_splitting.midpoint_gaussian(10, 1 / 3)
    _, scores, _ = played(split_midpoint.Attack(), known)
    _, likelihood, _ = played(split_likelihood.Attack(), known)
    np.testing.assert_allclose(scores / 9.0, likelihood, atol=1e-9)
    assert near(success(split_likelihood.Attack(), known), expected)
    assert near(success(split_t_test.Attack(), known), query_splitting.success_normal(10, 1 / 3))


def test_geometric_success_matches_theory():
    known = knowledge(epsilon=0.8, noise=geometric.Mechanism(epsilon=0.8))
    assert near(success(split_midpoint.Attack(queries=7), known), query_splitting.midpoint_geometric(7, 0.8))
    assert near(
        success(split_likelihood.Attack(queries=7), known), query_splitting.optimum_geometric(7, 0.8)[0]
    )


@pytest.mark.parametrize(
    ("noise", "losses"),
    [
        (logistic.Mechanism(scale=1.2), independent_optimum.logistic_losses(1.2)),
        (
            discrete_gaussian.Mechanism(sigma=1.5, delta=1e-5),
            independent_optimum.discrete_gaussian_losses(1.5),
        ),
    ],
    ids=["logistic", "discrete_gaussian"],
)
def test_other_noise_reaches_the_optimum(noise, losses):
    """The optimum over seven answers, by adding up privacy losses of the textbook's distribution."""
    expected = independent_optimum.best_accuracy(*losses, 7)
    assert near(success(split_likelihood.Attack(queries=7), knowledge(noise=noise)), expected)
    low, high = noise.best_attack([(1.0, 7)]).accuracy
    assert low - 3e-4 <= expected <= high + 3e-4


@pytest.mark.parametrize(("form", "size"), [("textbook", 0.042), ("paper", 0.052)])
def test_t_test_has_its_nominal_false_positive_rate(form, size):
    members, scores, _ = played(split_t_test.Attack(form=form), knowledge(epsilon=0.3), 40_000)
    assert (scores[~members] >= 0).mean() == pytest.approx(size, abs=0.005)


def test_several_targets_use_their_own_values():
    query = Query(kind="sum", column="income", bound=10.0)
    known = knowledge(epsilon=2.0, query=query, shifts=(10.0, -4.0, 0.0))
    members, scores, _ = played(split_likelihood.Attack(), known)
    for target, value in enumerate((10.0, 4.0)):
        says, truth = scores[:, target] >= 0, members[:, target]
        right = (says[truth].mean() + 1 - says[~truth].mean()) / 2
        assert right == pytest.approx(query_splitting.optimum_laplace(10, 2.0 * value / 10)[0], abs=0.015)
    assert (scores[:, 2] == 0).all()  # who adds nothing leaves no trace


@pytest.mark.parametrize(
    "attack",
    [split_t_test.Attack(queries=6), split_midpoint.Attack(queries=6), split_likelihood.Attack(queries=6)],
)
def test_refused_answers_are_no_evidence(attack):
    known = knowledge(epsilon=1.0, accountant="sequential", budget=4.0)
    fewer = type(attack)(queries=4)
    np.testing.assert_allclose(played(attack, known, 500)[1], played(fewer, known, 500)[1])
    none = knowledge(epsilon=1.0, accountant="sequential", budget=0.5)
    assert (played(attack, none, 100)[1] == 0).all()


def test_scorer_uses_one_oracle_within_stated_queries():
    known = knowledge()
    scorer = split_midpoint.Attack(queries=8).study(known, np.random.default_rng(1))
    seen = FakeSeen(known, np.ones((5, 1), dtype=bool))
    first, again = (scorer.score(seen, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert [len(oracle.asked) for oracle in seen.oracles] == [8, 8]


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (split_t_test.Attack, {"queries": 1}),
        (split_t_test.Attack, {"level": math.nan}),
        (split_t_test.Attack, {"sides": 3}),
        (split_t_test.Attack, {"form": "book"}),
        (split_midpoint.Attack, {"queries": 0}),
        (split_likelihood.Attack, {"queries": -3}),
    ],
)
def test_rejects_bad_parameters(make, wrong):
    with pytest.raises(BadInput, match="must be"):
        make(**wrong)

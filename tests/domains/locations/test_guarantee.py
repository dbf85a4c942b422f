import numpy as np
import pytest
from scipy.stats import binom, norm

from leakgauge.core.guarantee import Guarantee, Relation, Unit
from leakgauge.domains.locations import guarantee
from leakgauge.domains.locations.guarantee import (
    claim_note,
    composed_epsilon,
    guarantee_per_person,
    noise_guarantee,
    stated_guarantee,
)
from leakgauge.mechanisms import gaussian, geometric, laplace
from leakgauge.theory import tradeoff


@pytest.mark.parametrize("kind", [laplace, geometric])
def test_pure_noise_epsilon_multiplies_by_cells(kind):
    found = noise_guarantee(kind.Mechanism(epsilon=0.5, unit=Unit.EVENT), 20, Relation.ADD_REMOVE)
    assert found.epsilon == found.exact_epsilon == pytest.approx(10.0)
    assert (found.delta, found.unit, found.nominal_epsilon, found.nominal_unit) == (
        0,
        Unit.USER,
        0.5,
        Unit.EVENT,
    )
    assert found.sensitivity == 20


def test_laplace_curve_matches_optimal_attack():
    """The table of optima for 20 cells at 0.5 each, found by characteristic functions and simulation."""
    found = noise_guarantee(laplace.Mechanism(epsilon=0.5), 20, Relation.ADD_REMOVE)
    assert tradeoff.max_accuracy(found.curve) == pytest.approx(0.8509, abs=1e-4)


def test_larger_unit_has_more_noise_and_same_total_epsilon():
    """User-level noise with a cap of 9 visits: who has 9 gets epsilon, who has fewer gets less."""
    noise = laplace.Mechanism(epsilon=1.0, sensitivity=9.0, unit=Unit.USER)
    assert noise_guarantee(noise, 9, Relation.ADD_REMOVE).epsilon == pytest.approx(1.0)
    assert noise_guarantee(noise, 3, Relation.ADD_REMOVE).epsilon == pytest.approx(1 / 3)


def test_gaussian_noise_composes_in_squares():
    noise = gaussian.Mechanism(sigma=8.2543, delta=1e-5)
    found = noise_guarantee(noise, 20, Relation.ADD_REMOVE)
    assert found.epsilon == pytest.approx(2.180, abs=1e-3)  # the exact epsilon of 20 such cells
    mu = np.sqrt(20) / 8.2543
    assert tradeoff.max_accuracy(found.curve) == pytest.approx(norm.cdf(mu / 2), abs=1e-4)


def test_guarantee_has_relation_of_game():
    assert (
        noise_guarantee(laplace.Mechanism(epsilon=1.0), 3, Relation.REPLACE_ONE).relation
        is Relation.REPLACE_ONE
    )


def test_stated_promise_is_composed_over_units_of_a_person():
    stated = Guarantee(epsilon=0.5, delta=1e-6, unit=Unit.USER_DAY)
    found = stated_guarantee(stated, 7, Relation.ADD_REMOVE)
    assert (found.epsilon, found.delta) == (pytest.approx(3.5), pytest.approx(7e-6, rel=1e-3))
    assert (found.unit, found.nominal_epsilon, found.nominal_unit) == (Unit.USER, 0.5, Unit.USER_DAY)


def test_stated_promise_curve_is_repeated_randomized_response():
    """Seven answers that are right with chance e^.5 / (1 + e^.5) each: the majority is the best guess."""
    found = stated_guarantee(Guarantee(epsilon=0.5), 7, Relation.ADD_REMOVE)
    right = 1 / (1 + np.exp(-0.5))
    assert tradeoff.max_accuracy(found.curve) == pytest.approx(binom.sf(3, 7, right), abs=1e-6)


def test_one_unit_needs_no_composition():
    found = stated_guarantee(Guarantee(epsilon=0.5, unit=Unit.USER), 1, Relation.ADD_REMOVE)
    assert (found.epsilon, found.curve) == (0.5, None)


def laplace_tight(epsilon: float, n: int, delta: float) -> float:
    """Epsilon of n Laplace cells, by counting losses of a great many draws: P(L > x) - e^x E(e^-L; L > x)."""
    rng = np.random.default_rng(1)
    noise = rng.laplace(scale=1 / epsilon, size=(400_000, n))
    losses = epsilon * (np.abs(noise + 1) - np.abs(noise)).sum(axis=1)  # of members: counts are one higher
    low, high = 0.0, n * epsilon
    for _ in range(60):
        x = (low + high) / 2
        above = losses[losses > x]
        lost = np.sum(-np.expm1(x - above)) / losses.size
        low, high = (x, high) if lost > delta else (low, x)
    return high


@pytest.mark.parametrize("n", [5, 20])
def test_tight_composition_matches_simulated_losses(n, monkeypatch):
    monkeypatch.setattr(guarantee, "SLACK", 1e-2)  # rare enough to matter, common enough to be seen
    found = guarantee.composed_epsilon(laplace.Mechanism(epsilon=0.5), n)
    assert found.tight == pytest.approx(laplace_tight(0.5, n, 1e-2), abs=0.02)


def test_one_laplace_cell_matches_formula():
    """At epsilon x the delta of Laplace noise is 1 - e^((x - e) / 2)."""
    found = guarantee.composed_epsilon(laplace.Mechanism(epsilon=0.5), 1)
    assert found.tight == pytest.approx(0.5 + 2 * np.log(1 - 1e-5), abs=1e-6)
    assert found.kairouz == pytest.approx(np.log(np.exp(0.5) - 1e-5 * (1 + np.exp(0.5))), abs=1e-9)
    assert (found.parts, found.delta) == (1, 1e-5)


@pytest.mark.parametrize(
    "noise",
    [
        laplace.Mechanism(epsilon=0.5),
        laplace.Mechanism(epsilon=1.0, sensitivity=9.0, unit=Unit.USER),
        gaussian.Mechanism(epsilon=0.5, delta=1e-5),
        gaussian.Mechanism(sigma=8.2543, delta=2.5e-4),
    ],
    ids=["laplace", "user", "gaussian", "classic"],
)
def test_per_cell_composition_is_looser_than_exact_distribution(noise):
    for n in (2, 20, 140):
        found = guarantee.composed_epsilon(noise, n)
        assert found.tight < found.kairouz <= n * guarantee.one_cell_guarantee(noise).epsilon


@pytest.mark.parametrize("n", [2, 20, 140])
def test_geometric_cells_compose_as_randomized_response(n):
    """Every output has a privacy loss of exactly epsilon, up or down: nothing beats Kairouz et al."""
    found = guarantee.composed_epsilon(geometric.Mechanism(epsilon=0.5), n)
    assert found.tight <= found.kairouz
    assert found.tight == pytest.approx(found.kairouz, rel=1e-6)


def test_gaussian_cells_compose_at_total_delta():
    noise = gaussian.Mechanism(sigma=8.2543, delta=1e-6)
    found = guarantee.composed_epsilon(noise, 20)
    assert found.delta == pytest.approx(1 - (1 - 1e-6) ** 20 * (1 - 1e-5), rel=1e-9)
    mu, x = np.sqrt(20) / 8.2543, found.tight
    assert norm.cdf(mu / 2 - x / mu) - np.exp(x) * norm.cdf(-mu / 2 - x / mu) == pytest.approx(found.delta)


def test_guarantee_has_both_compositions():
    found = noise_guarantee(laplace.Mechanism(epsilon=0.5), 20, Relation.ADD_REMOVE).composed
    assert (found.parts, round(found.kairouz, 4), round(found.tight, 3)) == (20, 9.8594, 9.106)
    stated = stated_guarantee(Guarantee(epsilon=0.5), 20, Relation.ADD_REMOVE).composed
    assert (round(stated.kairouz, 4), stated.tight) == (9.8594, None)  # no law, no tight bound


LAPLACE = laplace.Mechanism(epsilon=0.5, unit=Unit.EVENT)


def test_each_person_gets_composition_over_own_cells():
    found = guarantee_per_person(LAPLACE, np.array([20, 1, 20, 7]))
    for person, n in enumerate((20, 1, 20, 7)):
        alone = composed_epsilon(LAPLACE, n)
        assert found.kairouz[person] == pytest.approx(alone.kairouz)
        assert found.tight[person] == pytest.approx(alone.tight)
    assert (found.nominal, found.unit) == (0.5, "event")
    assert found.delta.tolist() == [1e-5] * 4


def test_person_without_cells_has_epsilon_zero():
    found = guarantee_per_person(LAPLACE, np.array([0, 3]))
    assert (found.kairouz[0], found.tight[0]) == (0.0, 0.0)


def test_many_cells_stay_between_exact_and_kairouz_bound():
    numbers = np.arange(1, 400)
    found = guarantee_per_person(LAPLACE, numbers)
    for n in (5, 64, 65, 130, 287, 399):
        exact = composed_epsilon(LAPLACE, n)
        assert exact.tight - 1e-9 <= found.tight[n - 1] <= 1.06 * exact.tight
    assert (found.tight <= found.kairouz).all()
    assert (np.diff(found.tight) >= -1e-9).all()


def test_gaussian_delta_grows_with_cells():
    noise = gaussian.Mechanism(sigma=4.0, delta=1e-6, unit=Unit.EVENT)
    numbers = np.arange(1, 300)
    found = guarantee_per_person(noise, numbers)
    np.testing.assert_allclose(found.delta, 1 - (1 - 1e-6) ** numbers * (1 - 1e-5), rtol=1e-9)
    assert found.tight[249] == pytest.approx(composed_epsilon(noise, 250).tight)


def test_stated_epsilon_and_scale_are_one_claim_and_one_noise():
    """Laplace noise of scale 1/2 gives each visit epsilon 2, whatever epsilon is stated."""
    claimed = laplace.Mechanism(epsilon=1.0, scale=0.5, unit=Unit.EVENT)
    found = noise_guarantee(claimed, 3, Relation.ADD_REMOVE)
    assert (found.nominal_epsilon, found.nominal_exact) == (1.0, pytest.approx(2.0))
    assert found.composed.part_epsilon == pytest.approx(2.0)
    assert found.epsilon == pytest.approx(6.0)  # of the noise, not of the claim
    person = guarantee_per_person(claimed, np.array([3]))
    assert (person.nominal, person.achieved, person.part) == (1.0, pytest.approx(2.0), pytest.approx(2.0))
    assert "states epsilon = 1 for one event, and its noise gives 2: less protection" in claim_note(claimed)


@pytest.mark.parametrize("parameters", [{"epsilon": 0.3}, {"scale": 0.5}, {"epsilon": 1.0, "scale": 2.0}])
def test_claims_that_the_noise_keeps_need_no_note(parameters):
    assert claim_note(laplace.Mechanism(unit=Unit.EVENT, **parameters)) is None


def test_promise_holds_for_everybody_where_values_differ():
    """20 cells of 1 have the larger epsilon; 9 cells of 2 are recognised better."""
    noise, rng = laplace.Mechanism(scale=2.0), np.random.default_rng(4)
    found = guarantee.weakest_noise_guarantee(noise, np.array([[20, 0], [0, 9]]), Relation.ADD_REMOVE)
    draws = rng.laplace(scale=2.0, size=(200_000, 9))
    ratios = ((np.abs(draws) - np.abs(draws - 2.0)) / 2.0).sum(axis=1)  # of non-members; symmetric
    exact = np.mean(ratios < 0) + np.mean(ratios == 0) / 2
    assert found.epsilon == pytest.approx(10.0)
    assert tradeoff.max_accuracy(found) == pytest.approx(exact, abs=0.004)


def test_nobody_is_told_more_than_the_sum_of_their_cells():
    noise = laplace.Mechanism(scale=5.0)
    cells = np.array([[10, 3], [0, 1], [40, 30]])
    each = guarantee.guarantee_per_person(noise, cells)
    summed = (cells @ [1, 2]) / 5.0
    assert (each.kairouz <= summed + 1e-12).all()
    assert (each.tight <= each.kairouz).all()

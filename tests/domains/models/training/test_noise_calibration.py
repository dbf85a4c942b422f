import math
import sys

import dp_accounting
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.domains.models.training.noise_calibration import (
    DpTraining,
    SigmaCalibration,
    humphries23_sigma,
    renyi_epsilon,
    sigma_for,
    training_curve,
    training_epsilon,
)
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule
from leakgauge.theory import gdp, tradeoff


@pytest.mark.parametrize("ratio", [0.5, 2.0, 12.0])
def test_epsilon_matches_dp_accounting(ratio):
    orders = [*np.arange(1.01, 10.97, 0.05), *range(10, 40)]  # beyond them none is best here
    accountant = dp_accounting.rdp.RdpAccountant(orders, dp_accounting.NeighboringRelation.REPLACE_ONE)
    noise = dp_accounting.GaussianDpEvent(ratio)
    accountant.compose(dp_accounting.SampledWithoutReplacementDpEvent(10_000, 200, noise), 5_000)
    expected = accountant.get_epsilon(1e-5)
    assert expected * 0.99 < renyi_epsilon(ratio, 1e-5, 0.02, 5_000) <= expected * (1 + 2e-3)


def test_high_renyi_orders_are_used():
    ratio, orders = 60.0, range(60, 90, 3)
    accountant = dp_accounting.rdp.RdpAccountant(orders, dp_accounting.NeighboringRelation.REPLACE_ONE)
    noise = dp_accounting.GaussianDpEvent(ratio)
    accountant.compose(dp_accounting.SampledWithoutReplacementDpEvent(10_000, 200, noise), 5_000)
    expected, order = accountant.get_epsilon_and_optimal_order(1e-5)
    assert orders[0] < order < orders[-1]
    assert renyi_epsilon(ratio, 1e-5, 0.02, 5_000) == pytest.approx(expected, rel=2e-3)


def test_missing_library_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(BadInput, match=r"pip install 'leakgauge\[ml\]'"):
        renyi_epsilon(1.0, 1e-5, 0.02, 100)


ADULT = TrainingSchedule(rows=10_000)  # 5,000 steps of 200 rows


def schedule(sampling: BatchSampling) -> TrainingSchedule:
    return TrainingSchedule(rows=10_000, sampling=sampling)


def delta_of_one_step(sigma: float, share: float, relation: Relation, epsilon: float) -> float:
    """By integration: a row is in the batch with probability ``share`` and then moves the sum by one clip.

    The other world has no row there, or one that moves the sum the other way.
    """

    def with_row(x: float, towards: float) -> float:
        return (1 - share) * norm.pdf(x, 0, sigma) + share * norm.pdf(x, towards, sigma)

    pairs = (
        [(1.0, -1.0)] if relation is Relation.REPLACE_ONE else [(1.0, 0.0), (0.0, 1.0)]
    )  # whoever it is, either may be the member
    return max(
        quad(
            lambda x, a=a, b=b: max(with_row(x, a) - math.exp(epsilon) * with_row(x, b), 0),
            -12 * sigma,
            12 * sigma,
            limit=500,
            points=[0.0],
        )[0]
        for a, b in pairs
    )


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("sigma", [0.6, 2.0])
def test_one_poisson_step_matches_mixture_epsilon(relation, sigma):
    one = TrainingSchedule(rows=10, batch=10 // 2 + 1, epochs=1)
    assert one.steps == 1
    epsilon = training_epsilon(sigma, 0.01, relation, one)
    assert delta_of_one_step(sigma, 0.6, relation, epsilon) == pytest.approx(0.01, rel=0.01)


@pytest.mark.parametrize("relation", Relation)
def test_full_batches_are_gaussian_releases(relation):
    everybody = TrainingSchedule(rows=50, batch=50, epochs=30)
    ratio = 9.0 / (2 if relation is Relation.REPLACE_ONE else 1) / math.sqrt(30)
    expected = dp_accounting.get_epsilon_gaussian(ratio, 1e-5)
    assert training_epsilon(9.0, 1e-5, relation, everybody) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(("sigma", "relation"), [(11.55, "replace_one"), (1.68, "add_remove")])
def test_poisson_epsilon_matches_finer_grid(sigma, relation):
    theirs = dp_accounting.NeighboringRelation
    neighbours = theirs.REPLACE_ONE if relation == "replace_one" else theirs.ADD_OR_REMOVE_ONE
    accountant = dp_accounting.pld.PLDAccountant(neighbours, 2e-5 if sigma > 2 else 1e-4)
    accountant.compose(dp_accounting.PoissonSampledDpEvent(0.02, dp_accounting.GaussianDpEvent(sigma)), 5_000)
    found = training_epsilon(sigma, 1e-5, Relation(relation), ADULT)
    assert found == pytest.approx(accountant.get_epsilon(1e-5), rel=2e-3)


@pytest.mark.parametrize(("sigma", "epsilon"), [(11.55, 2.16), (1.68, 27.6)])
def test_replacement_counts_two_clips(sigma, epsilon):
    """With one clip these sigmas would be enough for 1 and 10, as the code of Humphries et al. has it."""
    anew = TrainingSchedule(rows=10_000, batch=200, epochs=100, sampling=BatchSampling.WITHOUT_REPLACEMENT)
    replaced = dp_accounting.NeighboringRelation.REPLACE_ONE
    accountant = dp_accounting.rdp.RdpAccountant(neighboring_relation=replaced)
    half = dp_accounting.GaussianDpEvent(sigma / 2)
    accountant.compose(dp_accounting.SampledWithoutReplacementDpEvent(10_000, 200, half), 5_000)
    found = training_epsilon(sigma, 1e-5, Relation.REPLACE_ONE, anew)
    assert 0.95 * accountant.get_epsilon(1e-5) < found < 1.01 * accountant.get_epsilon(1e-5)
    assert found == pytest.approx(epsilon, rel=0.04)  # theirs are of whole orders, of which few are small


@pytest.mark.parametrize(("sigma", "renyi"), [(11.55, 0.47), (1.68, 4.4)])
def test_poisson_epsilon_is_below_renyi_epsilon(sigma, renyi):
    accountant = dp_accounting.rdp.RdpAccountant()
    accountant.compose(dp_accounting.PoissonSampledDpEvent(0.02, dp_accounting.GaussianDpEvent(sigma)), 5_000)
    assert accountant.get_epsilon(1e-5) == pytest.approx(renyi, rel=0.02)
    assert 0.85 * renyi < training_epsilon(sigma, 1e-5, Relation.ADD_REMOVE, ADULT) < renyi


@pytest.mark.parametrize("epsilon", [0.01, 100.0])
@pytest.mark.parametrize("relation", Relation)
def test_calibrated_sigma_is_minimal(epsilon, relation):
    sigma = sigma_for(epsilon, 1e-5, relation, ADULT)
    assert training_epsilon(sigma, 1e-5, relation, ADULT) <= epsilon
    assert training_epsilon(0.999 * sigma, 1e-5, relation, ADULT) > epsilon


def test_replace_one_needs_twice_the_noise():
    twice = sigma_for(0.1, 1e-5, Relation.REPLACE_ONE, ADULT) / sigma_for(
        0.1, 1e-5, Relation.ADD_REMOVE, ADULT
    )
    assert twice == pytest.approx(2, rel=0.005)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_shuffled_batches_are_one_release_per_epoch(epsilon):
    shuffled = schedule(BatchSampling.SHUFFLED)
    sigma = sigma_for(epsilon, 1e-5, Relation.REPLACE_ONE, shuffled)
    # A row is seen 100 times, and another one in its place moves the sum by two clips.
    assert sigma == pytest.approx(20 * dp_accounting.get_sigma_gaussian(epsilon, 1e-5), rel=1e-3)
    assert training_epsilon(sigma, 1e-5, Relation.REPLACE_ONE, shuffled) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("sampling", [BatchSampling.SHUFFLED, BatchSampling.WITHOUT_REPLACEMENT])
def test_fixed_size_batches_have_no_add_remove_guarantee(sampling):
    for work in (training_epsilon, sigma_for):
        with pytest.raises(BadInput, match=f"{sampling} batches have a fixed size.*replace_one.*poisson"):
            work(1.0, 1e-5, Relation.ADD_REMOVE, schedule(sampling))


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("sigma", [0.6, 11.55])
def test_curve_matches_epsilon_at_every_delta(relation, sigma):
    curve = training_curve(sigma, relation, ADULT)
    assert curve is not None
    for delta in (1e-9, 1e-5, 1e-3):
        expected = training_epsilon(sigma, delta, relation, ADULT)
        assert tradeoff.epsilon_at(curve, delta) == pytest.approx(expected, rel=1e-3)


def test_curve_is_gaussian_for_shuffled_and_absent_for_renyi():
    shuffled = schedule(BatchSampling.SHUFFLED)
    curve = training_curve(20.0, Relation.REPLACE_ONE, shuffled)
    assert curve is not None
    assert tradeoff.max_accuracy(curve) == pytest.approx(norm.cdf(0.5), abs=2e-5)
    assert training_curve(20.0, Relation.REPLACE_ONE, schedule(BatchSampling.WITHOUT_REPLACEMENT)) is None


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.nan, np.inf])
def test_rejects_invalid_epsilon(epsilon):
    with pytest.raises(BadInput, match="epsilon must be > 0 and finite"):
        sigma_for(epsilon, 1e-5, Relation.ADD_REMOVE, ADULT)


@pytest.mark.parametrize("delta", [0.0, 1.0, np.nan])
def test_accounting_rejects_delta_outside_0_and_1(delta):
    with pytest.raises(BadInput, match="delta must be in"):
        training_epsilon(1.0, delta, Relation.ADD_REMOVE, ADULT)


def test_tiny_noise_is_bounded_by_full_participation():
    """Quickly, and above what is composed where there is just enough noise to compose it."""
    schedule = TrainingSchedule(rows=60, batch=20, epochs=2)
    little = training_epsilon(0.099, 1e-5, Relation.REPLACE_ONE, schedule)
    mu = 2 * np.sqrt(6) / 0.099
    assert little == pytest.approx(gdp.epsilon_at(mu, 1e-5))
    assert little > training_epsilon(0.1, 1e-5, Relation.REPLACE_ONE, schedule)
    assert training_epsilon(1e-3, 1e-5, Relation.REPLACE_ONE, schedule) > 1e6
    curve = training_curve(1e-3, Relation.REPLACE_ONE, schedule)
    assert np.interp(1e-6, curve.fpr, curve.tpr) > 0.999


@pytest.mark.parametrize(
    ("rows", "epsilon", "sigma"),
    [
        (10_000, 0.1, 96.8),
        (10_000, 1, 11.55),
        (10_000, 10, 1.68),
        (10_000, 100, 0.567),
        (10_000, 1000, 0.422),
        (2_000, 0.1, 218),
        (2_000, 1, 26.0),
        (2_000, 10, 3.50),
        (2_000, 100, 0.807),
    ],
)
def test_paper_labels_match_known_noise(rows, epsilon, sigma):
    schedule = TrainingSchedule(rows=rows)
    assert renyi_epsilon(sigma, 1e-5, schedule.share, schedule.steps) == pytest.approx(epsilon, rel=0.01)


@pytest.mark.parametrize(("epsilon", "sigma"), [(1, 11.55), (1000, 0.422)])
def test_paper_calibration_matches_known_noise(epsilon, sigma):
    assert humphries23_sigma(epsilon, 1e-5, ADULT) == pytest.approx(sigma, rel=0.003)


def test_paper_calibration_stops_at_sigma_1000():
    assert humphries23_sigma(0.01, 1e-5, ADULT) == 1000


def test_two_clips_more_than_double_the_label():
    """Even if batches were drawn again: 2.16 at a label of 1, about 27 at 10."""
    drawn_anew = TrainingSchedule(rows=10_000, sampling=BatchSampling.WITHOUT_REPLACEMENT)
    for sigma, epsilon in [(11.55, 2.16), (1.68, 27.2)]:
        noise = DpTraining(relation=Relation.REPLACE_ONE, sigma=sigma)
        assert noise.guarantee(drawn_anew).epsilon == pytest.approx(epsilon, rel=0.025)


def test_paper_label_is_kept_beside_proven_epsilon():
    shuffled = TrainingSchedule(rows=10_000, sampling=BatchSampling.SHUFFLED)
    noise = DpTraining(
        relation=Relation.REPLACE_ONE, epsilon=1.0, calibration=SigmaCalibration.HUMPHRIES23, clip=0.5
    )
    promised = noise.guarantee(shuffled)
    assert noise.noise(shuffled).clip == 0.5
    assert promised.nominal_epsilon == 1.0
    assert promised.epsilon == pytest.approx(8.38, rel=0.003)  # mu = 2 * 10 / 11.55
    assert promised.exact_epsilon is None
    assert promised.sensitivity == 2 * 0.5


@pytest.mark.parametrize("relation", Relation)
def test_exact_calibration_promises_requested_epsilon(relation):
    noise = DpTraining(relation=relation, epsilon=1.0)
    promised = noise.guarantee(ADULT)
    assert promised.epsilon == promised.exact_epsilon == pytest.approx(1.0, rel=1e-4)
    assert promised.epsilon <= 1.0
    assert (promised.relation, promised.delta, promised.unit) == (relation, 1e-5, Unit.RECORD)
    assert promised.sensitivity == (2 if relation is Relation.REPLACE_ONE else 1)
    assert promised.curve is not None
    # The advantage that (1, 1e-5) alone allows is (e - 1 + 2 delta) / (e + 1) = .462.
    assert 2 * tradeoff.max_accuracy(promised.curve) - 1 < 0.15


def test_noise_may_be_given_as_sigma():
    noise = DpTraining(relation=Relation.ADD_REMOVE, sigma=3.0)
    assert noise.noise(ADULT).sigma == 3.0
    assert noise.guarantee(ADULT).nominal_epsilon is None


def test_noise_needs_epsilon_or_sigma():
    with pytest.raises(BadInput, match="needs epsilon or sigma"):
        DpTraining(relation=Relation.REPLACE_ONE)


def test_epsilon_beside_sigma_is_nominal():
    schedule = TrainingSchedule(rows=1_000, batch=100, epochs=10)
    true = DpTraining(relation=Relation.ADD_REMOVE, sigma=1.0).guarantee(schedule)
    claimed = DpTraining(relation=Relation.ADD_REMOVE, sigma=1.0, epsilon=0.5)
    assert claimed.noise(schedule).sigma == 1.0
    found = claimed.guarantee(schedule)
    assert (found.epsilon, found.exact_epsilon, found.curve) == (0.5, true.epsilon, None)
    assert true.epsilon > 1


def test_rejects_calibration_with_sigma():
    with pytest.raises(BadInput, match="calibration = 'humphries23' has no effect"):
        DpTraining(relation=Relation.REPLACE_ONE, sigma=1.0, calibration=SigmaCalibration.HUMPHRIES23)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("name", ["epsilon", "sigma", "clip"])
def test_rejects_non_positive_numbers(name, value):
    words = {"epsilon": 1.0} if name == "clip" else {}
    with pytest.raises(BadInput, match=f"{name} must be > 0 and finite"):
        DpTraining(relation=Relation.ADD_REMOVE, **words, **{name: value})


@pytest.mark.parametrize("delta", [0.0, 1.0, np.nan])
def test_rejects_delta_outside_0_and_1(delta):
    with pytest.raises(BadInput, match="delta must be in"):
        DpTraining(relation=Relation.ADD_REMOVE, epsilon=1.0, delta=delta)


@pytest.mark.parametrize("name", ["epsilon", "sigma"])
def test_rejects_extreme_epsilon_or_sigma(name):
    with pytest.raises(BadInput, match=rf"{name} must be <= 1e\+06, got 1e\+300"):
        DpTraining(relation=Relation.ADD_REMOVE, **{name: 1e300})
    most = DpTraining(relation=Relation.ADD_REMOVE, **{name: 1e6})
    assert 0 <= most.guarantee(TrainingSchedule(rows=100, batch=20, epochs=2)).epsilon <= 1e6

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation, Unit
from leakgauge.domains.models.training.accounting import renyi_epsilon
from leakgauge.domains.models.training.noise_calibration import (
    DpTraining,
    SigmaCalibration,
    humphries23_sigma,
)
from leakgauge.domains.models.training.schedule import BatchSampling, TrainingSchedule
from leakgauge.theory import tradeoff

ADULT = TrainingSchedule(rows=10_000)


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

import numpy as np
import pytest

from leakgauge.core.errors import BadInput
from leakgauge.domains.locations.counts.score_thresholds import NormalScore

RNG = np.random.default_rng(1)


def shadows(gap, deviation, n=4_000):
    members = RNG.permutation(np.arange(n) % 2 == 1)
    return RNG.normal(7.0, deviation, n) + gap * members, members


def test_means_and_variance_are_those_of_the_shadows():
    law = NormalScore.of(*shadows(4.0, 3.0))
    assert law.without == pytest.approx(7.0, abs=0.3)
    assert law.with_target == pytest.approx(11.0, abs=0.3)
    assert law.variance == pytest.approx(9.0, rel=0.1)
    assert law.midpoint == pytest.approx(9.0, abs=0.2)


@pytest.mark.parametrize("fpr", [0.01, 0.05, 0.3])
def test_a_fixed_rate_is_kept_on_fresh_releases(fpr):
    threshold = NormalScore.of(*shadows(4.0, 3.0, n=20_000)).threshold(fpr)
    scores, members = shadows(4.0, 3.0, n=100_000)
    assert (scores[~members] >= threshold).mean() == pytest.approx(fpr, rel=0.15)


def test_a_score_in_units_of_evidence_is_a_log_likelihood_ratio():
    law = NormalScore(7.0, 11.0, 9.0)
    x = 10.3
    exact = -((x - 11) ** 2) / 18 + (x - 7) ** 2 / 18
    assert law.evidence * (x - law.midpoint) == pytest.approx(exact)


def test_accident_turns_no_score_around():
    scores, members = shadows(0.0, 1.0, n=50)
    for flip in (scores, -scores):
        assert NormalScore.of(flip, members).evidence > 0


def test_certainty_and_silence_are_finite():
    assert 0 < NormalScore(0.0, 5.0, 0.0).evidence < np.inf
    assert NormalScore(3.0, 3.0, 0.0).evidence == 0.0
    many = NormalScore(np.zeros(2), np.array([0.0, 2.0]), np.array([0.0, 4.0]))
    assert many.evidence.tolist() == [0.0, 0.5]
    assert many.threshold(0.5).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("fpr", [0.01, 0.05, 0.9])
def test_a_score_that_never_varies_raises_no_false_alarm(fpr):
    law = NormalScore.of(np.array([4.0, 4.0, 9.0, 9.0]), np.array([False, False, True, True]))
    assert law.variance == 0.0
    assert 4.0 < law.threshold(fpr) <= 9.0
    rounds = NormalScore(np.array([4.0, 4.0]), np.array([9.0, 9.0]), np.array([0.0, 1.0]))
    assert rounds.threshold(0.5).tolist() == [6.5, 4.0]


def test_both_worlds_are_needed():
    with pytest.raises(BadInput, match="two releases"):
        NormalScore.of(np.arange(4.0), np.array([True, True, True, False]))

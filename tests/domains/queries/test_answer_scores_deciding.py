import numpy as np
import pytest
from scipy import stats

from leakgauge.domains.queries.answer_scores import LikelihoodScore, MidpointScore, TTest, TTestScore
from leakgauge.mechanisms import gaussian, geometric, laplace

SHIFTS = np.array([1.0, -3.0])
NOISE = laplace.Mechanism(scale=2.0)
RULES = [
    TTestScore(TTest(), 0.05, SHIFTS),
    TTestScore(TTest(sides=1), 0.05, SHIFTS),
    MidpointScore(SHIFTS, 1.0),
    LikelihoodScore(NOISE.log_law, SHIFTS),
]


@pytest.fixture
def samples():
    return np.random.default_rng(1).laplace(size=(50, 2, 6))


@pytest.mark.parametrize("rule", RULES)
def test_refused_answers_are_as_if_never_asked(rule, samples):
    refused = samples.copy()
    refused[:, :, 4:] = np.nan
    np.testing.assert_allclose(rule(refused), rule(samples[:, :, :4]), rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_without_answers_there_is_no_evidence(rule):
    assert (rule(np.full((3, 2, 6), np.nan)) == 0).all()


@pytest.mark.parametrize("rule", RULES)
def test_samples_are_left_as_they_are(rule, samples):
    samples.setflags(write=False)
    np.testing.assert_array_equal(rule(samples), rule(samples))


def test_one_answer_is_no_evidence_to_a_t_test():
    assert RULES[0](np.array([[[5.0], [5.0]]])).tolist() == [[0.0, 0.0]]


def test_the_t_test_says_member_exactly_where_it_rejects(samples):
    rejects = stats.ttest_1samp(samples, 0.0, axis=2).pvalue <= 0.05
    assert 0 < rejects.sum() < rejects.size
    np.testing.assert_array_equal(RULES[0](samples) >= 0, rejects)


def test_one_sided_tests_look_to_the_side_of_the_target():
    up = np.array([[[2.0, 2.5, 3.0, 2.2], [2.0, 2.5, 3.0, 2.2]]])
    first, second = RULES[1](up)[0]
    assert first > 0 > second
    first, second = RULES[1](-up)[0]
    assert first < 0 < second


def test_the_midpoint_is_half_of_the_value():
    at, below, above = (np.full((1, 2, 3), 1.0) * (SHIFTS / 2)[:, None] * k for k in (1.0, 0.9, 1.1))
    rule = MidpointScore(SHIFTS, 1.0)
    assert rule(at).tolist() == [[0.0, 0.0]]
    assert (rule(below) < 0).all()
    assert (rule(above) > 0).all()


def test_under_gaussian_noise_midpoint_and_likelihood_are_one(samples):
    noise = gaussian.Mechanism(sigma=2.0, delta=1e-5)
    np.testing.assert_allclose(
        LikelihoodScore(noise.log_law, SHIFTS)(samples), MidpointScore(SHIFTS, 2.0)(samples)
    )


def test_under_laplace_noise_the_likelihood_is_the_sum_of_clipped_answers(samples):
    half = np.abs(SHIFTS)[:, None] / 2
    sides = np.sign(SHIFTS)[:, None]
    clipped = np.clip(samples * sides - half, -half, half).sum(axis=2)
    np.testing.assert_allclose(LikelihoodScore(NOISE.log_law, SHIFTS)(samples), 2 * clipped / 2.0, atol=1e-12)


def test_whole_numbers_under_geometric_noise_have_whole_ratios():
    noise = geometric.Mechanism(epsilon=0.5)
    samples = np.array([[[0.0, 1.0, 5.0, np.nan]]])
    found = LikelihoodScore(noise.log_law, np.array([1.0]))(samples)
    assert found.tolist() == [[pytest.approx(0.5)]]  # -0.5 + 0.5 + 0.5

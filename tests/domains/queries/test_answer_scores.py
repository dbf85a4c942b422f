import numpy as np
import pytest
from scipy import stats

from leakgauge.core.errors import BadInput
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
def test_refused_answers_are_ignored(rule, samples):
    refused = samples.copy()
    refused[:, :, 4:] = np.nan
    np.testing.assert_allclose(rule(refused), rule(samples[:, :, :4]), rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_no_answers_are_no_evidence(rule):
    assert (rule(np.full((3, 2, 6), np.nan)) == 0).all()


@pytest.mark.parametrize("rule", RULES)
def test_samples_are_unchanged(rule, samples):
    samples.setflags(write=False)
    np.testing.assert_array_equal(rule(samples), rule(samples))


def test_t_test_needs_two_answers():
    assert RULES[0](np.array([[[5.0], [5.0]]])).tolist() == [[0.0, 0.0]]


def test_t_test_score_is_positive_where_it_rejects(samples):
    rejects = stats.ttest_1samp(samples, 0.0, axis=2).pvalue <= 0.05
    assert 0 < rejects.sum() < rejects.size
    np.testing.assert_array_equal(RULES[0](samples) >= 0, rejects)


def test_one_sided_test_follows_sign_of_target():
    up = np.array([[[2.0, 2.5, 3.0, 2.2], [2.0, 2.5, 3.0, 2.2]]])
    first, second = RULES[1](up)[0]
    assert first > 0 > second
    first, second = RULES[1](-up)[0]
    assert first < 0 < second


def test_midpoint_is_half_the_value():
    at, below, above = (np.full((1, 2, 3), 1.0) * (SHIFTS / 2)[:, None] * k for k in (1.0, 0.9, 1.1))
    rule = MidpointScore(SHIFTS, 1.0)
    assert rule(at).tolist() == [[0.0, 0.0]]
    assert (rule(below) < 0).all()
    assert (rule(above) > 0).all()


def test_midpoint_and_likelihood_agree_under_gaussian_noise(samples):
    noise = gaussian.Mechanism(sigma=2.0, delta=1e-5)
    np.testing.assert_allclose(
        LikelihoodScore(noise.log_law, SHIFTS)(samples), MidpointScore(SHIFTS, 2.0)(samples)
    )


def test_laplace_likelihood_is_sum_of_clipped_answers(samples):
    half = np.abs(SHIFTS)[:, None] / 2
    sides = np.sign(SHIFTS)[:, None]
    clipped = np.clip(samples * sides - half, -half, half).sum(axis=2)
    np.testing.assert_allclose(LikelihoodScore(NOISE.log_law, SHIFTS)(samples), 2 * clipped / 2.0, atol=1e-12)


def test_geometric_ratios_of_integers_are_integers():
    noise = geometric.Mechanism(epsilon=0.5)
    samples = np.array([[[0.0, 1.0, 5.0, np.nan]]])
    found = LikelihoodScore(noise.log_law, np.array([1.0]))(samples)
    assert found.tolist() == [[pytest.approx(0.5)]]  # -0.5 + 0.5 + 0.5


@pytest.fixture
def t_samples():
    return np.random.default_rng(1).laplace(0.5, size=(40, 3, 7))


@pytest.mark.parametrize(("sides", "alternative"), [(2, "two-sided"), (1, "greater")])
def test_textbook_form_matches_scipy(t_samples, sides, alternative):
    book = stats.ttest_1samp(t_samples, 0.0, axis=2, alternative=alternative)
    t, freedom = TTest(sides=sides).statistics(t_samples)
    np.testing.assert_allclose(t, book.statistic, rtol=1e-12)
    assert (freedom == 6).all()
    np.testing.assert_allclose(TTest(sides=sides).p_values(t_samples), book.pvalue, rtol=1e-9)


@pytest.mark.parametrize("sides", [1, 2])
def test_paper_form_divides_by_n_and_keeps_degrees_of_freedom(t_samples, sides):
    t = t_samples.mean(axis=2) / t_samples.std(axis=2, ddof=0) * np.sqrt(7)
    p = sides * stats.t.sf(np.abs(t) if sides == 2 else t, 6)
    np.testing.assert_allclose(TTest(form="paper", sides=sides).p_values(t_samples), p, rtol=1e-9)


def test_missing_answers_are_ignored(t_samples):
    holes = t_samples.copy()
    holes[:, :, 4:] = np.nan
    holes[0, 0, 1:] = np.nan
    book = stats.ttest_1samp(t_samples[1:, :, :4], 0.0, axis=2)
    p = TTest().p_values(holes)
    np.testing.assert_allclose(p[1:], book.pvalue, rtol=1e-9)
    assert np.isnan(p[0, 0])


def test_fewer_than_two_answers_have_no_p_value():
    assert np.isnan(TTest().p_values(np.array([[np.nan, np.nan], [1.0, np.nan]]))).all()
    assert np.isnan(TTest(form="paper").p_values(np.array([[5.0]]))).all()


def test_equal_answers_are_certain_or_uninformative():
    assert TTest().p_values(np.array([[2.0, 2.0], [0.0, 0.0]])).tolist() == [0.0, 1.0]
    assert TTest(sides=1).p_values(np.array([[-2.0, -2.0], [0.0, 0.0]])).tolist() == [1.0, 0.5]


@pytest.mark.parametrize("wrong", [{"form": "book"}, {"sides": 3}])
def test_rejects_unknown_forms(wrong):
    with pytest.raises(BadInput, match="must be"):
        TTest(**wrong)

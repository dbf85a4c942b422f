import numpy as np
import pytest
from scipy import stats

from leakgauge.core.errors import BadInput
from leakgauge.domains.queries.answer_scores import TTest


@pytest.fixture
def samples():
    return np.random.default_rng(1).laplace(0.5, size=(40, 3, 7))


@pytest.mark.parametrize(("sides", "alternative"), [(2, "two-sided"), (1, "greater")])
def test_the_textbook_form_is_the_book_s(samples, sides, alternative):
    book = stats.ttest_1samp(samples, 0.0, axis=2, alternative=alternative)
    t, freedom = TTest(sides=sides).statistics(samples)
    np.testing.assert_allclose(t, book.statistic, rtol=1e-12)
    assert (freedom == 6).all()
    np.testing.assert_allclose(TTest(sides=sides).p_values(samples), book.pvalue, rtol=1e-9)


@pytest.mark.parametrize("sides", [1, 2])
def test_the_paper_s_form_divides_by_the_number_and_keeps_the_degrees_of_freedom(samples, sides):
    t = samples.mean(axis=2) / samples.std(axis=2, ddof=0) * np.sqrt(7)
    p = sides * stats.t.sf(np.abs(t) if sides == 2 else t, 6)
    np.testing.assert_allclose(TTest(form="paper", sides=sides).p_values(samples), p, rtol=1e-9)


def test_missing_answers_are_left_out(samples):
    holes = samples.copy()
    holes[:, :, 4:] = np.nan
    holes[0, 0, 1:] = np.nan
    book = stats.ttest_1samp(samples[1:, :, :4], 0.0, axis=2)
    p = TTest().p_values(holes)
    np.testing.assert_allclose(p[1:], book.pvalue, rtol=1e-9)
    assert np.isnan(p[0, 0])


def test_fewer_than_two_answers_have_no_p_value():
    assert np.isnan(TTest().p_values(np.array([[np.nan, np.nan], [1.0, np.nan]]))).all()
    assert np.isnan(TTest(form="paper").p_values(np.array([[5.0]]))).all()


def test_equal_answers_are_certain_or_say_nothing():
    assert TTest().p_values(np.array([[2.0, 2.0], [0.0, 0.0]])).tolist() == [0.0, 1.0]
    assert TTest(sides=1).p_values(np.array([[-2.0, -2.0], [0.0, 0.0]])).tolist() == [1.0, 0.5]


@pytest.mark.parametrize("wrong", [{"form": "book"}, {"sides": 3}])
def test_other_forms_are_refused(wrong):
    with pytest.raises(BadInput, match="must be"):
        TTest(**wrong)

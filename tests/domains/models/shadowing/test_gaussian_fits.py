import numpy as np
import pytest
from scipy.stats import norm

from leakgauge.domains.models.shadowing.gaussian_fits import fit, shared_deviation

# Three shadows, two records; what counts of the first: 1, 3; of the second: 2, 4, 9.
VALUES = np.array([[1.0, 2.0], [3.0, 4.0], [100.0, 9.0]])
WHERE = np.array([[True, True], [True, True], [False, True]])


def test_a_fit_has_mean_and_deviation_of_what_counts():
    fitted = fit(VALUES, WHERE)
    np.testing.assert_allclose(fitted.mean, [2.0, 5.0])
    np.testing.assert_allclose(fitted.deviation**2, [2.0, (9 + 1 + 16) / 2])


def test_a_shared_deviation_is_about_the_mean_of_each_record():
    assert shared_deviation(VALUES, WHERE) ** 2 == pytest.approx((2 + 26) / 3)
    fitted = fit(VALUES, WHERE, shared=0.5)
    np.testing.assert_allclose(fitted.mean, [2.0, 5.0])
    np.testing.assert_allclose(fitted.deviation, 0.5)


def test_a_record_with_one_value_has_no_part_in_a_shared_deviation():
    alone = np.array([[True, True], [False, True], [False, True]])
    assert shared_deviation(VALUES, alone) ** 2 == pytest.approx(26 / 2)


def test_densities_are_those_of_scipy_up_to_a_constant():
    fitted, at = fit(VALUES, WHERE), np.array([0.5, 7.0])
    expected = norm.logpdf(at, fitted.mean, fitted.deviation) + 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(fitted.log_density(at), expected)
    np.testing.assert_allclose(fitted.standardised(at), [-1.5 / np.sqrt(2), 2 / np.sqrt(13)])


def test_models_that_all_say_the_same_leave_finite_numbers():
    fitted = fit(np.ones((4, 1)), np.ones((4, 1), dtype=bool))
    assert np.isfinite(fitted.log_density(np.array([-700.0]))).all()
    assert shared_deviation(np.ones((4, 1)), np.eye(4, 1, dtype=bool)) > 0

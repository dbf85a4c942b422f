import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

from leakgauge.strategies.mixing import log_mix, log_slide, log_sum, sliding


def test_a_mixture_is_the_sum_over_counts():
    rng = np.random.default_rng(1)
    weights, law = rng.normal(size=(4, 9)), rng.normal(size=(9, 6))
    expected = logsumexp(weights[:, :, None] + law[None], axis=1)
    np.testing.assert_allclose(log_mix(weights, law), expected, atol=1e-12)


def test_a_mixture_of_numbers_no_float_can_hold_is_exact():
    """The weights die where the law lives: every product is below the smallest float."""
    counts = np.arange(60.0)
    weights, law = (
        -40.0 * counts[None] ** 1.5,
        -30.0 * np.abs(counts[:, None] - np.array([0.0, 55.0, 2000.0])),
    )
    found = log_mix(weights, law)[0]
    with mpmath.workdps(50):
        for x, value in enumerate(found):
            exact = mpmath.log(
                mpmath.fsum(mpmath.exp(w + k) for w, k in zip(weights[0], law[:, x], strict=True))
            )
            assert value == pytest.approx(float(exact), rel=1e-12)


def test_what_is_impossible_stays_impossible():
    weights = np.array([[0.0, -np.inf], [-np.inf, -np.inf]])
    law = np.array([[-np.inf, 1.0], [3.0, -np.inf]])
    np.testing.assert_array_equal(log_mix(weights, law), [[-np.inf, 1.0], [-np.inf, -np.inf]])
    np.testing.assert_array_equal(log_sum(np.full((2, 3), -np.inf)), [-np.inf, -np.inf])


@pytest.mark.parametrize("scale", [1.0, 400.0])
def test_a_law_that_slides_gives_the_same_mixture_as_its_matrix(scale):
    rng = np.random.default_rng(2)
    weights, values = scale * rng.normal(size=(3, 8)), scale * rng.normal(size=20)
    law = np.array([[values[7 - c + x] for x in range(13)] for c in range(8)])
    np.testing.assert_array_equal(sliding(values, 8), law)
    expected = logsumexp(weights[:, :, None] + law[None], axis=1)
    np.testing.assert_allclose(log_slide(weights, values), expected, rtol=1e-12)

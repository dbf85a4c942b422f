import numpy as np
import pytest
from scipy.stats import kstest, laplace, norm

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.feature_laplace import Mechanism
from leakgauge.theory import tradeoff


def test_scale_covers_opposite_bounds():
    mechanism = Mechanism(epsilon=4.0, features=10, bound=3.0)
    assert mechanism.noise_scale == 2 * 3 * 10 / 4
    rows = np.full(10, -3.0), np.full(10, 3.0)
    outputs = np.linspace(-100, 100, 401)[:, None] * np.ones(10)
    losses = [mechanism.log_law(outputs, row).sum(axis=1) for row in rows]
    assert np.abs(losses[1] - losses[0]).max() == pytest.approx(4.0, rel=1e-12)
    assert mechanism.guarantee.exact_epsilon == mechanism.guarantee.epsilon == pytest.approx(4.0, rel=1e-12)
    assert mechanism.guarantee.sensitivity == 60


def test_stated_scale_makes_epsilon_nominal():
    guarantee = Mechanism(epsilon=1.0, scale=0.5, features=4, bound=2.0).guarantee
    assert guarantee.nominal_epsilon == 1
    assert guarantee.epsilon == guarantee.exact_epsilon == 2 * 2 * 4 / 0.5


def test_default_bound_is_range_of_ten_bits():
    assert Mechanism(epsilon=1.0).bound == 511 / 16
    assert Mechanism(epsilon=1.0).noise_scale == 2 * 511 / 16 * 512


def test_samples_and_distribution_are_centred_on_clipped_value():
    mechanism = Mechanism(scale=0.7, features=1, bound=2.0)
    outputs = mechanism.sample(np.full((50_000, 1), 5.0), np.random.default_rng(1)).ravel()
    assert kstest(outputs, laplace(2.0, 0.7).cdf).pvalue > 1e-3
    np.testing.assert_allclose(
        mechanism.log_law(outputs[:9], np.full(9, 5.0)), laplace(2.0, 0.7).logpdf(outputs[:9])
    )


def test_equally_clipped_rows_have_no_privacy_loss():
    curve = Mechanism(epsilon=1.0, features=2, bound=1.0).curve(np.array([1.0, 0.2]), np.array([7.0, 0.2]))
    np.testing.assert_allclose(curve.fpr, curve.tpr, atol=1e-12)


def test_curve_of_many_features_is_nearly_gaussian():
    accuracy = tradeoff.max_accuracy(Mechanism(epsilon=10.0).guarantee)
    assert accuracy == pytest.approx(norm.cdf(10 / np.sqrt(512) / 2), abs=2e-3)


def test_few_values_may_be_clipped_by_default():
    values = np.linspace(0, 1, 1001)
    assert Mechanism(epsilon=1.0, bound=0.9905).require_range(values) == pytest.approx(10 / 1001)
    with pytest.raises(BadInput, match=r"feature_laplace: 2\.0% of the values lie beyond"):
        Mechanism(epsilon=1.0, bound=0.98).require_range(values)
    share = Mechanism(epsilon=1.0, bound=0.5, saturate=True).require_range(values)
    assert share == pytest.approx(500 / 1001)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rejects_non_finite_features(value):
    mechanism = Mechanism(epsilon=1.0)
    for call in (
        lambda: mechanism.sample(np.array([value]), np.random.default_rng(1)),
        lambda: mechanism.require_range(np.array([value])),
    ):
        with pytest.raises(BadInput, match="finite"):
            call()


def test_rejects_rows_with_more_features_than_promised():
    with pytest.raises(BadInput, match=r"rows of 3 features.*state features = 3"):
        Mechanism(epsilon=1.0, features=2).sample(np.zeros((1, 3)), np.random.default_rng(1))


@pytest.mark.parametrize("wrong", [{"bound": 0.0}, {"bound": np.nan}, {"features": 0}, {"scale": -1.0}])
def test_rejects_parameters_out_of_range(wrong):
    with pytest.raises(BadInput, match=f"feature_laplace: {next(iter(wrong))}"):
        Mechanism(**{"epsilon": 1.0, **wrong})


def test_needs_epsilon_or_scale():
    with pytest.raises(BadInput, match="neither epsilon nor scale"):
        Mechanism()

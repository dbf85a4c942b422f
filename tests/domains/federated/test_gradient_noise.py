import math

import pytest

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Relation
from leakgauge.domains.federated.gradient_noise import GradientNoise


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [(7.5, 0.01, 0.41433), (1.0, 0.01, 3.10751), (1.0, 1e-5, 4.84481)],  # sqrt(2 ln(1.25 / delta)) / epsilon
)
def test_the_size_of_the_noise_is_the_published_one(epsilon, delta, sigma):
    assert GradientNoise(epsilon=epsilon, delta=delta).multiplier == pytest.approx(sigma, rel=1e-4)


def test_a_stated_size_goes_before_an_epsilon():
    assert GradientNoise(epsilon=1.0, sigma=0.7).multiplier == 0.7


@pytest.mark.parametrize("iterations", [1, 16])
@pytest.mark.parametrize("clip", [1.0, 0.3])
def test_what_is_promised_is_what_an_accountant_finds_for_a_row_that_is_replaced(iterations, clip):
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

    noise = GradientNoise(epsilon=1.0, delta=1e-3, clip=clip)
    promised = noise.guarantee(iterations)
    one = from_gaussian_mechanism(
        noise.multiplier * clip, sensitivity=2 * clip, value_discretization_interval=1e-3
    )
    theirs = one.self_compose(iterations).get_epsilon_for_delta(1e-3)
    assert promised.epsilon == pytest.approx(theirs, rel=5e-3)
    assert promised.exact_epsilon == promised.epsilon
    assert (promised.delta, promised.relation, promised.nominal_epsilon) == (1e-3, Relation.REPLACE_ONE, 1.0)


def test_iterations_cost():
    noise = GradientNoise(epsilon=8.0)
    epsilons = [noise.guarantee(iterations).epsilon for iterations in (1, 2, 4, 100)]
    assert epsilons == sorted(epsilons)
    assert epsilons[0] > 8.0  # the label is for a row that is added, and for a rule of thumb


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "neither epsilon nor sigma"),
        ({"epsilon": 0.0}, "must be > 0"),
        ({"epsilon": -1.0}, "must be > 0"),
        ({"epsilon": math.nan}, "must be > 0"),
        ({"sigma": 0.0}, "must be > 0"),
        ({"sigma": math.nan}, "must be > 0"),
        ({"epsilon": 1.0, "delta": 0.0}, "delta must be in"),
        ({"epsilon": 1.0, "delta": math.nan}, "delta must be in"),
        ({"epsilon": 1.0, "clip": 0.0}, "clip must be > 0"),
        ({"epsilon": 1.0, "clip": math.nan}, "clip must be > 0"),
    ],
)
def test_noise_that_makes_no_sense_is_refused(wrong, message):
    with pytest.raises(BadInput, match=message):
        GradientNoise(**wrong)

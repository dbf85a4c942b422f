"""Reused noise: found in every form, and independent noise is seldom accused."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from leakgauge.core.errors import BadInput
from leakgauge.mechanisms.gaussian import Mechanism as Gaussian
from leakgauge.mechanisms.geometric import Mechanism as Geometric
from leakgauge.mechanisms.laplace import Mechanism as Laplace
from leakgauge.referee.noise_tests import CERTAIN
from leakgauge.referee.reused_noise import reused_noise
from leakgauge.referee.stated_noise import Rounding
from night import others_at_night

NOISES = {
    "laplace": Laplace(scale=2.0),
    "gaussian": Gaussian(sigma=5.0, delta=1e-6),
    "geometric": Geometric(scale=10.0),
    "fine geometric": Geometric(scale=1.0),
}


CASES = list(product(NOISES, ["as it is", "rounded and clamped"]))


@pytest.mark.parametrize(
    ("name", "stated"),
    others_at_night(
        CASES, ("laplace", "as it is"), ("fine geometric", "as it is"), ("gaussian", "rounded and clamped")
    ),
)
def test_independent_noise_is_seldom_accused(name, stated):
    noise, rng = NOISES[name], np.random.default_rng([31, list(NOISES).index(name), len(stated)])
    truths = np.array([0.0, 3.0, 40.0])
    answers = truths + noise.draw((1_000, 24, 3), rng)
    chain = {}
    if stated != "as it is":
        answers, chain = np.clip(np.round(answers), 0.0, 50.0), {"rounding": Rounding(), "clamp": (0.0, 50.0)}
    p_values = [reused_noise(one - truths, noise, truths=truths, **chain).p_value for one in answers]
    for level in (0.01, 0.05, 0.2):
        assert np.mean(np.array(p_values) <= level) <= stats.binom.ppf(0.9995, 1_000, level) / 1_000


@pytest.mark.parametrize(
    "hidden",
    [lambda sums: np.round(sums, 1), lambda sums: np.round(sums), lambda sums: np.round(sums * 2) / 2],
)
def test_rounding_that_was_not_stated_is_not_taken_for_reuse(hidden):
    rng = np.random.default_rng(32)
    p_values = [
        reused_noise(hidden(one), NOISES["laplace"]).p_value for one in rng.laplace(0, 2, (300, 40, 4))
    ]
    assert np.mean(np.array(p_values) <= 0.05) <= stats.binom.ppf(0.999, 300, 0.05) / 300


def test_a_grid_of_our_own_mechanisms_gives_chance_matches_that_do_not_count():
    noise, rng = NOISES["laplace"], np.random.default_rng(33)
    p_values = [reused_noise(noise.sample(np.zeros((400, 10)), rng), noise).p_value for _ in range(100)]
    assert np.mean(np.array(p_values) <= 0.05) <= 0.13


def reuse(kind, drawn, rng):
    if kind == "one question repeats another":
        drawn[:, 3] = drawn[:, 1]
    elif kind == "sessions start alike":
        drawn[20:] = drawn[:20]
    elif kind == "one draw in each round":
        drawn[:] = drawn[:, :1]
    elif kind == "one draw for ever":
        drawn[:] = drawn[0]
    return drawn


@pytest.mark.parametrize(
    "kind",
    ["one question repeats another", "sessions start alike", "one draw in each round", "one draw for ever"],
)
@pytest.mark.parametrize("name", ["laplace", "gaussian", "geometric"])
def test_every_kind_of_reuse_is_certain(name, kind):
    rng, truths = np.random.default_rng([34, len(name)]), np.arange(10.0) * 1000 / 7
    truths = np.round(truths) if name == "geometric" else truths
    answers = truths + reuse(kind, NOISES[name].draw((40, 10), rng), rng)
    test = reused_noise(answers - truths, NOISES[name], truths=truths)
    assert test.p_value < CERTAIN
    assert test.violates


def test_real_noise_from_a_store_of_a_thousand_numbers_is_certain():
    rng = np.random.default_rng(35)
    drawn = rng.choice(rng.laplace(scale=2.0, size=1_000), (200, 1))
    assert reused_noise(drawn, NOISES["laplace"]).p_value < CERTAIN


def test_missing_answers_match_nothing():
    drawn = np.full((40, 3), np.nan)
    drawn[:, 0] = np.random.default_rng(36).laplace(scale=2.0, size=40)
    assert reused_noise(drawn, NOISES["laplace"]).p_value > 0.5
    with pytest.raises(BadInput, match="rounds x questions"):
        reused_noise(drawn[:, 0], NOISES["laplace"])

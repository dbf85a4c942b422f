"""Trials whose truth is known without our code."""

import numpy as np
from numpy.random import Generator

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.game import Coins, Reading, Trials

RANK = Reading()
SIGNED = Reading(signed=True, threshold=0.0)


def trials(
    members: Bits, scores: Reals, reading: Reading = RANK, coins: Coins = Coins.FAIR, n_targets: int = 1
) -> Trials:
    """Rows round by round; every round has all targets."""
    rows = np.arange(members.size)
    return Trials(rows // n_targets, rows % n_targets, members, scores.astype(float), coins, reading)


def coins(n: int, rng: Generator) -> Bits:
    return rng.random(n) < 0.5


def randomized_response(epsilon: float, n: int, rng: Generator) -> Trials:
    """Meets its epsilon with equality."""
    members = coins(n, rng)
    lies = rng.random(n) < 1 / (1 + np.exp(epsilon))
    return trials(members, np.where(members ^ lies, 1.0, -1.0), SIGNED)


def laplace(epsilon: float, n: int, rng: Generator, reading: Reading = SIGNED) -> Trials:
    """One noisy bit; signed scores are its exact log-likelihood ratio, others the noisy value itself."""
    members = coins(n, rng)
    noisy = members + rng.laplace(scale=1 / epsilon, size=n)
    scores = 2 * epsilon * np.clip(noisy - 0.5, -0.5, 0.5) if reading.signed else noisy
    return trials(members, scores, reading)


def gaussian(sigma: float, n: int, rng: Generator, reading: Reading = SIGNED) -> Trials:
    """One bit with Gaussian noise, scored by its log-likelihood ratio."""
    members = coins(n, rng)
    return trials(members, (members + rng.normal(0, sigma, n) - 0.5) / sigma**2, reading)


def nothing(n: int, rng: Generator, reading: Reading = RANK) -> Trials:
    """Scores that carry no information."""
    return trials(coins(n, rng), rng.normal(size=n), reading)


def shared_cell(n_rounds: int, n_targets: int, epsilon: float, rng: Generator) -> Trials:
    """Many targets counted in one noisy cell: every target's score is the same release.

    The attacker sees the noisy count and no bit, so each target keeps its own epsilon.
    """
    members = rng.random((n_rounds, n_targets)) < 0.5
    noisy = members.sum(axis=1) + rng.laplace(scale=1 / epsilon, size=n_rounds)
    scores = np.repeat(noisy - n_targets / 2, n_targets)
    return trials(members.ravel(), scores, SIGNED, n_targets=n_targets)


def leaky_response(epsilon: float, delta: float, n: int, rng: Generator) -> Trials:
    """Meets (epsilon, delta) with equality: shows the bit with chance delta, else randomized response."""
    plain = randomized_response(epsilon, n, rng)
    shown = rng.random(n) < delta
    return trials(plain.members, np.where(shown, np.where(plain.members, 2.0, -2.0), plain.scores), SIGNED)


def own_responses(n_rounds: int, n_targets: int, epsilon: float, rng: Generator) -> Trials:
    """Many targets in one release, each with a randomized response of its own: each meets its epsilon."""
    one = randomized_response(epsilon, n_rounds * n_targets, rng)
    return trials(one.members, one.scores, SIGNED, n_targets=n_targets)

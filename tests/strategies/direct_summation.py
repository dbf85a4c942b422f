"""Log ratios of counts by direct summation over every count, with the laws of scipy."""

from functools import cache

import numpy as np
from scipy.special import logsumexp
from scipy.stats import betabinom, binom


@cache
def log_masses(n: int, rate: float, coins: int, shape: float = np.inf) -> np.ndarray:
    """Log law of Binomial(n, rate), or a beta-binomial, + Binomial(coins, 1/2), term by term."""
    counts, flips = np.arange(n + 1), binom.logpmf(np.arange(coins + 1), coins, 0.5)
    if np.isinf(shape):
        others = binom.logpmf(counts, n, rate)
    else:
        others = betabinom.logpmf(counts, n, shape, shape * (1 - rate) / rate)
    terms = np.full((coins + 1, n + coins + 1), -np.inf)
    for heads in range(coins + 1):
        terms[heads, heads : heads + n + 1] = others + flips[heads]
    return logsumexp(terms, axis=0)


def by_summation(law, outputs, known, prior, weights=None) -> np.ndarray:
    outputs = np.asarray(outputs, dtype=float)
    known, rates = np.broadcast_to(known, outputs.shape), np.broadcast_to(prior.rates, outputs.shape)
    shapes = np.broadcast_to(np.inf if prior.shapes is None else prior.shapes, outputs.shape)
    ratios = np.empty(outputs.shape)
    for (i, j), output in np.ndenumerate(outputs):
        coins = int(prior.coins[j])
        inside = log_masses(prior.n_in, rates[i, j], coins, shapes[i, j])
        outside = log_masses(prior.n_out, rates[i, j], coins, shapes[i, j])
        there = logsumexp(inside + law.log_law(output, known[i, j] + np.arange(inside.size) + 1))
        away = logsumexp(inside + law.log_law(output, known[i, j] + np.arange(inside.size)))
        without = logsumexp(outside + law.log_law(output, known[i, j] + np.arange(outside.size)))
        if weights is not None:
            there = logsumexp([there, away], b=[weights[j], 1 - weights[j]])
        ratios[i, j] = 0.0 if there == without == -np.inf else np.clip(there - without, -1e6, 1e6)
    return ratios

"""The best attack on values moved by one, from textbook formulas: none of the code under test is used."""

import numpy as np
from scipy.stats import logistic


def logistic_losses(scale):
    """Probabilities for a member, and privacy losses, of narrow bins of outputs; a step to round to."""
    edges = scale * np.arange(-45.0, 46.0 + 1 / scale, 1e-3)
    middles = (edges[1:] + edges[:-1]) / 2
    losses = logistic.logpdf(middles - 1, scale=scale) - logistic.logpdf(middles, scale=scale)
    return np.diff(logistic.cdf(edges - 1, scale=scale)), losses, 1e-3


def discrete_gaussian_losses(sigma):
    """Probabilities for a member, and privacy losses, of whole outputs; the step between losses."""
    outputs = np.arange(-np.ceil(12 * sigma), np.ceil(12 * sigma) + 1)
    weights = np.exp(-(outputs**2) / (2 * sigma**2))
    return weights / weights.sum(), (2 * outputs + 1) / (2 * sigma**2), 1 / sigma**2


def best_accuracy(masses, losses, step, n):
    """Balanced accuracy of the best attack on n values: (1 + E (1 - e^-loss)+) / 2 of the sum of losses."""
    least = losses.min()
    atoms = np.bincount(np.round((losses - least) / step).astype(int), masses)
    total = np.ones(1)
    for _ in range(n):
        total = np.convolve(total, atoms)
    loss = n * least + step * np.arange(total.size)
    return float(1 + np.sum(total[loss > 0] * -np.expm1(-loss[loss > 0]))) / 2

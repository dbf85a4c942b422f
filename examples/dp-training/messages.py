"""A classifier of short messages, trained by a DP-SGD loop in NumPy, with canaries among the messages.

A message is ten words. A canary is ten words that hardly occur elsewhere, with a random label: the trained
model gives it a lower loss if it was in the data.
"""

import numpy as np

MESSAGES, WORDS, RARE_WORDS, LENGTH = 1_000, 500, 30_000, 10
STEPS, RATE, CLIP = 40, 0.5, 0.3
NOISE_MULTIPLIER = 3.58  # for epsilon = 4 at delta = 1e-5


def train(canaries, watch, rng):
    """Train once, on all messages and those ``canaries`` that are true; return the loss of every canary."""
    return _train(canaries, watch, rng, NOISE_MULTIPLIER)


def train_with_a_bug(canaries, watch, rng):
    """The same, with a quarter of the noise."""
    return _train(canaries, watch, rng, NOISE_MULTIPLIER / 4)


def _train(canaries, watch, rng, noise_multiplier):
    common = rng.integers(WORDS, size=(MESSAGES, LENGTH))
    rare = rng.integers(WORDS, RARE_WORDS, size=(len(canaries), LENGTH))
    words = np.concatenate([common, rare])
    labels = np.append(
        np.where(common.mean(axis=1) > WORDS / 2, 1, -1), rng.choice([-1, 1], size=len(canaries))
    )
    present = np.append(np.ones(MESSAGES, dtype=bool), canaries)
    weights = np.zeros(RARE_WORDS)
    sigma = watch.noise_multiplier(noise_multiplier)  # 0 in the positive control
    for _ in range(STEPS):
        batch = present & (rng.random(len(words)) < RATE)
        slopes = -labels[batch] / (1 + np.exp(_margins(weights, words[batch], labels[batch])))
        slopes *= np.minimum(1.0, CLIP / np.abs(slopes))  # the length of a gradient is that of its slope
        total = np.bincount(
            words[batch].ravel(), np.repeat(slopes, LENGTH) / np.sqrt(LENGTH), minlength=RARE_WORDS
        )
        noisy = total + sigma * CLIP * rng.normal(size=RARE_WORDS)
        weights -= 5.0 * noisy / (RATE * MESSAGES)
    return np.log1p(np.exp(-_margins(weights, rare, labels[MESSAGES:])))


def _margins(weights, words, labels):
    return labels * weights[words].sum(axis=1) / np.sqrt(LENGTH)

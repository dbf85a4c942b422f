"""Three ways to publish how many patients of each ward tested positive; two of them are wrong.

The two inputs differ by one patient of the second ward.
"""

import numpy as np

WITHOUT = np.array([[12, 3], [7, 4], [20, 9]])  # wards x (negative, positive)
WITH = np.array([[12, 3], [7, 5], [20, 9]])
patients = (WITHOUT, WITH)


def noisy_counts(table, rng):
    """Laplace noise of scale 1 on every count: one patient changes one count by one, so epsilon is 1."""
    return np.round(table + rng.laplace(scale=1.0, size=table.shape), 1)


def noisy_counts_with_total(table, rng):
    """The same counts plus the total of positives: a patient now affects two numbers, so epsilon is 2."""
    return {
        "by ward": noisy_counts(table, rng),
        "positives": round(table[:, 1].sum() + rng.laplace(scale=1.0), 1),
    }


def unrounded_counts(table, rng):
    """The same noise without rounding: the lowest bits of a floating-point sum reveal the true count."""
    return table + rng.laplace(scale=1.0, size=table.shape)

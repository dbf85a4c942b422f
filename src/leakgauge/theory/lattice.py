"""Privacy losses on a lattice, of pairs of laws that mirror each other.

A law is kept as the probabilities, for a member, of the losses 0, step, 2 step, ...; the losses below zero
follow: P(loss = -l) = e^-l P(loss = l). ``spread`` pushes an atom to the two nearest lattice points so that
its probability in both worlds stays what it is: the worlds can only become easier to tell apart (Blackwell
1953; Doroshenko et al. 2022). ``gathered`` lets an atom answer at random a little more often: they can only
become harder to tell apart.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from leakgauge.core.game import Reals

_ON_LATTICE = 1e-9  # in steps


def spread(losses: Reals, masses: Reals, step: float) -> Reals:
    """Put atoms (all losses above zero) on the lattice, revealing no less."""
    whole, rest = whole_and_rest(losses, step)
    above = masses * np.expm1(-rest) / np.expm1(-step)
    law = np.zeros(int(whole.max()) + 2)
    np.add.at(law, whole, masses - above)
    np.add.at(law, whole + 1, above)
    return completed(law, step)


def gathered(losses: Reals, masses: Reals, step: float) -> Reals:
    """Put atoms (all losses above zero) on the lattice, revealing no more."""
    whole, rest = whole_and_rest(losses, step)
    law = np.zeros(int(whole.max()) + 1)
    np.add.at(law, whole, masses * expit(losses - rest) / expit(losses))
    return completed(law, step)


def whole_and_rest(losses: npt.ArrayLike, step: float) -> tuple[npt.NDArray[np.int64], Reals]:
    """Steps that fit into each loss, and what is left of it."""
    losses = np.asarray(losses, dtype=float)
    steps = losses / step
    nearest = np.round(steps)
    exact = np.abs(steps - nearest) < _ON_LATTICE
    whole = np.where(exact, nearest, np.floor(steps))
    return whole.astype(np.int64), np.where(exact, 0.0, losses - whole * step)


def completed(law: Reals, step: float) -> Reals:
    """Set the probability of loss zero, which the losses above it settle."""
    law = np.trim_zeros(law[1:], "b")
    below = np.exp(-step * np.arange(1, law.size + 1))
    return np.append(max(0.0, 1.0 - float(np.sum(law * (1 + below)))), law)

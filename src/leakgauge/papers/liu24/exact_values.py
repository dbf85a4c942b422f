"""Exact accuracy and AUC of attacks that know everybody but the target, who is protected only by noise."""

from math import sqrt

import numpy as np

from leakgauge.core.arrays import Reals
from leakgauge.core.guarantee import Guarantee
from leakgauge.papers.liu24.plans import DELTA, EPSILON, SIGMA
from leakgauge.theory import composition, gdp, threshold_attacks
from leakgauge.theory.loss_composition import BestAttack, best_attack
from leakgauge.theory.privacy_loss import LaplaceCell


def accuracy(noise: str, attack: str, n: Reals) -> Reals:
    """The accuracy of an attack on n cells; the likelihood ratio is the best possible one."""
    match noise, attack:
        case "laplace", "one_threshold":
            return threshold_attacks.one_threshold_laplace(n, EPSILON)
        case "laplace", "likelihood":
            return np.array([optimum(noise, int(k)).accuracy[1] for k in n])
        case _, "two_threshold":
            return threshold_attacks.two_threshold(n, cell_error(noise))
        case _:
            return threshold_attacks.one_threshold_clt(n, 1 / SIGMA)


def auc(noise: str, attack: str, n: Reals) -> Reals:
    """The area under the ROC curve of an attack: how often a member scores higher, ties counted half."""
    match noise, attack:
        case "laplace", "one_threshold":  # the difference of two sums of n is a sum of 2n
            return np.array([1 - threshold_attacks.laplace_sum_above(k * EPSILON, 2 * int(k)) for k in n])
        case "laplace", "likelihood":
            return np.array([optimum(noise, int(k)).auc[1] for k in n])
        case _, "two_threshold":
            return np.array([_votes_auc(int(k), cell_error(noise)) for k in n])
        case _:
            return np.array([gdp.max_auc(sqrt(k) / SIGMA) for k in n])


def optimum(noise: str, n: int) -> BestAttack:
    """The best possible attack."""
    return best_attack([(LaplaceCell(EPSILON), n)]) if noise == "laplace" else best_attack(mu=sqrt(n) / SIGMA)


def any_mechanism(noise: str, n: Reals) -> Reals:
    """The most that n cells of this promise can reveal, whatever the mechanism (Kairouz et al. 2015)."""
    per_cell = Guarantee(epsilon=EPSILON, delta=0.0 if noise == "laplace" else DELTA)
    return np.array([composition.optimal_accuracy(per_cell, int(k)) for k in n])


def cell_error(noise: str) -> float:
    """The error rate of one cell with a threshold midway."""
    if noise == "laplace":
        return threshold_attacks.cell_error_laplace(EPSILON)
    return threshold_attacks.cell_error_gaussian(1 / SIGMA)


def sum_above(n: int, thresholds: Reals, *, member: bool) -> Reals:
    """Probability that n Laplace cells of a member, or of a non-member, sum to more than each threshold."""
    beyond = (thresholds - n * member) * EPSILON
    tails = [threshold_attacks.laplace_sum_above(abs(float(x)), n) for x in beyond]
    return np.where(beyond >= 0, tails, 1 - np.array(tails))


def _votes_auc(n: int, error: float) -> float:
    from leakgauge.theory.threshold_attacks import poisson_binomial

    members, others = (poisson_binomial([chance] * n) for chance in (1 - error, error))
    below = np.cumsum(others) - others / 2
    return float(members @ below)

"""Whether a stated noise distribution is that of the samples, as far as an attacker uses it.

An attacker uses a distribution for likelihood ratios alone. If each of many outputs was made with the target
or without it by a fair coin, and its log ratio is L, then the coin had shown "with" with probability
1 / (1 + e^-L): exactly, whatever the outputs are. So outputs are grouped by their ratios, and in each group
the number of those with the target is compared with its expectation.
"""

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Bits, Reals
from leakgauge.referee.noise_tests import NoiseTest

_GROUPS = 8


def ratio_calibration(ratios: Reals, members: Bits) -> NoiseTest:
    """Test whether log-likelihood ratios of outputs agree with the fair coins that decided on the target.

    Groups are chosen by the ratios alone. The p-value is the smallest of all groups times their number. That
    of a group bounds a sum of independent coins of different chances by the relative entropy (Hoeffding
    1963), so it holds for any number of outputs. An output that is impossible in both worlds, or in the one
    that it came from, refutes the distribution at once.

    >>> coins = np.arange(1000) % 2 == 0
    >>> ratio_calibration(np.where(coins, 1.0, -1.0), coins).p_value < 1e-6
    True
    """
    n = ratios.size
    if np.isnan(ratios).any():
        return _result(0.0, "it gives some outputs no probability, though they were released", n)
    chances = scipy.special.expit(ratios)
    worst, finding = 1.0, "it agrees with the samples"
    groups = _groups(ratios)
    for group in groups:
        expected, seen = float(chances[group].mean()), float(members[group].mean())
        exponent = group.size * float(
            scipy.special.rel_entr(seen, expected) + scipy.special.rel_entr(1 - seen, 1 - expected)
        )
        p_value = min(1.0, 2 * len(groups) * float(np.exp(-exponent)))
        if p_value < worst:
            worst = p_value
            finding = (
                f"of {group.size} outputs to which it gives a log ratio of about "
                f"{float(np.median(ratios[group])):.3g}, {expected:.1%} should have been made with the "
                f"target, and {seen:.1%} were"
            )
    return _result(worst, finding, n)


def _groups(ratios: Reals) -> list[npt.NDArray[np.intp]]:
    """Groups of about equal size by rising ratio; equal ratios are not divided."""
    order = np.argsort(ratios, kind="stable")
    ranked = ratios[order]
    ends = np.searchsorted(ranked, ranked[np.arange(1, _GROUPS) * ratios.size // _GROUPS], side="right")
    starts = np.searchsorted(ranked, ranked[np.arange(1, _GROUPS) * ratios.size // _GROUPS], side="left")
    return [part for part in np.split(order, np.unique(np.append(starts, ends))) if part.size]


def _result(p_value: float, finding: str, n: int) -> NoiseTest:
    return NoiseTest(name="stated_distribution", p_value=p_value, finding=finding, violates=False, n=n)

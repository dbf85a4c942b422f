"""Gaussian differential privacy: the best possible attack on Gaussian noise, in closed form.

``mu`` is the shift in standard deviations: distinguishing N(0, 1) from N(mu, 1) (Dong, Roth and Su 2022).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import TradeoffCurve
from leakgauge.theory.tradeoff import PositiveLosses, inner_curve, outer_curve

_BINS = 2500


def delta_at(mu: float, epsilon: float) -> float:
    """Smallest delta at an epsilon: Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

    (Balle and Wang 2018, theorem 8; Dong, Roth and Su 2022, corollary 2.13.)

    >>> round(delta_at(mu=1.0, epsilon=1.0), 6)
    0.126937
    """
    _require(mu=mu, epsilon=epsilon)
    if mu == 0 or epsilon == np.inf:
        return 0.0
    if mu == np.inf:
        return 1.0
    mu, epsilon = float(mu), float(epsilon)
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    density = np.exp(-near * near / 2)
    if near < 0:
        # epsilon - far^2 / 2 is -near^2 / 2: e^epsilon Phi(-far) without the difference of huge numbers
        return float(scipy.special.ndtr(-near) - density * scipy.special.erfcx(far / np.sqrt(2)) / 2)
    # e^epsilon times the normal density at far is the density at near: no cancellation, no overflow.
    return float(
        density * (scipy.special.erfcx(near / np.sqrt(2)) - scipy.special.erfcx(far / np.sqrt(2))) / 2
    )


def epsilon_at(mu: float, delta: float) -> float:
    """Smallest epsilon at a delta.

    >>> round(epsilon_at(mu=1 / 8.2543, delta=1e-5), 3)
    0.42
    """
    _require(mu=mu, delta=delta)
    if delta >= delta_at(mu, 0.0):
        return 0.0
    if delta == 0 or mu == np.inf:
        return np.inf
    # delta <= Phi(mu/2 - epsilon/mu) <= exp(-(epsilon/mu - mu/2)^2 / 2)
    most = mu * mu / 2 + mu * np.sqrt(2 * np.log(1 / delta))
    return _root(lambda epsilon: np.log(delta) - _log_delta(mu, epsilon), 0.0, most, 1e-14)


def mu_for(epsilon: float, delta: float) -> float:
    """The largest mu that stays within (epsilon, delta).

    >>> round(epsilon_at(mu_for(1.0, 1e-5), 1e-5), 9)
    1.0
    """
    _require(epsilon=epsilon, delta=delta)
    if delta == 0 or epsilon == np.inf:
        return 0.0 if delta == 0 else np.inf
    most = 1.0
    while delta_at(most, epsilon) < delta:
        most *= 2
    least = most
    while delta_at(least, epsilon) >= delta:
        least /= 2
    return _root(lambda mu: _log_delta(mu, epsilon) - np.log(delta), least, most, 1e-300)


def sigma_for(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The smallest standard deviation for (epsilon, delta): analytic calibration (Balle and Wang 2018).

    ``sensitivity`` is the L2 distance that one unit can move the release.
    """
    if not (delta > 0 and epsilon > 0 and sensitivity > 0):
        raise BadInput(
            f"Gaussian noise needs epsilon, delta and sensitivity > 0, got {epsilon}, {delta}, {sensitivity}"
        )
    return sensitivity / mu_for(epsilon, delta)


def classic_sigma_for(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The textbook standard deviation sqrt(2 ln(1.25 / delta)) sensitivity / epsilon, for epsilon <= 1.

    (Dwork and Roth 2014, theorem A.1.) It is not tight: its exact epsilon is smaller.

    >>> round(classic_sigma_for(0.5, 1 / 3998), 4)
    8.2543
    """
    if not 0 < epsilon <= 1:
        raise BadInput(
            f"the classic calibration of Gaussian noise holds for epsilon in (0, 1], got {epsilon}; "
            "use the analytic one"
        )
    if not (0 < delta < 1 and sensitivity > 0):
        raise BadInput(
            f"Gaussian noise needs delta in (0, 1) and sensitivity > 0, got {delta} and {sensitivity}"
        )
    return float(np.sqrt(2 * np.log(1.25 / delta))) * sensitivity / epsilon


def compose(mus: npt.ArrayLike) -> float:
    """The mu of several Gaussian releases: the root of the sum of squares (Dong, Roth and Su 2022)."""
    return float(np.linalg.norm(np.ravel(np.asarray(mus, dtype=float))))


def max_tpr(fpr: npt.ArrayLike, mu: float) -> Reals:
    """Largest true-positive rate at each false-positive rate: Phi(Phi^-1(FPR) + mu)."""
    _require(mu=mu)
    return np.asarray(scipy.special.ndtr(scipy.special.ndtri(np.asarray(fpr, dtype=float)) + mu))


def max_accuracy(mu: float) -> float:
    """Largest balanced accuracy: Phi(mu / 2)."""
    _require(mu=mu)
    return float(scipy.special.ndtr(mu / 2))


def max_auc(mu: float) -> float:
    """Largest area under the ROC curve: Phi(mu / sqrt 2)."""
    _require(mu=mu)
    return float(scipy.special.ndtr(mu / np.sqrt(2)))


@dataclass(frozen=True)
class GaussianAttack:
    """The best possible attack on a shift of ``mu`` standard deviations; both of its bounds are exact."""

    mu: float

    @property
    def low(self) -> TradeoffCurve:
        """The trade-off, nowhere above the exact one."""
        return curve_below(self.mu)

    @property
    def high(self) -> TradeoffCurve:
        """The trade-off, nowhere below the exact one."""
        return curve(self.mu)

    @property
    def accuracy(self) -> tuple[float, float]:
        """Balanced accuracy."""
        return max_accuracy(self.mu), max_accuracy(self.mu)

    @property
    def auc(self) -> tuple[float, float]:
        """Area under the ROC curve."""
        return max_auc(self.mu), max_auc(self.mu)

    def tpr_at(self, fpr: npt.ArrayLike) -> tuple[Reals, Reals]:
        """True-positive rate at a false-positive rate."""
        return max_tpr(fpr, self.mu), max_tpr(fpr, self.mu)


@lru_cache(maxsize=256)
def curve(mu: float) -> TradeoffCurve:
    """The trade-off as a polygon of tangents: nowhere below the exact curve, at most 1e-5 above it."""
    return outer_curve(_half(mu))


@lru_cache(maxsize=256)
def curve_below(mu: float) -> TradeoffCurve:
    """The trade-off as a polygon of chords: nowhere above the exact curve."""
    return inner_curve(_half(mu))


def _half(mu: float) -> PositiveLosses:
    """Losses above zero, cut evenly in the threshold at which a non-member is taken for a member."""
    _require(mu=mu)
    if mu == np.inf:
        raise BadInput("mu must be finite, got inf; without noise there is no curve to draw")
    cuts = np.append(np.inf, np.linspace(mu + 9, mu / 2, _BINS))
    losses = np.append(np.inf, mu * cuts[1:] - mu * mu / 2)
    losses[-1] = 0.0
    return PositiveLosses(
        losses[1:], losses[:-1], np.diff(scipy.special.ndtr(mu - cuts)), np.diff(scipy.special.ndtr(-cuts))
    )


def _log_delta(mu: float, epsilon: float) -> float:
    return float(np.log(max(delta_at(mu, epsilon), 5e-324)))


def _root(rising: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(rising, low, high, xtol=tolerance, rtol=1e-14, maxiter=300))


def _require(**values: float) -> None:
    for name, value in values.items():
        if not value >= 0 or (name == "delta" and not value < 1):
            rule = "in [0, 1)" if name == "delta" else ">= 0"
            raise BadInput(f"{name} must be {rule}, got {value}")

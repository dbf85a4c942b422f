"""Composition of several releases of which only (epsilon, delta) or the rho of zCDP is known."""

from dataclasses import replace

import numpy as np
import scipy

from leakgauge.core.errors import BadInput
from leakgauge.core.guarantee import Guarantee, TradeoffCurve
from leakgauge.theory.tradeoff import curve_through


def basic(guarantee: Guarantee, n: int) -> Guarantee:
    """The promise of n releases together: n epsilon, and 1 - (1 - delta)^n, which is at most n delta.

    (Dwork et al. 2006 for epsilon; Kairouz, Oh and Viswanath 2015, theorem 3.3 with i = 0, for delta.)

    >>> basic(Guarantee(epsilon=0.5), 3).epsilon
    1.5
    """
    _require_number(n)
    delta = min(_any_revealed(guarantee.delta, n), float(np.nextafter(1.0, 0.0)))
    return replace(guarantee, epsilon=n * guarantee.epsilon, delta=delta, exact_epsilon=None, curve=None)


def optimal(guarantee: Guarantee, n: int) -> TradeoffCurve:
    """The trade-off that no n releases under the guarantee can exceed, and some reach.

    Each release reveals all with probability delta and is a randomized response else (Kairouz, Oh and
    Viswanath 2015): unless something was revealed, the number of true answers says everything.
    """
    _require_number(n)
    revealed = _any_revealed(guarantee.delta, n)
    hidden = float(np.exp(n * np.log1p(-guarantee.delta)))
    truths = np.arange(n, 0, -1)
    fpr = hidden * scipy.special.betainc(truths, n - truths + 1, scipy.special.expit(-guarantee.epsilon))
    tpr = revealed + hidden * scipy.special.betainc(
        truths, n - truths + 1, scipy.special.expit(guarantee.epsilon)
    )
    return curve_through(np.concatenate([[0.0], fpr, [hidden]]), np.concatenate([[revealed], tpr, [1.0]]))


def with_slack(guarantee: Guarantee, n: int, slack: float) -> Guarantee:
    """The least epsilon that n releases keep together at delta 1 - (1 - delta)^n (1 - slack).

    (Kairouz, Oh and Viswanath 2015, theorem 3.3; also between the epsilons that it lists.)

    >>> round(with_slack(Guarantee(epsilon=0.5), 20, 1e-5).epsilon, 4)
    9.8594
    """
    if not 0 < slack < 1:
        raise BadInput(f"slack must be in (0, 1), got {slack}; 1e-5 is usual")
    total = basic(guarantee, n)
    epsilon = min(_response_epsilon(guarantee.epsilon, n, slack), total.epsilon)
    delta = min(total.delta + (1 - total.delta) * slack, float(np.nextafter(1.0, 0.0)))
    return replace(total, epsilon=epsilon, delta=delta)


def optimal_advantage(guarantee: Guarantee, n: int) -> float:
    """The total variation that no n releases can exceed: 1 - (1 - delta)^n (1 - that of randomized response).

    >>> round(optimal_advantage(Guarantee(epsilon=0.5), 20), 4)
    0.728
    """
    _require_number(n)
    if n == 0:
        return 0.0
    majority = n // 2 + 1
    true = scipy.special.betainc(majority, n - majority + 1, scipy.special.expit(guarantee.epsilon))
    false = scipy.special.betainc(majority, n - majority + 1, scipy.special.expit(-guarantee.epsilon))
    hidden = np.exp(n * np.log1p(-guarantee.delta))
    return float(_any_revealed(guarantee.delta, n) + hidden * (true - false))


def optimal_accuracy(guarantee: Guarantee, n: int) -> float:
    """The balanced accuracy that no attack on n releases can exceed.

    >>> round(optimal_accuracy(Guarantee(epsilon=0.5), 20), 4)
    0.864
    """
    return (1 + optimal_advantage(guarantee, n)) / 2


def _response_epsilon(epsilon: float, n: int, delta: float) -> float:
    """The least epsilon of n randomized responses at a delta: the largest log ratio (TPR - delta) / FPR.

    By the logarithms of rates, for these may be smaller than any number.
    """
    if n == 0 or epsilon == np.inf:
        return n * epsilon if n else 0.0
    truths = np.arange(n, 0, -1)
    chance = (
        scipy.special.gammaln(n + 1)
        - scipy.special.gammaln(truths + 1)
        - scipy.special.gammaln(n - truths + 1)
    )
    chance += truths * scipy.special.log_expit(-epsilon) + (n - truths) * scipy.special.log_expit(epsilon)
    log_fpr = np.logaddexp.accumulate(chance)  # of at least this many
    tpr = scipy.special.betainc(truths, n - truths + 1, scipy.special.expit(epsilon))
    some = tpr > delta
    return float(np.max(np.log(tpr[some] - delta) - log_fpr[some], initial=0.0))


def _any_revealed(delta: float, n: int) -> float:
    return abs(float(np.expm1(n * np.log1p(-delta))))


def _require_number(n: int) -> None:
    if not (n >= 0 and n == int(n)):
        raise BadInput(f"the number of releases must be a whole number >= 0, got {n}")


def zcdp_epsilon(rho: float, delta: float) -> float:
    """An epsilon that rho-zCDP keeps at a delta; those of n releases add up in rho.

    The least over orders a > 1 of a rho + (log(1 / delta) + (a - 1) log(1 - 1 / a) - log a) / (a - 1)
    (Bun and Steinke 2016; in this form, Canonne, Kamath and Steinke 2020). Every order gives a sound one.

    >>> round(zcdp_epsilon(rho=0.5, delta=1e-5), 4)
    4.7284
    """
    from scipy.optimize import minimize_scalar

    if not 0 <= rho < np.inf:
        raise BadInput(f"rho must be >= 0 and finite, got {rho}")
    if not 0 < delta < 1:
        raise BadInput(f"delta must be in (0, 1), got {delta}")
    if rho == 0:
        return 0.0

    def at(log_excess: float) -> float:
        excess = np.exp(log_excess)  # of the order over 1
        order = 1 + excess
        shrink = np.log(1 / delta) - np.log(order)
        return float(order * rho + np.log1p(-1 / order) + shrink / excess)

    near = 0.5 * np.log(np.log(1 / delta) / rho)  # the best order without the small terms
    minimum = minimize_scalar(at, bounds=(near - 12, near + 12), method="bounded", options={"xatol": 1e-10})
    return max(float(minimum.fun), 0.0)

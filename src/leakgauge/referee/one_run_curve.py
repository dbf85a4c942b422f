"""One run against a whole trade-off curve: how many right guesses a known curve allows.

The test of Mahloujifar, Melis and Chaudhuri (2024). Like the one-run bound it needs fair, independent coins
and allows trials to share rounds, but it asks whether the guesses contradict the curve itself, such as that
of Gaussian noise, and not only one epsilon and delta of it. The number of guesses is fixed before the rounds.
"""

from bisect import bisect_left
from functools import lru_cache

import numpy as np
import scipy

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.game import Trials
from leakgauge.core.guarantee import TradeoffCurve
from leakgauge.referee.one_run import order_every_trial

SHARES = (0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7, 1.0)
_MOST_COINS = 5_000  # the best share falls slowly beyond, and takes long to find
_MOST_MU = 16.0


def rejects_curve(trials: Trials, curve: TradeoffCurve, alpha: float) -> bool:
    """Say whether these guesses contradict the curve, at level alpha; coins must be fair and independent.

    The share of the trials on which to guess is the best one for the curve; the trials do not decide on it.
    """
    n_guesses, n_right = count_right(trials, best_share(curve, len(trials), alpha))
    return curve_rejected(len(trials), n_guesses, n_right, curve, alpha)


def count_right(trials: Trials, share: float) -> tuple[int, int]:
    """Return the number of guesses on a share of the trials, the clearest first, and of right ones."""
    guesses = order_every_trial(trials)
    size = guesses.sizes((share,), len(trials))
    if not size:
        return 0, 0
    first = guesses.order[: size[0]]
    return size[0], int((trials.members[first] == guesses.says_member[: size[0]]).sum())


def curve_rejected(n_coins: int, n_guesses: int, n_right: int, curve: TradeoffCurve, alpha: float) -> bool:
    """Say whether so many right guesses contradict a curve at level alpha.

    Start with the chances alpha v / m of a right and alpha (r - v) / m of a wrong guess, v or more being
    right. Each step down to v = 0 raises them by what the curve demands. They cannot sum to more than r / m.
    """
    if n_guesses == 0:
        return False
    both_ways = symmetric_curve(curve)
    fpr, tpr = both_ways.fpr.tolist(), both_ways.tpr.tolist()
    right, wrong, most = (
        alpha * n_right / n_coins,
        alpha * (n_guesses - n_right) / n_coins,
        n_guesses / n_coins,
    )
    for count in range(n_right - 1, -1, -1):
        place = bisect_left(tpr, right)  # the least FPR at which the curve allows this TPR
        if place == 0:
            least = fpr[0]
        elif place == len(tpr):
            return True
        else:
            step = (right - tpr[place - 1]) / (tpr[place] - tpr[place - 1])
            least = fpr[place - 1] + step * (fpr[place] - fpr[place - 1])
        if least > wrong:
            right += count / (n_guesses - count) * (least - wrong)
            wrong = least
        if right + wrong > most:
            return True
    return right + wrong > most


def gaussian_rejected(n_coins: int, n_guesses: int, n_right: int, mus: Reals, alpha: float) -> Bits:
    """Say for each shift ``mu`` of Gaussian noise whether so many right guesses contradict it."""
    right, wrong = (np.full(mus.shape, alpha * n / n_coins) for n in (n_right, n_guesses - n_right))
    rejected = np.full(mus.shape, False)
    for count in range(n_right - 1, -1, -1):
        least = np.maximum(wrong, scipy.special.ndtr(scipy.special.ndtri(np.minimum(right, 1.0)) - mus))
        right += count / (n_guesses - count) * (least - wrong)
        wrong = least
        rejected = right + wrong > n_guesses / n_coins
        if rejected.all():
            break
    return rejected


def largest_rejected_mu(n_coins: int, n_guesses: int, n_right: int, alpha: float) -> float:
    """Return the largest shift ``mu`` of Gaussian noise that so many right guesses contradict; 0 if none."""
    low, high = 0.0, _MOST_MU
    for _ in range(4):  # 32 intervals at a time: to one part in a million
        mus = np.linspace(low, high, 33)
        found = np.flatnonzero(gaussian_rejected(n_coins, n_guesses, n_right, mus, alpha))
        if not found.size:
            return low
        low, high = float(mus[found[-1]]), float(mus[min(found[-1] + 1, 32)])
    return low


@lru_cache(maxsize=64)
def best_share(curve: TradeoffCurve, n_coins: int, alpha: float) -> float:
    """Return the share of the trials on which to guess, from the claimed curve alone.

    If the curve were the truth, the best attack would be right on TPR / (TPR + FPR) of its guesses, where
    TPR + FPR is the share of trials on which it guesses. The best share is that whose right guesses would
    contradict the largest shift of Gaussian noise, among those on which guesses without an error contradict
    the curve. It decides on the power of the test, not on its error. Where none would contradict anything,
    half of the trials is near the best for small shifts.
    """
    both_ways, n_coins = symmetric_curve(curve), min(n_coins, _MOST_COINS)
    shifts, useful = np.zeros(len(SHARES)), np.full(len(SHARES), False)
    for place, share in enumerate(SHARES):
        n_guesses = int(np.ceil(share * n_coins - 1e-9))
        tpr = np.interp(share, both_ways.fpr + both_ways.tpr, both_ways.tpr)
        n_right = min(n_guesses, int(n_guesses * tpr / share))
        shifts[place] = largest_rejected_mu(n_coins, n_guesses, n_right, alpha)
        useful[place] = curve_rejected(n_coins, n_guesses, n_guesses, curve, alpha)
    if not shifts.any():
        return 0.5
    return SHARES[int(np.argmax(np.where(useful, shifts, -1.0) if useful.any() else shifts))]


@lru_cache(maxsize=64)
def coins_to_reject(curve: TradeoffCurve, alpha: float) -> int | None:
    """With how many coins guesses without an error contradict the curve; nothing if it takes thousands.

    The fewest with any share are searched for first, then doubled until the best share does it: at most
    twice too many.
    """

    def is_enough(n_coins: int, shares: tuple[float, ...]) -> bool:
        sizes = [int(np.ceil(share * n_coins - 1e-9)) for share in shares]
        return any(curve_rejected(n_coins, size, size, curve, alpha) for size in sizes)

    low, high = 0, _MOST_COINS
    if not is_enough(high, SHARES):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle, SHARES) else (middle, high)
    while not is_enough(high, (best_share(curve, high, alpha),)):
        if high > _MOST_COINS:
            return None
        high *= 2
    return high


@lru_cache(maxsize=64)
def symmetric_curve(curve: TradeoffCurve) -> TradeoffCurve:
    """Return the least concave curve nowhere below this one and its mirror image, the worlds exchanged.

    A guess "not a member" is right where the mirrored curve allows it.
    """
    fpr = np.concatenate([[0.0], curve.fpr, 1 - curve.tpr, [1.0]])
    tpr = np.concatenate([[0.0], curve.tpr, 1 - curve.fpr, [1.0]])
    hull: list[tuple[float, float]] = []
    for point in sorted(set(zip(fpr.tolist(), tpr.tolist()))):
        while len(hull) > 1 and _turns_up(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return TradeoffCurve(*(np.array(rates) for rates in zip(*hull)))


def _turns_up(first: tuple[float, float], second: tuple[float, float], third: tuple[float, float]) -> bool:
    """Whether the middle one of three points is on or below the line through the others."""
    (x, y), run, rise = first, third[0] - first[0], third[1] - first[1]
    return (second[1] - y) * run <= (second[0] - x) * rise

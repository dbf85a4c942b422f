"""The ROC curve of trials, ties included, and curves thinned for drawing."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.arrays import Bits, Ints, Reals
from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_both_worlds


@dataclass(frozen=True, eq=False)
class Roc:
    """Rates of the rule "member if score >= threshold", strictest rule first."""

    thresholds: Reals
    fpr: Reals
    tpr: Reals

    @property
    def auc(self) -> float:
        return float(np.trapezoid(self.tpr, self.fpr))


def roc(trials: Trials) -> Roc:
    """Trace the ROC curve.

    Equal scores are accepted together, because no threshold can separate them; a constant score therefore
    gets the diagonal.

    >>> from leakgauge.core.game import Coins
    >>> members, scores = np.array([True, True, False, False]), np.zeros(4)
    >>> roc(Trials(np.arange(4), np.zeros(4, int), members, scores, Coins.FAIR)).auc
    0.5
    """
    need_both_worlds(trials, "a ROC curve")
    members = trials.members
    order = np.argsort(-trials.scores, kind="stable")
    ranked = trials.scores[order]
    last_of_tie = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), ranked.size - 1)
    hits = np.cumsum(members[order])[last_of_tie]
    alarms = last_of_tie + 1 - hits
    return Roc(
        thresholds=np.append(np.inf, ranked[last_of_tie]),
        fpr=np.append(0.0, alarms / (~members).sum()),
        tpr=np.append(0.0, hits / members.sum()),
    )


def thin_curve(fpr: Reals, tpr: Reals, most: int = 500) -> tuple[Reals, Reals]:
    """Return at most ``most`` points of a rising curve, half of them where false positives are rare.

    Points on a straight line between their neighbours are dropped first. Both ends are kept, and so is the
    largest TPR without a false positive.
    """
    turn = np.ones(fpr.size, bool)
    turn[1:-1] = (np.diff(fpr)[:-1] * np.diff(tpr)[1:]) != (np.diff(fpr)[1:] * np.diff(tpr)[:-1])
    fpr, tpr = fpr[turn], tpr[turn]
    if fpr.size <= most:
        return fpr, tpr
    positive = fpr[fpr > 0]
    low = np.geomspace(positive[0], 1.0, most // 2 - 2)
    places = np.searchsorted(fpr, np.concatenate([low, np.linspace(0, 1, most // 2 - 2)]), side="right") - 1
    keep = np.unique(np.concatenate([[0, fpr.size - 1], places]))
    return fpr[keep], tpr[keep]


_FEWEST_UNITS, _FEWEST_PER_TARGET, _STANDARD_ERRORS = 30, 10, 5.0


def is_reversed(trials: Trials) -> bool:
    """Whether members clearly score below others, so that whoever reverses the scores identifies them.

    Scores are ranked for each target (of one release: all together). Members must rank lower on average by
    five standard errors over rounds (of one release: over its records), which chance does once in millions.

    >>> from leakgauge.core.game import Coins
    >>> members = np.tile([True, False], 50)
    >>> rounds, targets = np.arange(100), np.zeros(100, int)
    >>> [is_reversed(Trials(rounds, targets, members, s * members, Coins.GIVEN)) for s in (-1.0, 1.0)]
    [True, False]
    """
    one_release = bool((trials.rounds == trials.rounds[0]).all())
    units = np.arange(len(trials)) if one_release else trials.rounds
    _, targets = np.unique(trials.targets, return_inverse=True)
    few = len(trials) < _FEWEST_PER_TARGET * (targets.max() + 1)  # to rank each target by itself
    if one_release or few:
        targets = np.zeros(len(trials), np.int64)
    leans = _centred_ranks(trials.scores, targets) * _balance(trials.members, targets)
    _, places, counts = np.unique(units, return_inverse=True, return_counts=True)
    means = np.bincount(places, leans) / counts
    if means.size < _FEWEST_UNITS:
        return False
    return bool(means.mean() < -_STANDARD_ERRORS * means.std(ddof=1) / np.sqrt(means.size))


def _balance(members: Bits, targets: Ints) -> Reals:
    """Weights that give members and others of a target the same say, signed by membership."""
    n, n_members = np.bincount(targets), np.bincount(targets, members)
    n_others = n - n_members
    both = (n_members > 0) & (n_others > 0)
    share = np.where(members, n_members[targets], n_others[targets])
    return np.where(both[targets], np.where(members, 0.5, -0.5) * n[targets] / np.maximum(share, 1), 0.0)


def _centred_ranks(scores: Reals, targets: Ints) -> Reals:
    """Ranks of the scores of each target between -1/2 and 1/2; equal scores share theirs."""
    order = np.lexsort((scores, targets))
    ordered, owners = scores[order], targets[order]
    begins = np.r_[True, (ordered[1:] != ordered[:-1]) | (owners[1:] != owners[:-1])]
    ties = np.cumsum(begins) - 1
    firsts, sizes = np.flatnonzero(begins), np.bincount(ties)
    n = np.bincount(targets)
    offsets = np.cumsum(n) - n
    middle = (firsts + sizes / 2)[ties] - offsets[owners]
    ranks = np.empty(scores.size)
    ranks[order] = middle / n[owners] - 0.5
    return ranks

"""Rates of a single release: with one round there is nothing to compare but its records."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from leakgauge.core.game import Trials
from leakgauge.core.randomness import Role, stream
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.low_fpr import LOW_FPRS
from leakgauge.referee.panel import ask

# Metrics that pool all trials; others compare releases, or a target with itself in another round.
POOLED = (
    *("accuracy", "advantage", "advantage_own", "auc", "tnr", "tpr"),
    *(f"tpr_at_fpr_{fpr}" for fpr in LOW_FPRS),
)
SCOPE = "over the records of one release: nothing is said of other releases"
ALONE = "there is one release, and no other round to set beside it"
_ORDER = 3  # block of the stream of ties: the order of records decides which of them choose a threshold


def ask_rate(name: str, metric: Callable[[Trials], Estimate], trials: Trials, confidence: float) -> Estimate:
    """Ask a rate metric; of one release its interval is over records, and its method says so.

    Given the release, the scores of records are independent draws of members and of others. No bound on
    epsilon and no finding may rest on that: chance in the release itself is not part of it.
    """
    if not is_one_release(trials):
        return ask(metric, trials, confidence)
    if name not in POOLED:
        answer = ask(metric, trials, confidence)
        return replace(answer, reason=ALONE) if answer.low is None else answer
    answer = ask(metric, _record_by_record(trials), confidence)
    reason = None if answer.reason is None else _of_records(answer.reason)
    if answer.low is None and answer.value is None:
        return replace(answer, reason=reason)
    return replace(answer, method=f"{_of_records(answer.method)}, {SCOPE}", reason=reason)


def is_one_release(trials: Trials) -> bool:
    """Whether all trials, of which there are several, share their round."""
    return len(trials) > 1 and bool((trials.rounds == trials.rounds[0]).all())


def _record_by_record(trials: Trials) -> Trials:
    """The same trials, each as a round of its own, in an order that has nothing to do with that of a file."""
    order = stream(0, Role.TIES, _ORDER).permutation(len(trials))
    return replace(trials, rounds=order.astype(np.int64))


def _of_records(text: str) -> str:
    return text.replace("jackknife over rounds", "jackknife").replace("rounds", "records")

"""Lower confidence bound on epsilon that may be read at any time."""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincc, betaln, logsumexp

from leakgauge.core.errors import BadInput
from leakgauge.core.game import Reals, Trials
from leakgauge.referee.assumptions import need_fair_coins, need_independent_rounds
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.metric_protocol import EpsilonMetric
from leakgauge.referee.one_run import FRACTIONS, order_guesses


@dataclass(frozen=True, kw_only=True)
class Metric(EpsilonMetric):
    """Bet on right guesses, block after block; the wealth refutes every epsilon under which it is too large.

    For a rate of right guesses of at most q, the ratio of a Beta(1/2, 1/2) mixture above q to q^s (1 - q)^f
    is a test supermartingale (Robbins 1970); thirteen of them, one per share of the trials of a block on
    which to guess, are averaged, or those of a share and a strength of evidence fixed beforehand. Blocks are
    read in order, at their ends. Under (epsilon, delta)-DP a round shows its bit with chance delta and obeys
    epsilon otherwise (Murtagh and Vadhan 2016), so the chance that any of the planned rounds does is taken
    off the error; delta > 0 therefore needs one target per round.
    """

    delta: float = 0.0
    confidence: float = 0.95
    block: int = 1000  # rounds between two readings
    planned: int | None = None  # rounds that may be played at most; only delta > 0 needs it

    def __call__(self, trials: Trials) -> Estimate:
        need_fair_coins(trials, "e_process")
        if self.delta:
            need_independent_rounds(trials, "e_process with delta > 0")
        planned = max(self.planned or 0, len(trials))
        alpha = 1 - self.confidence - planned * self.delta
        right, wrong = self._counts(trials)
        return Estimate(
            value=None,
            low=_best_bound(right, wrong, alpha) if alpha > 0 else 0.0,
            confidence=self.confidence,
            method=f"e-process read after every {self.block} rounds, valid at any time",
            reason="an e-process has no point estimate" if alpha > 0 else "too many rounds for this delta",
        )

    def from_counts(self, hits: int, misses: int, alarms: int, silences: int) -> float:
        """Bound for an attack that says "in" or "out" on every trial."""
        n = hits + misses + alarms + silences
        alpha = 1 - self.confidence - max(self.planned or 0, n) * self.delta
        if not alpha > 0:
            return 0.0
        return _best_bound(np.array([[hits + silences]]), np.array([[misses + alarms]]), alpha)

    def _counts(self, trials: Trials) -> tuple[Reals, Reals]:
        """Right and wrong guesses so far: one row per block, one column per share of the trials."""
        if self.block < 1:
            raise BadInput(f"e_process: block must be at least 1, got {self.block}")
        fixed, cut = trials.reading.fraction, trials.reading.cut
        fractions = (fixed,) if fixed is not None else FRACTIONS if cut is None else ()
        blocks = trials.rounds // self.block
        right, wrong = [], []
        order = np.argsort(blocks, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(blocks[order])) + 1):
            guesses = order_guesses(trials.scores[rows], trials.reading)
            true = np.append(0, np.cumsum(trials.members[rows][guesses.order] == guesses.says_member))
            sizes = guesses.reaching(fractions, rows.size)
            if cut is not None:
                sizes = np.append(sizes, guesses.at_least(cut))
            hits = true[sizes]
            right.append(hits)
            wrong.append(sizes - hits)
        return np.cumsum(right, axis=0), np.cumsum(wrong, axis=0)


def _best_bound(right: Reals, wrong: Reals, alpha: float) -> float:
    """Largest epsilon whose averaged wealth reached 1 / alpha at the end of some block; 0 if none."""
    needed = -np.log(alpha)
    low, high, running = 0.0, 36.0, log_wealth(0.5, right, wrong) >= needed
    if not running.any():
        return 0.0
    while high - low > 1e-5:
        middle = (low + high) / 2
        right, wrong = right[running], wrong[running]  # only blocks that refuted the last low can go higher
        refutes = log_wealth(1 / (1 + np.exp(-middle)), right, wrong) >= needed
        low, high, running = (
            (middle, high, refutes) if refutes.any() else (low, middle, np.full(len(right), True))
        )
    return low


def log_wealth(rate: float, right: Reals, wrong: Reals) -> Reals:
    """Log of the mean wealth, over the last axis, against a rate of right guesses of at most ``rate``."""
    with np.errstate(divide="ignore"):
        mixture = betaln(right + 0.5, wrong + 0.5) + np.log(betaincc(right + 0.5, wrong + 0.5, rate))
        prior = betaln(0.5, 0.5) + np.log(betaincc(0.5, 0.5, rate))
        single = mixture - prior - right * np.log(rate) - wrong * np.log1p(-rate)
        return np.asarray(logsumexp(single, axis=-1) - np.log(single.shape[-1]))

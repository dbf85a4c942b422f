"""Lower confidence bound on epsilon that may be read at any time."""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincc, betaln, logsumexp

from leakgauge.core.arrays import Reals
from leakgauge.core.errors import BadInput
from leakgauge.core.game import Trials
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
    epsilon otherwise (Murtagh and Vadhan 2016). A right guess multiplies the wealth by at most 1 / q, so its
    mean grows by at most 1 + delta (1 - q) / q per round, with or without a guess, and is divided by that;
    delta > 0 therefore needs one target per round.
    """

    delta: float = 0.0
    confidence: float = 0.95
    block: int = 1000  # rounds between two readings

    def __call__(self, trials: Trials) -> Estimate:
        need_fair_coins(trials, "e_process")
        if self.delta:
            need_independent_rounds(trials, "e_process with delta > 0")
        right, wrong, played = self._counts(trials)
        return Estimate(
            value=None,
            low=self._best_bound(right, wrong, played),
            confidence=self.confidence,
            method=f"e-process read after every {self.block} rounds, valid at any time",
            reason="an e-process has no point estimate",
        )

    def from_counts(
        self, hits: int, misses: int, alarms: int, silences: int, *, shared_rounds: bool = False
    ) -> float:
        """Bound for an attack that says "in" or "out" on every trial."""
        right, wrong = hits + silences, misses + alarms
        return self._best_bound(np.array([[right]]), np.array([[wrong]]), np.array([right + wrong]))

    def _counts(self, trials: Trials) -> tuple[Reals, Reals, Reals]:
        """Right and wrong guesses so far: one row per block, one column per share; and trials so far."""
        if self.block < 1:
            raise BadInput(f"e_process: block must be at least 1, got {self.block}")
        fixed, cut = trials.reading.fraction, trials.reading.cut
        fractions = (fixed,) if fixed is not None else FRACTIONS if cut is None else ()
        blocks = trials.rounds // self.block
        right, wrong, played = [], [], []
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
            played.append(rows.size)
        return np.cumsum(right, axis=0), np.cumsum(wrong, axis=0), np.cumsum(played)

    def _best_bound(self, right: Reals, wrong: Reals, played: Reals) -> float:
        """Largest epsilon whose averaged wealth reached 1 / alpha at the end of some block; 0 if none.

        Where the wealth refutes epsilon 0 it refutes all up to a single one. With delta it may not refute 0
        and yet refute a larger epsilon: that counts as 0, because only one epsilon is the true one.
        """
        needed = -np.log(1 - self.confidence)
        low, high, running = 0.0, 36.0, np.full(len(right), True)
        middle = low
        while True:
            right, wrong, played = right[running], wrong[running], played[running]
            growth = played * np.log1p(self.delta * np.exp(-middle))
            refutes = log_wealth(1 / (1 + np.exp(-middle)), right, wrong) - growth >= needed
            # only blocks that refuted the last low can go higher
            if refutes.any():
                low, running = middle, refutes
            elif middle == 0:
                return 0.0
            else:
                high, running = middle, np.full(len(right), True)
            if high - low <= 1e-5:
                return low
            middle = (low + high) / 2


def log_wealth(rate: float, right: Reals, wrong: Reals) -> Reals:
    """Log of the mean wealth, over the last axis, against a rate of right guesses of at most ``rate``."""
    with np.errstate(divide="ignore"):
        mixture = betaln(right + 0.5, wrong + 0.5) + np.log(betaincc(right + 0.5, wrong + 0.5, rate))
        prior = betaln(0.5, 0.5) + np.log(betaincc(0.5, 0.5, rate))
        single = mixture - prior - right * np.log(rate) - wrong * np.log1p(-rate)
        return np.asarray(logsumexp(single, axis=-1) - np.log(single.shape[-1]))

"""Chance that a member scores higher than a non-member."""

from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_both_worlds
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.leave_out import LeftOut, left_out_of, rate_estimate, round_numbers
from leakgauge.referee.placements import placements


@dataclass(frozen=True, kw_only=True)
class Metric:
    """Area under the ROC curve of all trials together, ties counted half (Mann and Whitney 1947)."""

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        need_both_worlds(trials, "auc")
        return rate_estimate(_left_out(trials), self.confidence, "Mann-Whitney, jackknife over rounds")


def _left_out(trials: Trials) -> LeftOut:
    """Leave out each round: its pairs with everybody, less its own pairs counted twice."""
    rounds = round_numbers(trials)
    n_rounds = int(rounds.max()) + 1
    every = placements(np.zeros(len(trials), np.int64), trials.scores, trials.members).won
    within = placements(rounds, trials.scores, trials.members).won
    wins = np.bincount(rounds, every, n_rounds)
    own = np.bincount(rounds, np.where(trials.members, within, 0.0), n_rounds)
    ins = np.bincount(rounds, trials.members, n_rounds)
    outs = np.bincount(rounds, ~trials.members, n_rounds)
    total, n_in, n_out = every[trials.members].sum(), ins.sum(), outs.sum()
    pairs = (n_in - ins) * (n_out - outs)
    value = float(total / (n_in * n_out))
    values = np.where(pairs > 0, (total - wins + own) / np.maximum(pairs, 1), value)
    return left_out_of(trials, value, values)

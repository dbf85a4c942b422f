"""Chance that a member scores higher than a non-member."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.game import Trials
from leakgauge.referee.assumptions import need_both_worlds
from leakgauge.referee.estimate import Estimate
from leakgauge.referee.jackknife import JackknifeStatistic, jackknife_statistic, rate_estimate
from leakgauge.referee.metric_protocol import RateMetric


@dataclass(frozen=True, eq=False)
class Placements:
    """Pairs of a member and a non-member of the same group, by trial."""

    won: Reals  # members: non-members of the group below; non-members: members above; ties count half
    opponents: Reals  # trials of the other world in its group


def placements(groups: npt.NDArray[np.int64], scores: Reals, members: Bits) -> Placements:
    """Place each trial among the other world's trials of its group.

    Summed over the members of a group, ``won`` is the Mann-Whitney count of that group.
    """
    order = np.lexsort((scores, groups))
    group, score, member = groups[order], scores[order], members[order]
    n = order.size
    new_group = np.append(True, group[1:] != group[:-1])
    new_tie = new_group | np.append(True, score[1:] != score[:-1])
    tie_start = np.flatnonzero(new_tie)[np.cumsum(new_tie) - 1]
    tie_end = np.append(np.flatnonzero(new_tie)[1:], n)[np.cumsum(new_tie) - 1]
    group_start = np.flatnonzero(new_group)[np.cumsum(new_group) - 1]
    group_end = np.append(np.flatnonzero(new_group)[1:], n)[np.cumsum(new_group) - 1]
    ins = np.append(0, np.cumsum(member))
    outs = np.arange(n + 1) - ins
    below = outs[tie_start] - outs[group_start] + (outs[tie_end] - outs[tie_start]) / 2
    above = ins[group_end] - ins[tie_end] + (ins[tie_end] - ins[tie_start]) / 2
    won, opponents = np.empty(n), np.empty(n)
    won[order] = np.where(member, below, above)
    opponents[order] = np.where(
        member, outs[group_end] - outs[group_start], ins[group_end] - ins[group_start]
    )
    return Placements(won, opponents)


@dataclass(frozen=True, kw_only=True)
class Metric(RateMetric):
    """Area under the ROC curve of all trials together, ties counted half (Mann and Whitney 1947)."""

    title: ClassVar[str] = "AUC"
    meaning: ClassVar[str] = (
        "the chance that a member gets a higher score than a non-member; 0.5 is blind guessing"
    )
    rank: ClassVar[int] = 30
    chance_level: ClassVar[float] = 0.5
    pools_trials: ClassVar[bool] = True

    confidence: float = 0.95

    def __call__(self, trials: Trials) -> Estimate:
        need_both_worlds(trials, "auc")
        return rate_estimate(_jackknife_auc, trials, self.confidence, "Mann-Whitney")


def _jackknife_auc(trials: Trials) -> JackknifeStatistic:
    """Leave out each round: its pairs with everybody, less its own pairs counted twice."""
    rounds = trials.round_numbers
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
    weights = np.where(trials.members, 1 / n_in, 1 / n_out)
    return jackknife_statistic(trials, value, values, weights, value)

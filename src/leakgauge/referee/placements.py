"""How each trial fares against the other world: the pieces of an AUC."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakgauge.core.game import Bits, Reals


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

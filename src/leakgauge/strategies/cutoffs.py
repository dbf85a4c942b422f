"""Where to cut a score: from there on, an attack says "member"."""

import numpy as np

from leakgauge.core.game import Bits, Reals


def best_cutoff(scores: Reals, members: Bits) -> float:
    """The cut with the largest TPR - FPR on an adversary's own shadows, midway between neighbouring scores.

    Only cuts between two scores are tried. A cut above all of them, where curves often begin (at infinity),
    would make a useless score call nobody a member. Of equally good cuts the middle one is taken. Where all
    scores are equal, or all shadows of one world, the lowest score is returned: "member" to everybody.

    >>> best_cutoff(np.array([0.0, 1.0, 2.0, 3.0]), np.array([False, False, True, True]))
    1.5
    """
    n_in = int(members.sum())
    n_out = members.size - n_in
    if not members.size:
        return 0.0
    order = np.argsort(scores, kind="stable")
    ranked = scores[order]
    edges = np.flatnonzero(ranked[1:] != ranked[:-1])
    if not (n_in and n_out and edges.size):
        return float(ranked[0])
    gain = np.cumsum(np.where(members[order], -n_out, n_in))[edges]  # TPR - FPR, times n_in n_out
    best = edges[np.flatnonzero(gain == gain.max())]
    middle = best[best.size // 2]
    return float(ranked[middle] / 2 + ranked[middle + 1] / 2)

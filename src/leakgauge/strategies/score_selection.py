"""Choose a score, and the share of rounds on which to guess, on rounds not used for training."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from leakgauge.core.game import Bits, Reading, Reals
from leakgauge.referee.intervals import rate_low
from leakgauge.referee.one_run import order_guesses
from leakgauge.referee.one_run_delta import any_count_lower_bound

_SHARES = tuple(float(share) for share in np.geomspace(0.0005, 1.0, 44))
_ALPHA = 0.05
# The best of many candidates looks better than it is. They are therefore ranked by lower confidence bounds on
# their rates of right guesses, with these error probabilities: first all candidates, then the shares of one.
_ERROR_AMONG_CANDIDATES = 0.001
_ERROR_AMONG_SHARES = 0.05
_MAX_CANDIDATES_PER_SHARE = 2  # candidates per share for which the bound is computed


@dataclass(frozen=True, kw_only=True)
class ScoreChoice:
    """Which candidate to use, and the share of rounds on which to guess."""

    candidate: int
    fraction: float


@dataclass(frozen=True, kw_only=True)
class _GuessOption:
    candidate: int
    fraction: float
    share: int  # number of the share
    n_guesses: int
    n_right: int


def choose_score(scores: Sequence[Reals], members: Bits, *, delta: float) -> ScoreChoice:
    """Choose the candidate, and then the share, with the largest expected one-run bound at ``delta``."""
    options = [option for number, score in enumerate(scores) for option in _options(number, score, members)]
    if not options:
        return ScoreChoice(candidate=0, fraction=1.0)
    first = _best(options, members.size, delta, _ERROR_AMONG_CANDIDATES)
    own = [option for option in options if option.candidate == first.candidate]
    best = _best(own, members.size, delta, _ERROR_AMONG_SHARES)
    return ScoreChoice(candidate=best.candidate, fraction=best.fraction)


def _options(candidate: int, scores: Reals, members: Bits) -> Iterator[_GuessOption]:
    """Yield the numbers of guesses that a candidate could make.

    Guesses of equal strength are made together, so a share ends in the middle of its last group: the choice
    then stays the same if that group is a little larger or smaller in other rounds.
    """
    guesses = order_guesses(scores, Reading(signed=True))
    if not guesses.ends.size:
        return
    right = np.cumsum(members[guesses.order] == guesses.says_member)
    wanted = np.asarray(_SHARES) * members.size
    groups = np.minimum(np.searchsorted(guesses.ends, wanted), guesses.ends.size - 1)
    for share, group in enumerate(groups.tolist()):
        end = int(guesses.ends[group])
        start = int(guesses.ends[group - 1]) if group else 0
        middle = (start + end) / 2 / members.size
        yield _GuessOption(
            candidate=candidate, fraction=middle, share=share, n_guesses=end, n_right=int(right[end - 1])
        )


def _best(options: Sequence[_GuessOption], n_rounds: int, delta: float, error: float) -> _GuessOption:
    """Return the option with the largest bound; if no bound is above zero, the one furthest from chance."""
    n_guesses = np.array([option.n_guesses for option in options])
    n_right = np.array([option.n_right for option in options])
    rates = rate_low(n_right, n_guesses, error)
    tried: dict[int, int] = {}
    best, largest = options[0], (-1.0, -np.inf)
    for place in np.argsort(-rates, kind="stable").tolist():
        option = options[place]
        tried[option.share] = tried.get(option.share, 0) + 1
        if tried[option.share] > _MAX_CANDIDATES_PER_SHARE:
            continue
        lowered = int(rates[place] * option.n_guesses)
        bound = any_count_lower_bound(n_rounds, option.n_guesses, lowered, delta=delta, alpha=_ALPHA)
        excess = (2 * option.n_right - option.n_guesses) / np.sqrt(option.n_guesses)
        if (bound, excess) > largest:
            best, largest = option, (bound, excess)
    return best

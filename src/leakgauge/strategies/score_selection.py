"""Choose a score, and on which rounds to guess by it, on rounds not used for training."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from leakgauge.core.arrays import Bits, Reals
from leakgauge.core.game import Reading
from leakgauge.referee.intervals import rate_low
from leakgauge.referee.one_run import order_guesses
from leakgauge.referee.one_run_delta import any_count_lower_bound

RARE = 0.05  # an event in at most this share of the rounds is rare

_SHARES = tuple(float(share) for share in np.geomspace(0.0005, 1.0, 44))
_ALPHA = 0.05
# The best of many candidates looks better than it is. They are therefore ranked by lower confidence bounds on
# their rates of right guesses, with these error probabilities: first all candidates, then the shares of one.
_ERROR_AMONG_CANDIDATES = 0.001
_ERROR_AMONG_SHARES = 0.05
# An event with few guesses would never be chosen in this way. Rare events are therefore ranked by medians of
# their rates. A second event leaves half of the error to the first, which lowers its bound; the best rare one
# has to promise more than the first by so many times this loss.
_MEDIAN = 0.5
_GAIN_FOR_LOSS = 5.0
_ABOUT = 0.85  # of the largest bound: a candidate proposed earlier is preferred to a slightly better one
_NEARLY = 0.95  # of the largest bound of a candidate: more guesses are preferred to slightly better ones
_MAX_CANDIDATES_PER_SHARE = 2  # candidates per share for which the bound is computed
_MARGIN = 4.0  # standard deviations by which a share stays inside the guesses that it was chosen for

_Bound: TypeAlias = Callable[["_GuessOption", int], float]  # of an option, with so many right guesses


@dataclass(frozen=True, kw_only=True)
class ScoreChoice:
    """Which candidate to use, and the share of rounds on which to guess."""

    candidate: int
    fraction: float


@dataclass(frozen=True, kw_only=True)
class RareEvent:
    """Which candidate to use where its score is strong, and from which strength on."""

    candidate: int
    cut: float


@dataclass(frozen=True, kw_only=True)
class EventChoice:
    """A score for all rounds with the share on which to guess, and a rare event; only one of them may count.

    The share is missing where the rare event alone counts.
    """

    candidate: int
    fraction: float | None
    rare: RareEvent | None


@dataclass(frozen=True, kw_only=True)
class _GuessOption:
    candidate: int
    share: int  # number of the share
    n_guesses: int
    n_right: int
    cut: float  # between the weakest of these guesses and the strongest of the others


def choose_score(scores: Sequence[Reals], members: Bits, *, delta: float) -> ScoreChoice:
    """Choose the candidate, and then the share, with the largest expected one-run bound at ``delta``."""
    options = [option for number, score in enumerate(scores) for option in _options(number, score, members)]
    if not options:
        return ScoreChoice(candidate=0, fraction=1.0)
    best = _best(options, _share_bound(members.size, delta))
    return ScoreChoice(candidate=best.candidate, fraction=_inner_share(best, members.size))


def choose_events(scores: Sequence[Reals], members: Bits, *, delta: float) -> EventChoice:
    """Choose the best event overall, and the best among rare strong ones where it promises more.

    Few guesses must be much better than many to be chosen, so some seeds would miss a rare event. Both are
    therefore fixed, for half of the error each, unless the best event overall is rare itself. A rare event
    is fixed by its strength: a share might end among the many weaker guesses next to it.
    """
    options = [option for number, score in enumerate(scores) for option in _options(number, score, members)]
    if not options:
        return EventChoice(candidate=0, fraction=1.0, rare=None)
    by_share, by_cut = _share_bound(members.size, delta), _cut_bound(members.size, delta)
    best = _best(options, by_share)
    rare = [option for option in options if _is_rare(option, members)]
    if _is_rare(best, members):
        common = [option for option in options if not _is_rare(option, members)]
        strong = _strongest(rare, by_cut, _ERROR_AMONG_SHARES)
        usual = _best(common, by_share) if common else strong
        return EventChoice(candidate=usual.candidate, fraction=None, rare=_rare_event(strong))
    fraction = _inner_share(best, members.size)
    if rare:
        strong = _strongest(rare, by_cut, _MEDIAN)
        alone, beside = by_share(best, best.n_right), by_cut(best, best.n_right)
        needed = alone + _GAIN_FOR_LOSS * (alone - beside)
        if _lowered_bound(strong, by_cut, _MEDIAN) > needed:
            return EventChoice(candidate=best.candidate, fraction=fraction, rare=_rare_event(strong))
    return EventChoice(candidate=best.candidate, fraction=fraction, rare=None)


def _is_rare(option: _GuessOption, members: Bits) -> bool:
    return option.n_guesses <= RARE * members.size


def _options(candidate: int, scores: Reals, members: Bits) -> Iterator[_GuessOption]:
    """Yield the numbers of guesses that a candidate could make; those of equal strength are made together."""
    guesses = order_guesses(scores, Reading(signed=True))
    if not guesses.ends.size:
        return
    right = np.cumsum(members[guesses.order] == guesses.says_member)
    wanted = np.asarray(_SHARES) * members.size
    groups = np.minimum(np.searchsorted(guesses.ends, wanted), guesses.ends.size - 1)
    for share, group in enumerate(groups.tolist()):
        end = int(guesses.ends[group])
        weaker = guesses.strength[end] if end < guesses.strength.size else 0.0
        yield _GuessOption(
            candidate=candidate,
            share=share,
            n_guesses=end,
            n_right=int(right[end - 1]),
            cut=float(guesses.strength[end - 1] + weaker) / 2,
        )


def _inner_share(option: _GuessOption, n_rounds: int) -> float:
    """Return a share of the rounds a little below that of an option's guesses.

    Other rounds have a few guesses of that strength more or fewer. A share beyond them would reach weaker
    guesses, of which there may be many.
    """
    share = option.n_guesses / n_rounds
    margin = _MARGIN * np.sqrt(share * (1 - share) / n_rounds)
    return float(max(share - margin, share / 2))


def _rare_event(option: _GuessOption) -> RareEvent:
    return RareEvent(candidate=option.candidate, cut=option.cut)


def _share_bound(n_rounds: int, delta: float) -> _Bound:
    return lambda option, n_right: any_count_lower_bound(
        n_rounds, option.n_guesses, n_right, delta=delta, alpha=_ALPHA
    )


def _cut_bound(n_rounds: int, delta: float) -> _Bound:
    return lambda option, n_right: any_count_lower_bound(
        n_rounds, option.n_guesses, n_right, delta=delta, alpha=_ALPHA / 2
    )


def _lowered_bound(option: _GuessOption, bound: _Bound, error: float) -> float:
    """Return the bound to expect of an option whose right guesses were partly luck."""
    rate = float(rate_low(option.n_right, option.n_guesses, error))
    return bound(option, int(rate * option.n_guesses))


def _strongest(options: Sequence[_GuessOption], bound: _Bound, error: float) -> _GuessOption:
    """Return the first candidate with about the largest bound to expect, and most of its guesses."""
    bounds = [_lowered_bound(option, bound, error) for option in options]
    first = next(option.candidate for option, found in zip(options, bounds) if found >= _ABOUT * max(bounds))
    own = [(found, option) for found, option in zip(bounds, options) if option.candidate == first]
    enough = _NEARLY * max(found for found, _ in own)
    return next(option for found, option in reversed(own) if found >= enough)


def _best(options: Sequence[_GuessOption], bound: _Bound) -> _GuessOption:
    """Return the best share of the candidate with the largest bound."""
    own = options
    if any(option.candidate != options[0].candidate for option in options):
        first = _largest(options, bound, _ERROR_AMONG_CANDIDATES)
        own = [option for option in options if option.candidate == first.candidate]
    return _largest(own, bound, _ERROR_AMONG_SHARES)


def _largest(options: Sequence[_GuessOption], bound: _Bound, error: float) -> _GuessOption:
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
        lowered = bound(option, int(rates[place] * option.n_guesses))
        excess = (2 * option.n_right - option.n_guesses) / np.sqrt(option.n_guesses)
        if (lowered, excess) > largest:
            best, largest = option, (lowered, excess)
    return best

"""How well somebody can tell who is in the data, in two sentences.

A finding speaks of the promise alone, and a weak promise is kept by a release that gives everybody away.
"""

from collections.abc import Sequence

from leakgauge.pages import words
from leakgauge.pages.numbers import percent, times
from leakgauge.pages.standing import how, standing
from leakgauge.verdict import Verdict

QUESTION = "How well can somebody tell who is in the data?"
MOST = 5  # kinds of knowledge that are named
CONTROL = "blind"  # knowledge of whoever sees no release: what it tells is not the release's doing


def answer(verdicts: Sequence[Verdict]) -> str:
    """How often the best adversary was right, and beside it the best of each other knowledge.

    It answers ``QUESTION``, and is empty where the rounds were too few to count right guesses.
    """
    known = [verdict for verdict in verdicts if _accuracy(verdict) is not None]
    if not known:
        return ""
    seeing = [verdict for verdict in known if verdict.knowledge != CONTROL] or known
    best = max(seeing, key=lambda verdict: _accuracy(verdict) or 0.0)
    (name,) = words.names([best], verdicts)
    among = f", the best of {times(len(seeing), 'adversary')}," if len(seeing) > 1 else ""
    right = _right(best, how(best, "accuracy"))
    told = f"{name}{among} was right {right}; blind guessing is right half of the time."
    if len(seeing) > 1:
        told += " It was picked by these rounds, and its interval is that of one adversary."
    others = _best_by_knowledge([verdict for verdict in known if verdict.audit == best.audit])
    others.pop(best.knowledge)
    control = others.pop(CONTROL, None)
    if others:
        less = ", ".join(
            f"{words.clip(knowledge)} {_right(verdict)}" for knowledge, verdict in list(others.items())[:MOST]
        )
        told += f" The best with other knowledge in the same audit: {less}."
    if control is not None:
        told += f" Without a look at the release one is right {_right(control)}."
    return told


def _best_by_knowledge(verdicts: Sequence[Verdict]) -> dict[str, Verdict]:
    """The best adversary of each knowledge, the best knowledge first."""
    found: dict[str, Verdict] = {}
    for verdict in sorted(verdicts, key=lambda verdict: -(_accuracy(verdict) or 0.0)):
        found.setdefault(verdict.knowledge, verdict)
    return found


def _accuracy(verdict: Verdict) -> float | None:
    estimate = verdict.metrics.get(standing(verdict, "accuracy"))
    return None if estimate is None else estimate.value


def _right(verdict: Verdict, averaged: str = "") -> str:
    """How often an adversary was right, with the interval; members and non-members count alike."""
    estimate = verdict.metrics[standing(verdict, "accuracy")]
    return f"{percent(estimate.value)} of the time{averaged} ({words.interval('accuracy', estimate)})"

"""Sentences about a whole run for the terminal: promises that are too weak, and how well members are identified."""

from collections.abc import Sequence

from leakgauge.core.guarantee import Unit
from leakgauge.report.adversary_names import adversary_names, clip
from leakgauge.report.metric_text import averaged_note, headline_metric, interval_text
from leakgauge.report.number_format import number, percent, times, upper
from leakgauge.summary import is_control
from leakgauge.verdict import Finding, Verdict

HUGE_EPSILON = 15.0  # an epsilon that allows odds of millions to one
IDENTIFICATION_QUESTION = "How well can people be identified?"
MOST_KNOWLEDGES = 5  # kinds of knowledge that are named


def weak_promises(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts that are undecided because the promise allows almost anything."""
    return [
        verdict
        for verdict in verdicts
        if verdict.finding is Finding.UNDECIDED
        and ((verdict.promised or {}).get("epsilon") or 0.0) > HUGE_EPSILON
    ]


def all_promises_too_weak(verdicts: Sequence[Verdict]) -> bool:
    """Whether every finding is undecided because the promise allows almost anything."""
    return len(weak_promises(verdicts)) == len(verdicts)


def weak_promise_text(verdicts: Sequence[Verdict]) -> str:
    """Why a weak promise says nothing, and what to look at instead."""
    promises = [verdict.promised for verdict in verdicts if verdict.promised]
    least = min(promise["epsilon"] for promise in promises)
    if all(promise["unit"] == Unit.GROUP for promise in promises):
        bounds = [verdict.bounds.get("advantage_independent") for verdict in verdicts]
        known = [bound for bound in bounds if bound is not None]
        most = f" (an advantage of {upper(max(known))} at most)" if known else ""
        return (
            f"The records behind a release depend on one another. The bound for independent records{most} "
            f"does not apply, and the promise to all of them together (ε = {number(least)}) is so weak that "
            "even certain identification would not violate it."
        )
    return (
        f"The promise to one person is so weak (ε = {number(least)} or more) that even certain identification "
        "would not violate it."
    )


def identification_answer(verdicts: Sequence[Verdict]) -> str:
    """How often the best attacker was right, and beside it the best of each other knowledge.

    It answers ``IDENTIFICATION_QUESTION``, which no finding does: a weak promise is kept even by a release
    that identifies everybody. It is empty where the rounds were too few to count right guesses.
    """
    known = [verdict for verdict in verdicts if _accuracy(verdict) is not None]
    if not known:
        return ""
    seeing = [verdict for verdict in known if not is_control(verdict)] or known
    best = max(seeing, key=lambda verdict: _accuracy(verdict) or 0.0)
    (name,) = adversary_names([best], verdicts)
    among = f", the best of {times(len(seeing), 'attacker')}," if len(seeing) > 1 else ""
    right = _right_guesses(best, averaged_note(best, "accuracy"))
    answer = f"{name}{among} was right {right}; a coin toss: 50%."
    if len(seeing) > 1:
        answer += " Its interval is slightly optimistic, because it is the best of several."
    rivals = [verdict for verdict in known if verdict.audit == best.audit]
    others = [verdict for verdict in _best_by_knowledge(rivals) if verdict.knowledge != best.knowledge]
    control = next(filter(is_control, others), None)
    if less_informed := [verdict for verdict in others if not is_control(verdict)]:
        less = ", ".join(
            f"{clip(verdict.knowledge)} {_right_guesses(verdict)}"
            for verdict in less_informed[:MOST_KNOWLEDGES]
        )
        answer += f" Attackers with other knowledge: {less}."
    if control is not None:
        answer += f" Control (attacker who never sees the release): {_right_guesses(control)}."
    return answer


def _best_by_knowledge(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The best attacker of each knowledge, the best knowledge first."""
    best: dict[str, Verdict] = {}
    for verdict in sorted(verdicts, key=lambda verdict: -(_accuracy(verdict) or 0.0)):
        best.setdefault(verdict.knowledge, verdict)
    return list(best.values())


def _accuracy(verdict: Verdict) -> float | None:
    estimate = verdict.metrics.get(headline_metric(verdict, "accuracy"))
    return None if estimate is None else estimate.value


def _right_guesses(verdict: Verdict, averaged: str = "") -> str:
    """How often an attacker was right, with the interval; members and non-members count equally."""
    estimate = verdict.metrics[headline_metric(verdict, "accuracy")]
    return f"{percent(estimate.value)} of the time{averaged} ({interval_text('accuracy', estimate)})"

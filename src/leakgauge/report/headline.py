"""The first sentences of a report: all findings together, and how well members can be identified."""

from collections.abc import Sequence
from dataclasses import dataclass

from leakgauge.core.guarantee import Unit
from leakgauge.report.adversary_names import adversary_names, clip
from leakgauge.report.metric_text import averaged_note, headline_metric, interval_text
from leakgauge.report.number_format import count, level, number, percent, times, upper
from leakgauge.report.run_report import domains_of
from leakgauge.verdict import Finding, Verdict

HUGE_EPSILON = 15.0  # an epsilon that allows odds of millions to one
IDENTIFICATION_QUESTION = "How well can somebody tell who is in the data?"
MOST_KNOWLEDGES = 5  # kinds of knowledge that are named


@dataclass(frozen=True)
class Headline:
    """The two sentences for a reader who reads nothing else."""

    tone: str
    statement: str
    explanation: str


def headline(verdicts: Sequence[Verdict]) -> Headline:
    """Summarise a run by its most severe finding."""
    n = {finding: sum(verdict.finding == finding for verdict in verdicts) for finding in (*Finding, None)}
    everyone = times(len(verdicts), "adversary")
    if n[Finding.VIOLATED]:
        who = f"{count(n[Finding.VIOLATED])} of {everyone}" if len(verdicts) > 1 else "The adversary"
        explanation = (
            f"{who} learned more about who is in the data than the promise allows. If the promise held, an "
            f"audit like this one would say so in at most {_error_probability(verdicts)} of cases."
        )
        return Headline("violated", "Violated: this release leaks more than it promises.", explanation)
    if n[Finding.UNTESTABLE]:
        explanation = (
            f"For {count(n[Finding.UNTESTABLE])} of {everyone}, no adversary of the audit recognised members "
            "even where nothing protects them. This says nothing in favour of the release."
        )
        return Headline("untestable", "Untestable: these attacks could not have found a leak.", explanation)
    if all_promises_too_weak(verdicts):
        return Headline(
            "undecided", "Undecided: the promise is too weak to be broken.", weak_promise_text(verdicts)
        )
    if n[Finding.UNDECIDED]:
        return _undecided_headline(verdicts)
    if n[Finding.NOT_VIOLATED]:
        who = f"None of {everyone} got" if len(verdicts) > 1 else "The adversary did not get"
        explanation = (
            f"{who} past the promise. An audit can refute a promise but never prove one: a better adversary, "
            "or more rounds, might still break it."
        )
        return Headline("not-violated", "Not violated by these adversaries, in these rounds.", explanation)
    explanation = (
        "No guarantee was stated, so there is nothing that could be violated. What the adversaries learned "
        "is reported below."
    )
    return Headline("no-promise", "Measured; there is no promise to compare with.", explanation)


def _undecided_headline(verdicts: Sequence[Verdict]) -> Headline:
    """Summarise a run without violation, in which some promises are too weak or rounds too few."""
    weak = weak_promises(verdicts)
    n_short = sum(verdict.finding is Finding.UNDECIDED for verdict in verdicts) - len(weak)
    everyone = times(len(verdicts), "adversary")
    sentences = []
    if n_short:
        who = f"For {count(n_short)} of {everyone}" if len(verdicts) > 1 else "Here"
        sentences.append(
            f"{who}, even an attack without a single error would have stayed within the promise."
        )
    if weak:
        sentences.append(f"For {count(len(weak))} of {everyone}, no attack can break the promise.")
        sentences.append(weak_promise_text(weak))
    if any(verdict.finding is Finding.NOT_VIOLATED for verdict in verdicts):
        sentences.append("No other adversary got past its promise.")
    sentences.append("This says nothing in favour of the release.")
    short = "these rounds could not have shown a violation"
    if weak:
        short = "some promises are too weak to be broken" + (f"; elsewhere {short}" if n_short else "")
    return Headline("undecided", f"Undecided: {short}.", " ".join(sentences))


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
            f"does not describe this risk, and the promise to all of them together, ε = {number(least)}, is "
            "next to none. What counts is what was measured."
        )
    return (
        f"A promise of ε = {number(least)} or more to a person lets an adversary be almost certain. "
        "What counts is what was measured."
    )


def _error_probability(verdicts: Sequence[Verdict]) -> str:
    """How often the audit would be wrong if the promise held, over all attackers it corrects for."""
    sure = [estimate.confidence for verdict in verdicts for estimate in verdict.metrics.values()]
    together = all(verdict.corrected_for >= len(verdicts) for verdict in verdicts)
    return level(round(1 - min(sure, default=0.95), 9)) + ("" if together else " (each adversary by itself)")


def tone_of(verdict: Verdict) -> str:
    """The style class of a finding."""
    return str(verdict.finding).replace(" ", "-") if verdict.finding else "no-promise"


def badge_of(verdict: Verdict) -> str:
    """A finding in words; none of them is called "private"."""
    return str(verdict.finding).capitalize() if verdict.finding else "No promise to compare with"


def identification_answer(verdicts: Sequence[Verdict]) -> str:
    """How often the best attacker was right, and beside it the best of each other knowledge.

    It answers ``IDENTIFICATION_QUESTION``, which no finding does: a weak promise is kept even by a release
    that identifies everybody. It is empty where the rounds were too few to count right guesses.
    """
    known = [verdict for verdict in verdicts if _accuracy(verdict) is not None]
    if not known:
        return ""
    seeing = [verdict for verdict in known if not _is_control(verdict)] or known
    best = max(seeing, key=lambda verdict: _accuracy(verdict) or 0.0)
    (name,) = adversary_names([best], verdicts)
    among = f", the best of {times(len(seeing), 'adversary')}," if len(seeing) > 1 else ""
    right = _right_guesses(best, averaged_note(best, "accuracy"))
    answer = f"{name}{among} was right {right}; blind guessing is right half of the time."
    if len(seeing) > 1:
        answer += " It was picked by these rounds, and its interval is that of one adversary."
    rivals = [verdict for verdict in known if verdict.audit == best.audit]
    others = [verdict for verdict in _best_by_knowledge(rivals) if verdict.knowledge != best.knowledge]
    control = next(filter(_is_control, others), None)
    if less_informed := [verdict for verdict in others if not _is_control(verdict)]:
        less = ", ".join(
            f"{clip(verdict.knowledge)} {_right_guesses(verdict)}"
            for verdict in less_informed[:MOST_KNOWLEDGES]
        )
        answer += f" The best with other knowledge in the same audit: {less}."
    if control is not None:
        answer += f" Without a look at the release one is right {_right_guesses(control)}."
    return answer


def _is_control(verdict: Verdict) -> bool:
    """Whether the attacker never sees the release: what it finds out is not due to the release."""
    return any(verdict.knowledge in domain.controls for domain in domains_of([verdict]))


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

"""The sum of all findings in two sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

from leakgauge.core.guarantee import Unit
from leakgauge.pages.numbers import count, level, number, times, upper
from leakgauge.verdict import Finding, Verdict

HUGE = 15.0  # an epsilon that allows odds of millions to one


@dataclass(frozen=True)
class Headline:
    """What a reader takes away who reads nothing else."""

    tone: str
    statement: str
    explanation: str


def headline(verdicts: Sequence[Verdict]) -> Headline:
    """Sum up a run; the gravest finding sets the tone."""
    n = {finding: sum(verdict.finding == finding for verdict in verdicts) for finding in (*Finding, None)}
    everyone = times(len(verdicts), "adversary")
    if n[Finding.VIOLATED]:
        who = f"{count(n[Finding.VIOLATED])} of {everyone}" if len(verdicts) > 1 else "The adversary"
        explanation = (
            f"{who} learned more about who is in the data than the promise allows. If the promise held, an "
            f"audit like this one would say so in at most {_risk(verdicts)} of cases."
        )
        return Headline("violated", "Violated: this release leaks more than it promises.", explanation)
    if too_weak(verdicts):
        return Headline(
            "undecided", "Undecided: the promise is too weak to be broken.", beyond_promises(verdicts)
        )
    if n[Finding.UNDECIDED]:
        return _undecided(verdicts)
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


def _undecided(verdicts: Sequence[Verdict]) -> Headline:
    """Nothing is violated, and not all promises are too weak: some may be, or rounds were too few."""
    weak = weak_ones(verdicts)
    n_short = sum(verdict.finding is Finding.UNDECIDED for verdict in verdicts) - len(weak)
    everyone = times(len(verdicts), "adversary")
    told = []
    if n_short:
        who = f"For {count(n_short)} of {everyone}" if len(verdicts) > 1 else "Here"
        told.append(f"{who}, even an attack without a single error would have stayed within the promise.")
    if weak:
        told.append(f"For {count(len(weak))} of {everyone}, no attack can break the promise.")
        told.append(beyond_promises(weak))
    if any(verdict.finding is Finding.NOT_VIOLATED for verdict in verdicts):
        told.append("No other adversary got past its promise.")
    told.append("This says nothing in favour of the release.")
    short = "these rounds could not have shown a violation"
    if weak:
        short = "some promises are too weak to be broken" + (f"; elsewhere {short}" if n_short else "")
    return Headline("undecided", f"Undecided: {short}.", " ".join(told))


def weak_ones(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Those that are undecided because the promise allows almost anything."""
    return [
        verdict
        for verdict in verdicts
        if verdict.finding is Finding.UNDECIDED and ((verdict.promised or {}).get("epsilon") or 0.0) > HUGE
    ]


def too_weak(verdicts: Sequence[Verdict]) -> bool:
    """Whether every finding is undecided because the promise allows almost anything."""
    return len(weak_ones(verdicts)) == len(verdicts)


def beyond_promises(verdicts: Sequence[Verdict]) -> str:
    """What to look at where the promise says nothing."""
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


def _risk(verdicts: Sequence[Verdict]) -> str:
    """How often the audit would be wrong if the promise held, over all adversaries it corrects for."""
    sure = [estimate.confidence for verdict in verdicts for estimate in verdict.metrics.values()]
    together = all(verdict.corrected_for >= len(verdicts) for verdict in verdicts)
    return level(round(1 - min(sure, default=0.95), 9)) + ("" if together else " (each adversary by itself)")


def tone_of(verdict: Verdict) -> str:
    """The style of a finding."""
    return str(verdict.finding).replace(" ", "-") if verdict.finding else "no-promise"


def badge_of(verdict: Verdict) -> str:
    """A finding as a reader meets it; none of them is called "private"."""
    return str(verdict.finding).capitalize() if verdict.finding else "No promise to compare with"
